//! What holds of every policy and every call.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::super::narrow::is_at_most;
use super::*;
use crate::contract::effects::Basis;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// An assessor that may say anything, but always the same of the same tool.
#[derive(Debug)]
struct Whim(u8);

impl RiskAssessor for Whim {
    fn assess(&self, view: &GateView<'_>) -> Result<Risk, AssessorError> {
        match self.0 {
            0 => EffectsAssessor.assess(view),
            1 => Ok(Risk::Low),
            2 if view.tool().id.plugin.as_str() == "a" => Ok(Risk::Low),
            2 => Err(AssessorError::TimedOut),
            _ => Ok(Risk::Flagged("all".to_owned())),
        }
    }
}

/// A call with its tool, by value.
#[derive(Debug, Clone)]
struct Case {
    tool: ToolDescriptor,
    call: ToolInvocation,
    arguments: Option<CheckedArguments>,
}

impl Case {
    fn view(&self) -> GateView<'_> {
        GateView::new(&self.tool, &self.call, self.arguments.as_ref())
    }

    fn answer(&self, policy: &Policy) -> Answer {
        answer_of(&judge(policy, &self.view()))
    }
}

/// Settings and the assessor's whim.
type Laws = (PolicySettings, u8);

fn made((settings, whim): &Laws) -> Policy {
    Policy::new(settings).unwrap().with_assessor(Arc::new(Whim(*whim)))
}

fn any_level() -> impl Strategy<Value = PermissionLevel> {
    select(&LEVELS[..])
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let basis = select(&[Basis::Proven, Basis::Proven, Basis::Claimed, Basis::Assumed][..]);
    (any::<bool>(), basis).prop_map(|(value, basis)| Effect { value, basis })
}

prop_compose! {
    fn any_tool()(
        id in select(&["a.b", "a.c", "d.b"][..]),
        source in select(&[ToolSource::Builtin, ToolSource::Plugin, ToolSource::Plugin, ToolSource::Mcp][..]),
        isolation in select(&[Isolation::Sandbox, Isolation::Sandbox, Isolation::Process, Isolation::None][..]),
        effects in prop::array::uniform6(any_effect()),
        requires_approval in prop::bool::weighted(0.2),
    ) -> ToolDescriptor {
        let [read_only, cannot_write_files, closed_world, deterministic, destructive, idempotent] =
            effects;
        let effects = Effects {
            read_only, cannot_write_files, closed_world, deterministic, destructive, idempotent,
        };
        let plain = example(id, Effect::assumed(false));
        ToolDescriptor { source, isolation, effects, requires_approval, ..plain }
    }
}

fn any_set() -> impl Strategy<Value = Option<Vec<String>>> {
    let names = ["a.b", "a_c", "d.b"].map(str::to_owned).to_vec();
    weighted(0.3, subsequence(names, 0..=3))
}

