//! The stages of the gate in their order, and the algebra that makes one decision of them.
//!
//! `judge` and `explain` both go through here, so that they can't differ. Runs nothing, asks
//! nobody and reads no clock.

use std::borrow::Cow;

use serde::Serialize;

use super::allowed::refuse_unlisted;
use super::keys::answer_by_keys;
use super::level::answer_by_level;
use super::policy::Policy;
use super::rules::{Matching, Rule};
use super::settings::RuleAction;
use super::view::GateView;
use crate::contract::decision::{ApprovalMark, ApprovedBy, AskReason, Decision, Refusal};

/// Who answers, in the order of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The caller's set of tools (A14).
    AllowedSet,
    /// Whether it is a question to a person, which only a person can answer (A12).
    Question,
    /// Whether the gate is on at all (B8).
    Switch,
    /// The operator's rules that deny.
    DenyRules,
    /// The caller's permission level (A15).
    Level,
    /// The tool's `gate.*` keys (B14).
    GateKeys,
    /// The operator's other rules, of which the first match counts.
    Rules,
    /// A remembered answer of a person.
    Remembered,
    /// What holds where no stage says anything.
    Default,
}

/// What a stage says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Never.
    Deny,
    /// Only with an approval.
    Ask,
    /// Yes, where no other stage denies or asks.
    Allow,
    /// Nothing either way.
    Nothing,
}

/// One stage's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StageAnswer<'p> {
    /// Whose.
    pub stage: Stage,
    /// What it says.
    pub answer: Answer,
    /// Why, in one line; unescaped.
    pub reason: Cow<'p, str>,
    /// The operator's rule that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'p str>,
    /// Whether `--yes` may stand for the person it asks.
    #[serde(skip)]
    pub(super) yes: bool,
}

impl<'p> StageAnswer<'p> {
    pub(super) fn new(stage: Stage, answer: Answer, reason: impl Into<Cow<'p, str>>) -> Self {
        Self { stage, answer, reason: reason.into(), rule: None, yes: false }
    }

    fn of_rule(stage: Stage, rule: &'p Rule) -> Self {
        let answer = match rule.action {
            RuleAction::Deny => Answer::Deny,
            RuleAction::Ask => Answer::Ask,
            RuleAction::Allow => Answer::Allow,
        };
        Self {
            rule: Some(&rule.label),
            yes: rule.yes,
            ..Self::new(stage, answer, rule.reason.as_str())
        }
    }
}

/// Whether a call may run: any deny wins, whatever the order; any ask needs an approval; otherwise
/// any allow lets it through; otherwise what reads only does, and all else asks.
pub fn judge(policy: &Policy, view: &GateView<'_>) -> Decision {
    let mut tally = Tally::default();
    each_stage(policy, view, |answer| tally.add(answer));
    tally.decide(view).decision
}

/// Hears every stage, or, where the gate is off, the caller's set alone, and whether it is a
/// question: that is what such a tool does, and no permission that a gate could spare.
pub(super) fn each_stage<'p>(
    policy: &'p Policy,
    view: &GateView<'_>,
    mut hear: impl FnMut(StageAnswer<'p>),
) {
    hear(answer_by_set(view));
    if view.tool().asks_a_person {
        hear(StageAnswer::new(Stage::Question, Answer::Ask, "it is a question to a person"));
    }
    if !policy.enabled {
        let off = "the gate is off, and neither it nor approvals are consulted";
        hear(StageAnswer::new(Stage::Switch, Answer::Allow, off));
        return;
    }
    let of = matching(policy, view);
    hear(first_match(Stage::DenyRules, &policy.denying, &of));
    hear(answer_by_level(policy.assessor.as_ref(), &of));
    hear(answer_by_keys(&policy.keys, &of));
    hear(first_match(Stage::Rules, &policy.ordered, &of));
}

