//! What the audit log is told of requests and answers of this process.
//!
//! An answer must not count without its record, so the record comes first; where the answer then
//! isn't taken, a second record says that it didn't count.

use super::error::ApprovalError;
use super::queue::ApprovalQueue;
use crate::contract::approval::{
    ApprovalDecision, ApprovalRequest, ApprovalState, Approver, Decided, RememberScope,
};
use crate::contract::ids::ApprovalId;
use crate::events::{ApprovalDecided, ApprovalRequested, Journal, JournalError, Record};

/// Writes that a person is asked.
pub(super) async fn requested(
    queue: &ApprovalQueue,
    request: &ApprovalRequest,
) -> Result<(), JournalError> {
    let Some(journal) = journal(queue) else { return Ok(()) };
    let record = Record::ApprovalRequested(ApprovalRequested {
        request: &request.id,
        call_id: &request.call_id,
        tool: &request.tool,
        arguments_hash: &request.arguments.hash(),
        caller: &request.caller,
        reason: &request.reason,
        expires_unix_ms: request.expires_unix_ms,
    });
    journal.note(record, false).await
}

/// Writes that a person answers, and waits for the disk: the store keeps the answer at once, and
/// after a power cut it must not be there alone.
pub(super) fn decided(
    queue: &ApprovalQueue,
    request: &ApprovalRequest,
    decided: &Decided,
) -> Result<(), JournalError> {
    let Some(journal) = journal(queue) else { return Ok(()) };
    let (scope, edited) = remembered_and_edited(&decided.decision);
    journal.note_synced(&Record::ApprovalDecided(ApprovalDecided {
        request: &request.id,
        decision: decided.decision.name(),
        approver: &decided.approver,
        reason: why(&decided.decision),
        latency_ms: decided.at_unix_ms.saturating_sub(request.created_unix_ms),
        remembered_scope: scope,
        edited_arguments: edited.as_ref(),
    }))
}

/// Writes that the answer just recorded didn't count.
pub(super) fn not_counted(
    queue: &ApprovalQueue,
    request: &ApprovalRequest,
    state: ApprovalState,
    error: &ApprovalError,
) {
    ended(queue, &request.id, state, &format!("an answer didn't count: {error}"));
}

/// Writes that a request, or the answer to it, counts no more. It has ended all the same where that
/// can't be written.
pub(super) fn ended(
    queue: &ApprovalQueue,
    request: &ApprovalId,
    state: ApprovalState,
    reason: &str,
) {
    let Some(journal) = journal(queue) else { return };
    if let Err(error) = journal.note_now(&Record::ApprovalEnded { request, state, reason }) {
        tracing::error!("the audit log misses of {request} that {reason}: {error}");
    }
}

/// Writes that a remembered answer counts no more.
pub(super) fn revoked(queue: &ApprovalQueue, approval: &ApprovalId, approver: &Approver) {
    let Some(journal) = journal(queue) else { return };
    if let Err(error) = journal.note_now(&Record::Revoked { approval, approver }) {
        tracing::error!("the audit log misses that {approval} was revoked: {error}");
    }
}

fn journal(queue: &ApprovalQueue) -> Option<&Journal> {
    queue.0.journal.get()
}

/// What a person said of a no.
fn why(decision: &ApprovalDecision) -> Option<&str> {
    match decision {
        ApprovalDecision::Deny { reason } | ApprovalDecision::DenyAlways { reason, .. } => {
            reason.as_deref()
        }
        _ => None,
    }
}

fn remembered_and_edited(
    decision: &ApprovalDecision,
) -> (Option<&RememberScope>, Option<serde_json::Map<String, serde_json::Value>>) {
    match decision {
        ApprovalDecision::Always { scope, .. } | ApprovalDecision::DenyAlways { scope, .. } => {
            (Some(scope), None)
        }
        // It was parsed before by whoever checked the answer.
        ApprovalDecision::Edit { arguments_json } => {
            (None, serde_json::from_str(arguments_json).ok())
        }
        _ => (None, None),
    }
}
