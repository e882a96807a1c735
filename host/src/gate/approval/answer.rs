//! What a call that asked gets back.

use crate::contract::approval::{ApprovalDecision, ApprovalEntry, ApprovalState, Approver};
use crate::contract::ids::ApprovalId;

/// How asking ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The call may run, once its answer is taken at dispatch.
    Admitted(Box<ApprovalEntry>),
    /// The call may run with these arguments instead, once they are checked and the answer is
    /// taken at dispatch, by the binding of the arguments that were asked about.
    Edited {
        /// A JSON object.
        arguments_json: String,
        /// The request.
        entry: Box<ApprovalEntry>,
    },
    /// The call doesn't run; this is its answer.
    Answered {
        /// The answer.
        content: String,
        /// The request.
        entry: Box<ApprovalEntry>,
    },
    /// The call doesn't run.
    Declined {
        /// Why, in one line.
        reason: String,
        /// Who said so; `None`: nobody could.
        by: Option<Approver>,
        /// The request, where there was one.
        id: Option<ApprovalId>,
    },
    /// The call doesn't run: its caller called it off.
    Cancelled,
    /// The call doesn't run: the approver called it off.
    CalledOff {
        /// Who did.
        by: Approver,
        /// The request.
        id: ApprovalId,
    },
    /// The call doesn't run: nobody answered in time.
    Expired(ApprovalId),
    /// Nobody has answered yet; the identical call, repeated, is admitted once somebody has.
    Pending {
        /// The request.
        id: ApprovalId,
        /// From when on no answer counts, in milliseconds since 1970 (UTC).
        expires_unix_ms: u64,
    },
    /// The call doesn't run: what would keep the request is at fault. No path of this machine is
    /// in the reason.
    Unavailable(String),
}

impl Answer {
    /// A refusal by nobody.
    pub(super) fn declined(reason: impl Into<String>, id: Option<ApprovalId>) -> Self {
        Self::Declined { reason: reason.into(), by: None, id }
    }

    /// What a request that is over means for its call; `None` while nobody has answered.
    pub(super) fn of(entry: ApprovalEntry) -> Option<Self> {
        let id = entry.request.id.clone();
        let used = entry.state == ApprovalState::Used;
        let decided = match (entry.state, &entry.decided) {
            (ApprovalState::Pending, _) => return None,
            (ApprovalState::Expired, _) => return Some(Self::Expired(id)),
            (ApprovalState::Decided | ApprovalState::Used, Some(decided)) => decided.clone(),
            _ => return Some(Self::declined("the request was withdrawn", Some(id))),
        };
        let by = decided.approver;
        let entry = Box::new(entry);
        Some(match decided.decision {
            decision if decision.admits() && used => {
                let reason = "the approval was used by an identical call: it admits one";
                Self::declined(reason, Some(id))
            }
            ApprovalDecision::Once
            | ApprovalDecision::Session
            | ApprovalDecision::Always { .. } => Self::Admitted(entry),
            ApprovalDecision::Edit { arguments_json } => Self::Edited { arguments_json, entry },
            ApprovalDecision::Answer { content } => Self::Answered { content, entry },
            ApprovalDecision::Deny { reason } | ApprovalDecision::DenyAlways { reason, .. } => {
                let reason = reason.unwrap_or_else(|| "the approver said no".into());
                Self::Declined { reason, by: Some(by), id: Some(id) }
            }
            ApprovalDecision::Cancel => Self::CalledOff { by, id },
        })
    }

    /// Whether the answer is still to be taken by the call that runs.
    pub(super) fn runs(&self) -> bool {
        matches!(self, Self::Admitted(_) | Self::Edited { .. })
    }
}
