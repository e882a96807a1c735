//! The two steps of an answer: given once, taken once.
//!
//! Both run under the write lock, so that whoever is second sees what the first did.

use rusqlite::{Connection, params};

use super::fault::Fault;
use super::rows::{self, integer};
use crate::contract::approval::{ApprovalEntry, ApprovalState, Decided, Remembered};
use crate::contract::ids::{ApprovalId, Digest};
use crate::storage::error::StorageError;
use crate::storage::{CLOCK_SLACK_MS, admits_until};

/// Answers a request that nobody has answered.
pub(super) fn decide(
    to: &Connection,
    id: &ApprovalId,
    decided: &Decided,
    remember: Option<&Remembered>,
) -> Result<ApprovalEntry, Fault> {
    let mut entry = super::approvals::get(to, id)?;
    let (request, now) = (&entry.request, decided.at_unix_ms);
    match entry.state {
        ApprovalState::Pending => {}
        _ => return Err(answered(to, &entry)?.into()),
    }
    not_before(request.created_unix_ms, now)?;
    if now >= request.expires_unix_ms {
        return Err(StorageError::Expired(id.clone()).into());
    }
    if let Some(remember) = remember {
        super::remembered::insert(to, remember, now)?;
    }
    let until = admits_until(request.created_unix_ms, request.expires_unix_ms);
    let sql = "UPDATE approvals SET state = 'decided', decided = ?2, lapses_ms = ?3 WHERE id = ?1";
    let text = rows::to_json("answer", decided)?;
    to.execute(sql, params![id.as_str(), text, integer(until)])?;
    entry.state = ApprovalState::Decided;
    entry.decided = Some(decided.clone());
    Ok(entry)
}

/// Takes an answer that no call has taken.
pub(super) fn take(
    to: &Connection,
    id: &ApprovalId,
    binding: &Digest,
    now: u64,
) -> Result<ApprovalEntry, Fault> {
    let mut entry = super::approvals::get(to, id)?;
    let request = &entry.request;
    let decided_at = match (entry.state, &entry.decided) {
        (ApprovalState::Decided, Some(decided)) => decided.at_unix_ms,
        (ApprovalState::Decided, None) => {
            return Err(Fault::Row(format!("`{id}` is answered without an answer")));
        }
        (ApprovalState::Pending, _) => return Err(StorageError::NotDecided(id.clone()).into()),
        _ => return Err(answered(to, &entry)?.into()),
    };
    if request.binding != *binding {
        return Err(StorageError::OtherBinding(id.clone()).into());
    }
    not_before(decided_at, now)?;
    if now >= admits_until(request.created_unix_ms, request.expires_unix_ms) {
        return Err(StorageError::Expired(id.clone()).into());
    }
    let sql = "UPDATE approvals SET state = 'used', ended_ms = ?2 WHERE id = ?1";
    to.execute(sql, params![id.as_str(), integer(now)])?;
    entry.state = ApprovalState::Used;
    Ok(entry)
}

/// Why a request takes no answer, or gives none any more.
fn answered(from: &Connection, entry: &ApprovalEntry) -> Result<StorageError, Fault> {
    let id = entry.request.id.clone();
    Ok(match (entry.state, &entry.decided) {
        (ApprovalState::Withdrawn, _) => {
            let sql = "SELECT end_reason FROM approvals WHERE id = ?1";
            let reason: Option<String> = from.query_row(sql, [id.as_str()], |row| row.get(0))?;
            StorageError::Withdrawn { id, reason: reason.unwrap_or_default() }
        }
        (ApprovalState::Expired, _) => StorageError::Expired(id),
        (ApprovalState::Used, _) => StorageError::Used(id),
        (ApprovalState::Decided, Some(decided)) => StorageError::AlreadyDecided {
            id,
            by: decided.approver.name.clone(),
            decision: decided.decision.name(),
        },
        (ApprovalState::Pending | ApprovalState::Decided, _) => StorageError::NotDecided(id),
    })
}

/// A clock that stands before what it is asked about can't say what has expired.
fn not_before(then: u64, now: u64) -> Result<(), StorageError> {
    if now.saturating_add(CLOCK_SLACK_MS) < then {
        return Err(StorageError::ClockWentBack { then_unix_ms: then, now_unix_ms: now });
    }
    Ok(())
}
