//! The order of stages, gate keys, what is remembered, and the explanation of all that.

use super::*;
use crate::contract::approval::{Approver, Channel, RememberScope, Remembered, RememberedVerdict};
use crate::contract::decision::{ApprovalMark, ApprovedBy};
use crate::contract::ids::{ApprovalId, Digest};
use Answer::{Allow, Ask, Deny, Nothing};

fn remembered(verdict: RememberedVerdict) -> Remembered {
    Remembered {
        id: ApprovalId::from_random(Default::default()),
        verdict,
        tool: "a.b".parse().unwrap(),
        plugin_digest: Digest::of(b"plugin"),
        grants: Default::default(),
        scope: RememberScope::Tool,
        arguments_hash: Digest::of(b"{}"),
        caller: None,
        user_id: None,
        execution_user_id: None,
        workspace: None,
        session_id: None,
        approver: Approver { name: "ann".to_owned(), channel: Channel::Terminal },
        reason: None,
        created_unix_ms: 0,
        expires_unix_ms: None,
    }
}

#[test]
fn a14_the_callers_set_comes_before_everything_else() {
    let tool = proven_reader("a.b");
    let mut call = call_at(PermissionLevel::Full);
    let policy = policy("[[rules]]\naction = 'deny'\ntool = '*'");
    call.allowed_tools = Some(vec!["a.c".to_owned()]);
    let decision = judge(&policy, &GateView::new(&tool, &call, None));
    let Decision::Deny(Refusal::NotAllowed(why)) = decision else { panic!("{decision:?}") };
    assert_eq!(why, "tool not allowed: `asked` is not in this caller's set");
    for name in ["asked", "a.b", "a_b"] {
        call.allowed_tools = Some(vec![name.to_owned()]);
        let decision = judge(&policy, &GateView::new(&tool, &call, None));
        assert!(matches!(decision, Decision::Deny(Refusal::Denied(_))), "{name}: {decision:?}");
    }
}

#[test]
fn b8_a_gate_that_is_off_consults_nothing_but_the_callers_set() {
    let policy = policy("enabled = false\n[[rules]]\naction = 'deny'\ntool = '*'");
    let tool = ToolDescriptor { requires_approval: true, ..network_writer("a.b") };
    let mut call = call_at(PermissionLevel::ReadOnly);
    assert!(!policy.is_enabled());
    assert_eq!(decided(&policy, &tool, PermissionLevel::ReadOnly), Allow);
    let denying = remembered(RememberedVerdict::Deny);
    let explained = explain(&policy, &GateView::new(&tool, &call, None), Some(&denying));
    assert_eq!((explained.winner, explained.verdict), (Stage::Switch, Allow));
    call.allowed_tools = Some(Vec::new());
    let decision = judge(&policy, &GateView::new(&tool, &call, None));
    assert!(matches!(decision, Decision::Deny(Refusal::NotAllowed(_))), "{decision:?}");
}

#[test]
fn b13_a_decision_is_allow_deny_or_ask_with_a_reason() {
    let toml = "[[rules]]\nname = 'no-etc'\naction = 'deny'\ntool = 'a.d'\nreason = 'not here'\n\
                [[rules]]\naction = 'ask'\ntool = 'a.a'";
    let policy = policy(toml);
    let call = call_at(PermissionLevel::Full);
    let of = |id: &str| judge(&policy, &GateView::new(&proven_reader(id), &call, None));
    let denied = Refusal::Denied("rule `no-etc`: not here".to_owned());
    assert_eq!(of("a.d"), Decision::Deny(denied));
    let asked = AskReason { reason: "rule 2 asks".to_owned(), yes_allowed: false, question: false };
    assert_eq!(of("a.a"), Decision::Ask(asked));
    let allowed = ApprovalMark::new(ApprovedBy::Rule, "the caller's level is FULL");
    assert_eq!(of("a.b"), Decision::Allow(allowed));
}

#[test]
fn b14_deny_comes_before_require_approval_before_allow() {
    let tool = proven_reader("a.b");
    for bits in 0..8 {
        let (deny, ask, allow) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0);
        let expected = match (deny, ask) {
            (true, _) => Deny,
            (false, true) => Ask,
            (false, false) => Allow,
        };
        let one = format!(
            "[[keys]]\ntool = 'a.*'\ndeny = {deny}\nrequire_approval = {ask}\nallow = {allow}\n"
        );
        assert_eq!(decided(&policy(&one), &tool, PermissionLevel::Full), expected, "{one}");
        let apart = format!(
            "[[keys]]\ntool = 'a.b'\nallow = {allow}\n[[keys]]\ntool = '*'\ndeny = {deny}\n\
             [[keys]]\ntool = 'a.*'\nrequire_approval = {ask}\n[[keys]]\ntool = 'z.*'\ndeny = true"
        );
        assert_eq!(decided(&policy(&apart), &tool, PermissionLevel::Full), expected, "{apart}");
    }
}

