//! Parameters that `rmcp` would pass over where they are of another type than they must be.
//!
//! Refuses those, and reads no others.

use rmcp::model::{JsonObject, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Faulty;

/// Where a request names the version of the protocol that it speaks.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What is said of one that is no text.
const NO_VERSION: &str = "`_meta` must have a text as `io.modelcontextprotocol/protocolVersion`";

/// Refuses a version of the protocol that is no text. `null` may stand for none.
pub(super) fn is_versioned(id: &RequestId, meta: Option<&JsonObject>) -> Result<(), Faulty> {
    match meta.and_then(|meta| meta.get(VERSION)) {
        Some(version) if !version.is_string() && !version.is_null() => {
            Err(Faulty::params(id, NO_VERSION))
        }
        _ => Ok(()),
    }
}

/// What of any parameters `rmcp` passes over where it is of another type than it must be.
#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// The same of their metadata.
#[derive(Deserialize)]
struct TypedMeta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
}

/// Refuses parameters that would be taken as if they weren't there. `null` may stand for none.
pub(super) fn typed(id: &RequestId, method: &str, params: &str) -> Result<(), Faulty> {
    if !params.starts_with('{') {
        return Ok(());
    }
    let unusable =
        |error: serde_json::Error| Faulty::params(id, format!("`params` can't be used: {error}"));
    let is_text = |raw: &RawValue| raw.get().starts_with('"');
    let Typed { cursor, meta } = serde_json::from_str(params).map_err(unusable)?;
    if method.ends_with("/list") && cursor.is_some_and(|it| !is_text(it)) {
        return Err(Faulty::params(id, "`cursor` must be a text: the `nextCursor` of a page"));
    }
    let Some(meta) = meta else { return Ok(()) };
    if !meta.get().starts_with('{') {
        return Err(Faulty::params(id, "`_meta` must be an object"));
    }
    let TypedMeta { version } = serde_json::from_str(meta.get()).map_err(unusable)?;
    match version {
        Some(version) if !is_text(version) => Err(Faulty::params(id, NO_VERSION)),
        _ => Ok(()),
    }
}
