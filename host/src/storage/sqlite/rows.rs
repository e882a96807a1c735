//! Values of ours as columns, and back.
//!
//! A column that holds what belljar never writes is damage, never a default.

use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fault::Fault;
use crate::contract::approval::{ApprovalEntry, ApprovalState};
use crate::contract::ids::ApprovalId;
use crate::storage::approvals::Summary;
use crate::storage::error::StorageError;

/// The columns of [`entry`], in its order.
pub(super) const ENTRY: &str = "id, state, decided, request";
/// The columns of [`summary`], in its order.
pub(super) const SUMMARY: &str = "number, id, state, call_id, tool, caller, reason, \
                                  arguments_head, created_ms, expires_ms";

/// A time or a count as SQLite's integer; no time of a clock is cut by it.
pub(super) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// An integer that was stored by [`integer`].
pub(super) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

/// The state of this name.
pub(super) fn state_of(name: &str) -> Result<ApprovalState, Fault> {
    let found = ApprovalState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| Fault::Row(format!("an approval's state is `{name}`")))
}

/// Anything as JSON text.
pub(super) fn to_json(what: &'static str, value: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| {
        Fault::Refused(StorageError::Unstorable { what, reason: error.to_string() })
    })
}

/// What JSON text of ours holds. Arguments may nest as deep as their limit's ceiling allows, which
/// is past the library's own bound; what is read was bounded when it was written.
pub(super) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Fault> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    T::deserialize(&mut reader).map_err(|error| Fault::Row(format!("{what} is no JSON: {error}")))
}

/// A text of ours as an identifier.
pub(super) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(|error: T::Err| Fault::Row(error.to_string()))
}

/// A request with what became of it.
pub(super) fn entry(row: &Row<'_>) -> Result<ApprovalEntry, Fault> {
    let id: ApprovalId = parsed(&row.get::<_, String>(0)?)?;
    let decided: Option<String> = row.get(2)?;
    let decided = decided.map(|text| from_json(&format!("the answer to `{id}`"), &text));
    Ok(ApprovalEntry {
        state: state_of(&row.get::<_, String>(1)?)?,
        decided: decided.transpose()?,
        request: from_json(&format!("the request `{id}`"), &row.get::<_, String>(3)?)?,
    })
}

/// A request in one line.
pub(super) fn summary(row: &Row<'_>) -> Result<Summary, Fault> {
    Ok(Summary {
        number: unsigned(row.get(0)?),
        id: parsed(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?)?,
        state: state_of(row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?)?,
        call_id: parsed(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?,
        tool: parsed(row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?)?,
        caller: row.get(5)?,
        reason: row.get(6)?,
        arguments_head: row.get(7)?,
        created_unix_ms: unsigned(row.get(8)?),
        expires_unix_ms: unsigned(row.get(9)?),
    })
}