#[test]
fn b14_the_operators_allow_does_not_silence_a_plugins_ask() {
    let tool = ToolDescriptor { requires_approval: true, ..proven_reader("a.b") };
    let policy = policy("[[keys]]\ntool = 'a.b'\nallow = true");
    assert_eq!(decided(&policy, &tool, PermissionLevel::ReadWrite), Ask);
    assert_eq!(decided(&policy, &proven_reader("a.b"), PermissionLevel::ReadWrite), Allow);
}

#[test]
fn yes_stands_for_a_person_only_where_every_question_says_so() {
    let ask = |toml: &str, tool: &ToolDescriptor, level| {
        let (policy, call) = (policy(toml), call_at(level));
        match judge(&policy, &GateView::new(tool, &call, None)) {
            Decision::Ask(ask) => ask,
            other => panic!("{other:?}"),
        }
    };
    let yes = "[[rules]]\naction = 'ask'\ntool = 'a.b'\nyes = true\nreason = 'look first'\n";
    let writer = file_writer("a.b");
    assert!(ask(yes, &writer, PermissionLevel::Full).yes_allowed);
    assert!(!ask(&yes.replace("true", "false"), &writer, PermissionLevel::Full).yes_allowed);
    let both = ask(yes, &writer, PermissionLevel::ReadOnly);
    assert_eq!(both.reason, "the tool is not proven read-only; rule 1: look first");
    assert!(!both.yes_allowed);
    let key = format!("{yes}[[keys]]\ntool = 'a.b'\nrequire_approval = true");
    assert!(!ask(&key, &writer, PermissionLevel::Full).yes_allowed);
}

#[test]
fn an_explanation_shows_every_stage_and_the_winner() {
    let toml = "[[rules]]\naction = 'deny'\ntool = 'x.*'\n\
                [[rules]]\nname = 'ours'\naction = 'allow'\ntool = 'a.b'";
    let (policy, tool) = (policy(toml), file_writer("a.b"));
    let call = call_at(PermissionLevel::ReadOnly);
    let explained = explain(&policy, &GateView::new(&tool, &call, None), None);
    let rows: Vec<_> =
        explained.stages.iter().map(|row| (row.stage, row.answer, row.rule)).collect();
    let expected = [
        (Stage::AllowedSet, Nothing, None),
        (Stage::DenyRules, Nothing, None),
        (Stage::Level, Ask, None),
        (Stage::GateKeys, Nothing, None),
        (Stage::Rules, Allow, Some("rule `ours`")),
    ];
    assert_eq!(rows, expected);
    assert_eq!((explained.winner, explained.verdict), (Stage::Level, Ask));
    let json = serde_json::to_value(&explained).unwrap();
    assert_eq!(json["winner"], "level");
    assert_eq!(json["verdict"], "ask");
    assert_eq!(json["stages"][4]["rule"], "rule `ours`");
}

#[test]
fn where_no_stage_speaks_the_default_does_and_is_shown() {
    let mut tool = network_writer("a.b");
    tool.effects.read_only = Effect::claimed(true);
    let (policy, call) = (policy(""), call_at(PermissionLevel::ReadWrite));
    let explained = explain(&policy, &GateView::new(&tool, &call, None), None);
    assert_eq!((explained.winner, explained.verdict), (Stage::Default, Allow));
    assert_eq!(explained.stages.last().unwrap().stage, Stage::Default);
}

#[test]
fn without_any_answer_a_call_asks() {
    let call = call_at(PermissionLevel::ReadWrite);
    let of = |tool: &ToolDescriptor| {
        let decided =
            super::super::stages::Tally::default().decide(&GateView::new(tool, &call, None));
        answer_of(&decided.decision)
    };
    assert_eq!(of(&file_writer("a.b")), Ask);
    assert_eq!(of(&network_writer("a.b")), Ask);
    assert_eq!(of(&proven_reader("a.b")), Allow);
}