prop_compose! {
    fn any_case()(
        tool in any_tool(),
        level in any_level(),
        caller in weighted(0.7, select(&["ann", "bob"][..])),
        allowed_tools in any_set(),
        json in weighted(0.9, select(&["{}", r#"{"x":1}"#, r#"{"x":"1","y":[]}"#][..])),
    ) -> Case {
        let mut call = call_at(level);
        call.caller = caller.map(str::to_owned);
        call.allowed_tools = allowed_tools;
        Case { tool, call, arguments: json.map(arguments) }
    }
}

prop_compose! {
    fn any_rule()(
        action in select(&[RuleAction::Allow, RuleAction::Allow, RuleAction::Ask, RuleAction::Deny][..]),
        tool in select(&["*", "*", "a.*", "a.b", "*.b"][..]),
        caller in weighted(0.3, select(&["ann", "b*"][..])),
        level in weighted(0.4, subsequence(
            vec![LevelName::ReadOnly, LevelName::ReadWrite, LevelName::Smart, LevelName::Full], 1..=4,
        )),
        read_only in weighted(0.3, any::<bool>()),
        source in weighted(0.2, select(&[ToolSource::Plugin, ToolSource::Mcp][..])),
        argument in weighted(0.2, select(&[("x", "1"), ("y", "*")][..])),
        yes in any::<bool>(),
    ) -> RuleSettings {
        let arguments: BTreeMap<_, _> =
            argument.into_iter().map(|(name, glob)| (name.to_owned(), Globs::from(glob))).collect();
        RuleSettings {
            name: None, action, tool: Some(Globs::from(tool)), caller: caller.map(Globs::from),
            workspace: None, level, effects: EffectConditions { read_only, ..Default::default() },
            source, arguments, reason: None, yes: yes && action == RuleAction::Ask,
        }
    }
}

prop_compose! {
    fn any_key()(
        tool in select(&["*", "a.*", "a.b"][..]),
        deny in prop::bool::weighted(0.2),
        require_approval in prop::bool::weighted(0.3),
        allow in any::<bool>(),
    ) -> KeySettings {
        KeySettings { tool: Globs::from(tool), deny, require_approval, allow }
    }
}

prop_compose! {
    fn any_laws()(
        enabled in prop::bool::weighted(0.95),
        rules in prop::collection::vec(any_rule(), 0..4),
        keys in prop::collection::vec(any_key(), 0..2),
        whim in 0..4_u8,
    ) -> Laws {
        (PolicySettings { enabled, rules, keys }, whim)
    }
}

/// A rule that matches every call.
fn sweeping(action: RuleAction) -> RuleSettings {
    let mut rule: RuleSettings = toml::from_str("action = 'deny'\ntool = '*'").unwrap();
    rule.action = action;
    rule
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_deny_wins_whatever_the_order_and_whatever_else_is_said(
        case in any_case(), laws in any_laws(), place in 0..4_usize, by_key in any::<bool>(),
    ) {
        let (mut settings, whim) = laws;
        settings.enabled = true;
        if by_key {
            let tool = Globs::from("*");
            let (deny, require_approval, allow) = (true, true, true);
            settings.keys.push(KeySettings { tool, deny, require_approval, allow });
        } else {
            settings.rules.insert(place.min(settings.rules.len()), sweeping(RuleAction::Deny));
        }
        prop_assert_eq!(case.answer(&made(&(settings, whim))), Answer::Deny);
    }

    #[test]
    fn a_denial_holds_in_every_order_of_the_rules(
        case in any_case(), laws in any_laws(), turn in 0..4_usize,
    ) {
        let (mut settings, whim) = laws;
        let before = case.answer(&made(&(settings.clone(), whim)));
        let turn = turn % settings.rules.len().max(1);
        settings.rules.rotate_left(turn);
        settings.keys.reverse();
        let after = case.answer(&made(&(settings, whim)));
        prop_assert_eq!(before == Answer::Deny, after == Answer::Deny);
    }

    #[test]
    fn a_caller_can_only_narrow(
        case in any_case(), laws in any_laws(), level in any_level(), asked in any_set(),
    ) {
        let policy = made(&laws);
        let mut narrowed = case.clone();
        narrowed.call.permission_level = narrow_level(case.call.permission_level, Some(level));
        let configured = case.call.allowed_tools.as_deref();
        narrowed.call.allowed_tools = narrow_tools(configured, asked.as_deref());
        let (before, after) = (case.answer(&policy), narrowed.answer(&policy));
        prop_assert!(after != Answer::Allow || before == Answer::Allow, "{before:?} → {after:?}");
        prop_assert!(before != Answer::Deny || after == Answer::Deny, "{before:?} → {after:?}");
    }

    #[test]
    fn what_a_lower_level_lets_through_a_higher_one_does_too(
        case in any_case(), laws in any_laws(), asked in any_level(), higher in any_level(),
    ) {
        let lower = narrow_level(higher, Some(asked));
        prop_assert!(is_at_most(lower, higher));
        let policy = made(&laws);
        let at = |level| {
            let mut case = case.clone();
            case.call.permission_level = level;
            case.answer(&policy)
        };
        prop_assert!(at(lower) != Answer::Allow || at(higher) == Answer::Allow);
    }

    #[test]
    fn adding_what_allows_never_undoes_a_question_of_another_stage_or_an_earlier_rule(
        case in any_case(), laws in any_laws(), by_key in any::<bool>(),
    ) {
        let before = case.answer(&made(&laws));
        let (mut settings, whim) = laws;
        if by_key {
            let tool = Globs::from("*");
            let (deny, require_approval, allow) = (false, false, true);
            settings.keys.push(KeySettings { tool, deny, require_approval, allow });
        } else {
            settings.rules.push(sweeping(RuleAction::Allow));
        }
        prop_assert_eq!(case.answer(&made(&(settings, whim))), before);
    }

    #[test]
    fn an_allow_rule_in_the_first_place_never_undoes_a_question_of_level_or_keys(
        case in any_case(), laws in any_laws(),
    ) {
        let (mut settings, whim) = laws;
        settings.rules.retain(|rule| rule.action != RuleAction::Ask);
        let before = case.answer(&made(&(settings.clone(), whim)));
        settings.rules.insert(0, sweeping(RuleAction::Allow));
        prop_assert_eq!(case.answer(&made(&(settings, whim))), before);
    }

    #[test]
    fn an_unknown_level_is_read_only(
        case in any_case(), laws in any_laws(), said in "[A-Za-z_ ]{0,10}",
    ) {
        prop_assume!(!["FULL", "SMART", "READ_WRITE"].contains(&said.as_str()));
        let policy = made(&laws);
        let at = |level| {
            let mut case = case.clone();
            case.call.permission_level = level;
            judge(&policy, &case.view())
        };
        let read = serde_json::from_value(serde_json::Value::String(said)).unwrap();
        prop_assert_eq!(at(read), at(PermissionLevel::ReadOnly));
    }

    #[test]
    fn judge_and_explain_never_differ(case in any_case(), laws in any_laws()) {
        let policy = made(&laws);
        let explained = explain(&policy, &case.view(), None);
        let decision = judge(&policy, &case.view());
        prop_assert_eq!(explained.verdict, answer_of(&decision));
        let winner = explained.stages.iter().find(|row| row.stage == explained.winner);
        prop_assert_eq!(winner.map(|row| row.answer), Some(explained.verdict));
        prop_assert_eq!(explained.decision, decision);
    }
}