fn matching<'v>(policy: &Policy, view: &GateView<'v>) -> Matching<'v> {
    let id = &view.tool().id;
    let mut tool_id = String::new();
    if !(policy.denying.is_empty() && policy.ordered.is_empty() && policy.keys.is_empty()) {
        let (plugin, tool) = (id.plugin.as_str(), id.tool.as_str());
        tool_id.reserve_exact(plugin.len() + tool.len() + 1);
        tool_id.push_str(plugin);
        tool_id.push('.');
        tool_id.push_str(tool);
    }
    Matching { view: *view, proven: view.proven(), tool_id }
}

fn answer_by_set<'p>(view: &GateView<'_>) -> StageAnswer<'p> {
    let say = |answer, reason| StageAnswer::new(Stage::AllowedSet, answer, reason);
    let Some(allowed) = view.allowed_tools() else {
        return say(Answer::Nothing, Cow::Borrowed("the caller may use every tool"));
    };
    let tool = view.tool();
    let names = [view.asked_name().to_owned(), tool.id.to_string(), tool.wire_name.clone()];
    match refuse_unlisted(&names, Some(allowed)) {
        Some(refusal) => say(Answer::Deny, refusal.why().to_owned().into()),
        None => say(Answer::Nothing, Cow::Borrowed("the tool is in the caller's set")),
    }
}

fn first_match<'p>(stage: Stage, rules: &'p [Rule], of: &Matching<'_>) -> StageAnswer<'p> {
    match rules.iter().find(|rule| rule.matches(of)) {
        Some(rule) => StageAnswer::of_rule(stage, rule),
        None => StageAnswer::new(stage, Answer::Nothing, "no rule matches"),
    }
}

/// The answers so far. A denial and a permission need their first; a person sees every reason.
#[derive(Debug, Default)]
pub(super) struct Tally<'p> {
    denied: Option<(Stage, Cow<'p, str>)>,
    asked: Option<(Stage, Cow<'p, str>)>,
    /// Whether a stage asks for which nobody may say yes beforehand.
    needs_person: bool,
    allowed: Option<(Stage, Cow<'p, str>)>,
}

/// A decision and the stage that made it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decided {
    pub(super) stage: Stage,
    pub(super) decision: Decision,
}

impl<'p> Tally<'p> {
    pub(super) fn add(&mut self, heard: StageAnswer<'p>) {
        let StageAnswer { stage, answer, reason, yes, .. } = heard;
        match answer {
            Answer::Nothing => {}
            Answer::Allow => _ = self.allowed.get_or_insert((stage, reason)),
            Answer::Deny => _ = self.denied.get_or_insert((stage, reason)),
            Answer::Ask => {
                self.needs_person |= !yes;
                match &mut self.asked {
                    Some((_, reasons)) => {
                        let reasons = reasons.to_mut();
                        reasons.push_str("; ");
                        reasons.push_str(&reason);
                    }
                    None => self.asked = Some((stage, reason)),
                }
            }
        }
    }

    pub(super) fn decide(self, view: &GateView<'_>) -> Decided {
        let allow = |reason: Cow<'_, str>| {
            Decision::Allow(ApprovalMark::new(ApprovedBy::Rule, reason.into_owned()))
        };
        let (stage, decision) = match self {
            Self { denied: Some((Stage::AllowedSet, why)), .. } => {
                (Stage::AllowedSet, Decision::Deny(Refusal::NotAllowed(why.into_owned())))
            }
            Self { denied: Some((stage, why)), .. } => {
                (stage, Decision::Deny(Refusal::Denied(why.into_owned())))
            }
            Self { asked: Some((stage, why)), needs_person, .. } => {
                let (reason, yes_allowed) = (why.into_owned(), !needs_person);
                let question = view.tool().asks_a_person;
                (stage, Decision::Ask(AskReason { reason, yes_allowed, question }))
            }
            Self { allowed: Some((stage, why)), .. } => (stage, allow(why)),
            _ if view.proven().read_only || view.claims_read_only() => {
                (Stage::Default, allow(Cow::Borrowed("the tool only reads")))
            }
            _ => {
                let reason = "nothing allows it".to_owned();
                let ask = AskReason { reason, yes_allowed: false, question: false };
                (Stage::Default, Decision::Ask(ask))
            }
        };
        Decided { stage, decision }
    }
}
