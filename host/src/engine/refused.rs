//! How a call ends before its tool runs.

use serde_json::json;

use crate::contract::approval::Approver;
use crate::contract::decision::{ApprovalMark, ApprovedBy, Refusal};
use crate::contract::ids::{ApprovalId, CallId};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;

/// Ends a call before its tool runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) outcome: Outcome,
    pub(super) why: String,
    /// The request, or the remembered answer, that it was refused by or for want of.
    pub(super) approval: Option<ApprovalId>,
    /// Who said no.
    pub(super) approver: Option<Approver>,
    /// Why a question has no answer, as its result's `status`.
    pub(super) unanswered: Option<&'static str>,
}

impl Refused {
    pub(super) fn new(outcome: Outcome, why: impl Into<String>) -> Self {
        Self { outcome, why: why.into(), approval: None, approver: None, unanswered: None }
    }

    /// The same, by an answer to this request or for want of one.
    pub(super) fn of_request(self, id: &ApprovalId) -> Self {
        Self { approval: Some(id.clone()), ..self }
    }

    /// The same, by this person.
    pub(super) fn said_by(self, approver: Approver) -> Self {
        Self { approver: Some(approver), ..self }
    }

    /// The result that says so. Nothing ran, whatever the outcome may mean elsewhere.
    pub(super) fn into_result(self, call_id: CallId) -> ToolResult {
        let Self { outcome, why, approval, approver, unanswered } = self;
        let reason = match outcome {
            Outcome::NotAllowed
            | Outcome::Denied
            | Outcome::ApprovalPending
            | Outcome::ApprovalDeclined
            | Outcome::ApprovalExpired
            | Outcome::Cancelled => why.clone(),
            // It never got as far as to be refused by anybody.
            _ => format!("the call ended as {} before it was let through", outcome.name()),
        };
        let mut result = ToolResult::refused(call_id, outcome, why);
        result.executed = Executed::No;
        result.structured = unanswered.map(|status| json!({ "status": status }));
        let mark = ApprovalMark::new(ApprovedBy::None, reason);
        result.approval = Some(ApprovalMark { approval, approver, ..mark });
        result
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotAllowed(why) => Self::new(Outcome::NotAllowed, why),
            Refusal::Denied(why) => Self::new(Outcome::Denied, why),
            Refusal::Remembered { why, approval, approver } => {
                Self::new(Outcome::Denied, why).of_request(&approval).said_by(approver)
            }
        }
    }
}
