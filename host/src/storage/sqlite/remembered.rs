//! Remembered answers: kept with the answer they came by, forgotten by name or by time.
//!
//! What one covers is `gate::approval`'s to say.

use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::rows::{self, integer, unsigned};
use crate::contract::approval::Remembered;
use crate::contract::ids::ApprovalId;
use crate::storage::REMEMBERED_MAX;
use crate::storage::approvals::RememberedMark;
use crate::storage::error::StorageError;

/// Keeps one. Those that have expired make room first.
pub(super) fn insert(to: &Connection, remembered: &Remembered, now: u64) -> Result<(), Fault> {
    to.execute("DELETE FROM remembered WHERE expires_ms <= ?1", [integer(now)])?;
    let count: i64 = to.query_row("SELECT count(*) FROM remembered", [], |row| row.get(0))?;
    if unsigned(count) >= REMEMBERED_MAX {
        let what = "remembered answers";
        return Err(StorageError::TooMany { what, max: REMEMBERED_MAX }.into());
    }
    let sql = "INSERT INTO remembered (id, session, expires_ms, answer) VALUES (?1, ?2, ?3, ?4)";
    to.execute(
        sql,
        params![
            remembered.id.as_str(),
            remembered.session_id,
            remembered.expires_unix_ms.map(integer),
            rows::to_json("remembered answer", remembered)?,
        ],
    )?;
    Ok(())
}

/// What stands for them all.
pub(super) fn mark(from: &Connection) -> Result<RememberedMark, Fault> {
    let sql = "SELECT coalesce(max(number), 0), count(*) FROM remembered";
    let mark = |row: &Row<'_>| {
        Ok(RememberedMark { latest: unsigned(row.get(0)?), count: unsigned(row.get(1)?) })
    };
    Ok(from.query_row(sql, [], mark)?)
}

/// Those that hold at `now`.
pub(super) fn all(from: &Connection, now: u64) -> Result<Vec<Remembered>, Fault> {
    let sql = "SELECT answer FROM remembered WHERE expires_ms IS NULL OR expires_ms > ?1 ORDER BY \
               number";
    let mut statement = from.prepare(sql)?;
    let mut found = statement.query([integer(now)])?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        let text = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        all.push(rows::from_json("a remembered answer", text)?);
    }
    Ok(all)
}

/// Forgets one; whether it was there. What it answered and no call has taken yet is taken back as
/// well: else one call more would run by it.
pub(super) fn revoke(to: &Connection, id: &ApprovalId, now: u64) -> Result<bool, Fault> {
    if to.execute("DELETE FROM remembered WHERE id = ?1", [id.as_str()])? == 0 {
        return Ok(false);
    }
    let sql = "UPDATE approvals SET state = 'withdrawn', ended_ms = ?2, end_reason = 'revoked' \
               WHERE state = 'decided' AND (id = ?1 OR json_extract(decided, '$.along') = ?1)";
    to.execute(sql, params![id.as_str(), integer(now)])?;
    Ok(true)
}
