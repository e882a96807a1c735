//! How risky a call looks, for level SMART, and the assessor that needs no model.
//!
//! An assessor can only make the gate ask: it lets nothing through that another stage stops.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::view::GateView;
use crate::contract::descriptor::Isolation;
use crate::contract::effects::Effect;
use crate::contract::escape::cut;

/// Longest reason of an assessor that is kept, in bytes.
const REASON_MAX_LEN: usize = 500;

/// What an assessor finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Risk {
    /// Nothing that a person should see first.
    Low,
    /// Something that a person should see first, in one line.
    Flagged(String),
}

/// Why there is no finding. Either way a person is asked (A16).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssessorError {
    /// It couldn't tell.
    #[error("the risk assessor failed: {0}")]
    Failed(String),
    /// It wasn't done within its own bound.
    #[error("the risk assessor did not answer in time")]
    TimedOut,
}

/// Says how risky a call looks.
pub trait RiskAssessor: Send + Sync + std::fmt::Debug {
    /// Looks at one call that isn't proven read-only. Runs within the call's own task, so it must
    /// answer at once: an assessor that asks elsewhere answers from what it has learnt, or with
    /// [`AssessorError::TimedOut`].
    ///
    /// # Errors
    /// Where it can't tell; the gate then asks a person.
    fn assess(&self, view: &GateView<'_>) -> Result<Risk, AssessorError>;
}

/// Flags by effects and isolation alone: what is unconfined, what may change things beyond this
/// machine, and what its own author calls destructive.
#[derive(Debug, Clone, Copy, Default)]
pub struct EffectsAssessor;

impl RiskAssessor for EffectsAssessor {
    fn assess(&self, view: &GateView<'_>) -> Result<Risk, AssessorError> {
        let (tool, proven) = (view.tool(), view.proven());
        let flagged = |reason: &str| Ok(Risk::Flagged(reason.to_owned()));
        if proven.read_only {
            return Ok(Risk::Low);
        }
        if tool.isolation != Isolation::Sandbox {
            return flagged("the tool runs outside the sandbox");
        }
        if !proven.closed_world && !view.claims_read_only() {
            return flagged("the tool may change things beyond this machine");
        }
        // A claim that speaks against its author may be believed.
        if tool.effects.destructive == Effect::claimed(true) {
            return flagged("the tool's author says that it may destroy what is there");
        }
        Ok(Risk::Low)
    }
}

/// The reason to ask, if there is one. A panic is as good as a flag (A16).
pub(super) fn find_risk(assessor: &dyn RiskAssessor, view: &GateView<'_>) -> Option<String> {
    let found = catch_unwind(AssertUnwindSafe(|| assessor.assess(view)));
    let reason = match found {
        Ok(Ok(Risk::Low)) => return None,
        Ok(Ok(Risk::Flagged(reason))) => reason,
        Ok(Err(error)) => error.to_string(),
        Err(_panic) => "the risk assessor panicked".to_owned(),
    };
    Some(cut(&reason, REASON_MAX_LEN).to_owned())
}
