//! Keeps requests, within bounds: of those that wait, and of those that have ended.
//!
//! A request that waits is never dropped for room; the one that finds none is refused.

use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::rows::{self, integer, unsigned};
use crate::contract::approval::{ApprovalRequest, ApprovalState};
use crate::contract::escape;
use crate::storage::error::StorageError;
use crate::storage::{PENDING_MAX, PENDING_MAX_BYTES};

/// How long requests that have ended can be looked at, in milliseconds; the audit log keeps longer.
const ENDED_KEPT_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// How many of them; the oldest go first.
const ENDED_KEPT: u64 = 10_000;
/// How many bytes of them, as JSON; the oldest go first.
const ENDED_KEPT_BYTES: u64 = 64 << 20;
/// Bytes of arguments in a list's line.
const HEAD_MAX_LEN: usize = 200;

/// Keeps a request, where there is room for one more that waits.
pub(super) fn insert(
    to: &Connection,
    request: &ApprovalRequest,
    shared: bool,
    now: u64,
) -> Result<(), Fault> {
    let text = rows::to_json("request", request)?;
    let sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM approvals WHERE state = 'pending'";
    let count = |row: &Row<'_>| Ok((unsigned(row.get(0)?), unsigned(row.get(1)?)));
    let (pending, bytes) = to.query_row(sql, [], count)?;
    if pending >= PENDING_MAX {
        let what = "requests that wait for an answer";
        return Err(StorageError::TooMany { what, max: PENDING_MAX }.into());
    }
    if bytes.saturating_add(text.len() as u64) > PENDING_MAX_BYTES {
        let what = "bytes of requests that wait for an answer";
        return Err(StorageError::TooMany { what, max: PENDING_MAX_BYTES }.into());
    }
    prune(to, now)?;
    let sql = "INSERT INTO approvals (id, state, shared, binding, call_id, tool, caller, session, \
               created_ms, expires_ms, lapses_ms, bytes, reason, arguments_head, request) VALUES \
               (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11, ?12, ?13, ?14) \
               ON CONFLICT DO NOTHING";
    let inserted = to.execute(
        sql,
        params![
            request.id.as_str(),
            ApprovalState::Pending.name(),
            shared,
            request.binding.as_bytes(),
            request.call_id.as_str(),
            request.tool.to_string(),
            request.caller.caller,
            request.caller.session_id,
            integer(request.created_unix_ms),
            integer(request.expires_unix_ms),
            integer(text.len() as u64),
            request.reason,
            escape::cut(request.arguments.canonical(), HEAD_MAX_LEN),
            text,
        ],
    )?;
    match inserted {
        0 => Err(StorageError::SameId(request.id.clone()).into()),
        _ => Ok(()),
    }
}

/// Drops what has ended and is over a bound. Where there are too many, a tenth of the bound goes at
/// once, so that this is seldom.
fn prune(to: &Connection, now: u64) -> Result<(), Fault> {
    let sql = "SELECT count(*), coalesce(sum(bytes), 0), coalesce(min(ended_ms), ?1) FROM approvals \
               WHERE ended_ms IS NOT NULL";
    let ended =
        |row: &Row<'_>| Ok((unsigned(row.get(0)?), unsigned(row.get(1)?), unsigned(row.get(2)?)));
    let (count, bytes, oldest) = to.query_row(sql, [integer(now)], ended)?;
    let kept_from = now.saturating_sub(ENDED_KEPT_MS);
    if oldest < kept_from {
        let old = "DELETE FROM approvals WHERE ended_ms IS NOT NULL AND ended_ms < ?1";
        to.execute(old, [integer(kept_from)])?;
    }
    if count > ENDED_KEPT || bytes > ENDED_KEPT_BYTES {
        // Counted from the newest, so that what stays is the newest that fit.
        let many = "DELETE FROM approvals WHERE ended_ms IS NOT NULL AND number <= (SELECT number \
                    FROM (SELECT number, row_number() OVER newest AS place, total(bytes) OVER \
                    newest AS size FROM approvals WHERE ended_ms IS NOT NULL WINDOW newest AS \
                    (ORDER BY number DESC)) WHERE place > ?1 OR size > ?2 ORDER BY number DESC \
                    LIMIT 1)";
        let most = |max: u64| integer(max - max / 10);
        to.execute(many, params![most(ENDED_KEPT), most(ENDED_KEPT_BYTES)])?;
    }
    Ok(())
}
