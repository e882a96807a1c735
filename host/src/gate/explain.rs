//! Why a call is let through, asked about or refused: every stage's answer, and the one that won.
//!
//! Goes through the same stages as `judge`; shows nothing, escapes nothing.

use std::borrow::Cow;

use serde::Serialize;

use super::policy::Policy;
use super::stages::{Answer, Decided, Stage, StageAnswer, Tally, each_stage};
use super::view::GateView;
use crate::contract::approval::{Remembered, RememberedVerdict};
use crate::contract::decision::{ApprovalMark, ApprovedBy, Decision, Refusal};

/// Every stage's answer, in the order of asking, and what came of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation<'p> {
    /// The answers.
    pub stages: Vec<StageAnswer<'p>>,
    /// The stage that decided: of several that say the same, the first.
    pub winner: Stage,
    /// What was decided; never `Answer::Nothing`.
    pub verdict: Answer,
    /// Why, in one line; unescaped.
    pub reason: String,
    /// The same, as [`judge`](super::judge) and then [`apply_remembered`] give it.
    #[serde(skip)]
    pub decision: Decision,
}

/// Explains one call. `remembered` is the remembered answer that covers it, if there is one.
pub fn explain<'p>(
    policy: &'p Policy,
    view: &GateView<'_>,
    remembered: Option<&Remembered>,
) -> Explanation<'p> {
    let (mut stages, mut tally) = (Vec::new(), Tally::default());
    each_stage(policy, view, |answer| {
        stages.push(answer.clone());
        tally.add(answer);
    });
    let Decided { stage: mut winner, decision: before } = tally.decide(view);
    if winner == Stage::Default {
        let (verdict, reason) = shown(&before);
        stages.push(StageAnswer::new(winner, verdict, Cow::Owned(reason.to_owned())));
    }
    let remembered = remembered.filter(|_| policy.enabled);
    if let Some(remembered) = remembered {
        let answer = match remembered.verdict {
            RememberedVerdict::Allow => Answer::Allow,
            RememberedVerdict::Deny => Answer::Deny,
        };
        stages.push(StageAnswer::new(Stage::Remembered, answer, said(remembered)));
    }
    let decision = apply_remembered(before.clone(), remembered);
    if decision != before {
        winner = Stage::Remembered;
    }
    let (verdict, reason) = shown(&decision);
    Explanation { stages, winner, verdict, reason: reason.to_owned(), decision }
}

/// What a remembered answer that covers the call makes of a decision: one that denies is a deny
/// like any other, and one that allows answers what would be asked. It never undoes a denial.
pub fn apply_remembered(decision: Decision, remembered: Option<&Remembered>) -> Decision {
    match (decision, remembered) {
        (decision, None) | (decision @ Decision::Deny(_), _) => decision,
        // What was said to an earlier question is no answer to this one.
        (Decision::Ask(ask), Some(remembered))
            if ask.question && remembered.verdict == RememberedVerdict::Allow =>
        {
            Decision::Ask(ask)
        }
        (_, Some(remembered)) if remembered.verdict == RememberedVerdict::Deny => {
            Decision::Deny(Refusal::Remembered {
                why: said(remembered),
                approval: remembered.id.clone(),
                approver: remembered.approver.clone(),
            })
        }
        (Decision::Ask(_), Some(remembered)) => Decision::Allow(ApprovalMark {
            approval: Some(remembered.id.clone()),
            approver: Some(remembered.approver.clone()),
            ..ApprovalMark::new(ApprovedBy::Person, said(remembered))
        }),
        (decision, Some(_)) => decision,
    }
}

fn said(remembered: &Remembered) -> String {
    let Remembered { id, approver, reason, verdict, .. } = remembered;
    let does = match verdict {
        RememberedVerdict::Allow => "allows",
        RememberedVerdict::Deny => "denies",
    };
    let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("the remembered answer {id} of {} {does} it{why}", approver.name)
}

fn shown(decision: &Decision) -> (Answer, &str) {
    match decision {
        Decision::Allow(mark) => (Answer::Allow, &mark.reason),
        Decision::Ask(ask) => (Answer::Ask, &ask.reason),
        Decision::Deny(refusal) => (Answer::Deny, refusal.why()),
    }
}