#[test]
fn a_remembered_answer_lets_through_what_is_asked_and_a_denying_one_refuses_what_is_allowed() {
    let toml = "[[rules]]\naction = 'deny'\ntool = 'a.d'\n[[rules]]\naction = 'ask'\ntool = 'a.a'";
    let (policy, call) = (policy(toml), call_at(PermissionLevel::Full));
    let verdicts = [RememberedVerdict::Allow, RememberedVerdict::Deny];
    for (id, expected) in [("a.d", [Deny, Deny]), ("a.a", [Allow, Deny]), ("a.b", [Allow, Deny])] {
        let tool = proven_reader(id);
        let of = |verdict| {
            let remembered = remembered(verdict);
            let view = GateView::new(&tool, &call, None);
            let explained = explain(&policy, &view, Some(&remembered));
            let applied = apply_remembered(judge(&policy, &view), Some(&remembered));
            assert_eq!(explained.decision, applied);
            explained.verdict
        };
        assert_eq!(verdicts.map(of), expected, "{id}");
    }
}

#[test]
fn a_call_let_through_by_a_remembered_answer_is_marked_with_it() {
    let (tool, call) = (file_writer("a.b"), call_at(PermissionLevel::ReadOnly));
    let remembered = remembered(RememberedVerdict::Allow);
    let policy = policy("");
    let explained = explain(&policy, &GateView::new(&tool, &call, None), Some(&remembered));
    assert_eq!(explained.winner, Stage::Remembered);
    let Decision::Allow(mark) = explained.decision else { panic!("{explained:?}") };
    assert_eq!((mark.by, mark.approval), (ApprovedBy::Person, Some(remembered.id)));
    assert_eq!(mark.approver.unwrap().name, "ann");
}

#[test]
fn a12_a_question_is_asked_at_every_level_and_a_deny_still_wins() {
    let tool = ToolDescriptor { asks_a_person: true, ..proven_reader("a.b") };
    let allows = policy("[[rules]]\naction = 'allow'\ntool = '*'");
    let denies = policy("[[rules]]\naction = 'deny'\ntool = '*'");
    let off = policy("enabled = false");
    for level in [PermissionLevel::ReadOnly, PermissionLevel::Smart, PermissionLevel::Full] {
        let call = call_at(level);
        let view = GateView::new(&tool, &call, None);
        for policy in [&allows, &off] {
            let Decision::Ask(ask) = judge(policy, &view) else { panic!("{level:?}") };
            assert!(ask.question && !ask.yes_allowed);
        }
        assert!(matches!(judge(&denies, &view), Decision::Deny(Refusal::Denied(_))));
        let plain = proven_reader("a.b");
        let stages = explain(&off, &GateView::new(&plain, &call, None), None).stages;
        assert!(stages.iter().all(|answer| answer.stage != Stage::Question));
    }
}

#[test]
fn a12_what_was_remembered_answers_no_question_and_still_denies() {
    let tool = ToolDescriptor { asks_a_person: true, ..proven_reader("a.b") };
    let (policy, call) = (policy(""), call_at(PermissionLevel::Full));
    let view = GateView::new(&tool, &call, None);
    let allowing = remembered(RememberedVerdict::Allow);
    let explained = explain(&policy, &view, Some(&allowing));
    assert_eq!((explained.winner, explained.verdict), (Stage::Question, Ask));
    let denying = remembered(RememberedVerdict::Deny);
    let explained = explain(&policy, &view, Some(&denying));
    assert_eq!((explained.winner, explained.verdict), (Stage::Remembered, Deny));
}

#[test]
fn only_the_hosts_own_tools_are_trusted_outside_the_sandbox() {
    use crate::contract::descriptor::{ToolExecutor, ToolSource};
    let outside = |source, executor| ToolDescriptor {
        source,
        executor,
        isolation: Isolation::None,
        ..proven_reader("a.b")
    };
    let policy = policy("");
    let of = |tool: &ToolDescriptor| decided(&policy, tool, PermissionLevel::ReadOnly);
    assert_eq!(of(&outside(ToolSource::Builtin, ToolExecutor::Server)), Allow);
    for (source, executor) in [
        (ToolSource::Builtin, ToolExecutor::Desktop),
        (ToolSource::Plugin, ToolExecutor::Server),
        (ToolSource::Mcp, ToolExecutor::McpServer),
    ] {
        assert_eq!(of(&outside(source, executor)), Ask, "{source:?} {executor:?}");
    }
}
