//! Which answers may be given: by whom, how long, and with what in them.
//!
//! Looks at one answer and its request; whether it comes in time is the store's to say.

use super::error::ApprovalError;
use super::pattern::Pattern;
use super::queue::ApprovalSettings;
use crate::contract::approval::{ApprovalDecision, ApprovalRequest, Approver, RememberScope};
use crate::contract::arguments::{self, ArgumentBounds};

/// Bytes of an answer that is given in the place of a run.
const ANSWER_MAX_LEN: usize = 256 << 10;
/// Bytes of the reason of a refusal.
const REASON_MAX_LEN: usize = 4 << 10;

/// Refuses an answer that may not be given, or that means nothing.
pub(super) fn check(
    settings: &ApprovalSettings,
    request: &ApprovalRequest,
    decision: &ApprovalDecision,
    approver: &Approver,
    now: u64,
) -> Result<(), ApprovalError> {
    // A caller may always refuse or call off its own call.
    let gives = decision.admits() || matches!(decision, ApprovalDecision::Answer { .. });
    let own = request.caller.caller.as_ref() == Some(&approver.name);
    if gives && own && !settings.self_approval {
        return Err(ApprovalError::SelfApproval(approver.name.clone()));
    }
    if request.question && decision.admits() {
        return Err(ApprovalError::Question { id: request.id.clone(), given: decision.name() });
    }
    match decision {
        // The tool's own bounds are checked where the call is.
        ApprovalDecision::Edit { arguments_json } => {
            arguments::parse(arguments_json, ArgumentBounds::widest())?;
        }
        ApprovalDecision::Session if request.caller.session_id.is_none() => {
            return Err(ApprovalError::NoSession);
        }
        ApprovalDecision::Always { scope, expires_unix_ms } => {
            if let Some(expires) = expires_unix_ms.filter(|expires| *expires <= now) {
                let (expires_unix_ms, now_unix_ms) = (expires, now);
                return Err(ApprovalError::PastExpiry { expires_unix_ms, now_unix_ms });
            }
            check_scope(request, scope)?;
        }
        ApprovalDecision::Deny { reason } => check_reason(reason.as_deref())?,
        ApprovalDecision::DenyAlways { scope, reason } => {
            check_reason(reason.as_deref())?;
            check_scope(request, scope)?;
        }
        ApprovalDecision::Answer { content } => check_len("the answer", content, ANSWER_MAX_LEN)?,
        ApprovalDecision::Once | ApprovalDecision::Session | ApprovalDecision::Cancel => {}
    }
    Ok(())
}

fn check_reason(reason: Option<&str>) -> Result<(), ApprovalError> {
    check_len("the reason", reason.unwrap_or_default(), REASON_MAX_LEN)
}

fn check_len(what: &'static str, text: &str, max: usize) -> Result<(), ApprovalError> {
    match text.len() {
        len if len > max => Err(ApprovalError::TooLong { what, len, max }),
        _ => Ok(()),
    }
}

/// A pattern must be one, and must hold for the call it is given for: anything else is a slip.
fn check_scope(request: &ApprovalRequest, scope: &RememberScope) -> Result<(), ApprovalError> {
    let RememberScope::Pattern(globs) = scope else { return Ok(()) };
    let (pattern, arguments) = (Pattern::new(globs)?, request.arguments.value());
    if let Some(name) = pattern.unknown_name(arguments) {
        let reason = format!("the call has no argument `{name}`");
        return Err(ApprovalError::Pattern(reason));
    }
    if !pattern.matches(arguments, true) {
        let reason = "it doesn't match the arguments of this very call";
        return Err(ApprovalError::Pattern(reason.into()));
    }
    Ok(())
}
