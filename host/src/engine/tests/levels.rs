//! What the gate lets through, through the engine: levels, allowed sets, rules, the assessor.

use serde_json::json;

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, RememberScope};
use crate::contract::attempt::ReturnCase;
use crate::contract::effects::Effect;
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::contract::outcome::{Executed, Outcome};
use crate::engine::ports::LiveLevels;
use crate::events::EventKind;
use crate::gate::{AssessorError, GateView, PolicySettings, Risk, RiskAssessor, narrow_level};

fn policy(json: serde_json::Value) -> PolicySettings {
    serde_json::from_value(json).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a15_levels_let_through_what_is_proven_and_ask_for_the_rest() {
    use PermissionLevel::{Full, ReadOnly, ReadWrite, Smart};
    // `fake.files` stays inside its file grants, and nothing says that it only reads.
    let host = Host::new();
    host.tools.put(writer("fake.files"), no_grants());
    host.tools.change("fake.files", |tool| tool.effects.closed_world = Effect::proven(true));
    for (level, reads, files, writes) in [
        (ReadOnly, true, false, false),
        (ReadWrite, true, true, false),
        (Smart, true, true, false),
        (Full, true, true, true),
    ] {
        for (tool, runs) in [("fake.read", reads), ("fake.files", files), ("fake.write", writes)] {
            let mut call = call("c1", tool, "{}");
            call.permission_level = level;
            let result = host.call(call).await;
            let expected = if runs { Outcome::Success } else { Outcome::ApprovalDeclined };
            assert_eq!(result.outcome, expected, "{level:?} {tool}");
            assert_eq!(result.executed == Executed::Yes, runs, "{level:?} {tool}");
        }
    }
}

#[derive(Debug)]
enum Assessor {
    Fails,
    Panics,
    FindsNothing,
}

impl RiskAssessor for Assessor {
    fn assess(&self, _view: &GateView<'_>) -> Result<Risk, AssessorError> {
        match self {
            Self::Fails => Err(AssessorError::TimedOut),
            Self::Panics => panic!("an assessor that panics"),
            Self::FindsNothing => Ok(Risk::Low),
        }
    }
}

#[tokio::test]
async fn a16_an_assessor_that_fails_is_as_good_as_a_danger() {
    for (assessor, expected) in [
        (Assessor::Fails, Outcome::ApprovalDeclined),
        (Assessor::Panics, Outcome::ApprovalDeclined),
        (Assessor::FindsNothing, Outcome::Success),
    ] {
        let shown = format!("{assessor:?}");
        let assessor = std::sync::Arc::new(assessor);
        let host = Setup::default().host_with(|policy| policy.with_assessor(assessor));
        let mut call = call("c1", "fake.write", "{}");
        call.permission_level = PermissionLevel::Smart;
        assert_eq!(host.call(call).await.outcome, expected, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_gate_that_is_off_asks_nobody_and_the_callers_set_still_holds() {
    let rules = json!({"enabled": false, "rules": [{"action": "deny", "tool": "*"}]});
    let mut host = Setup { policy: policy(rules), ..Setup::default() }.host();
    let result = host.call(asking("c1", "{}")).await;
    assert_eq!(result.outcome, Outcome::Success);
    let mut outside = asking("c2", "{}");
    outside.allowed_tools = Some(vec!["fake.read".to_owned()]);
    assert_eq!(host.call(outside).await.outcome, Outcome::NotAllowed);
    assert!(host.told_of("ToolApprovalRequest").is_empty());
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn b8_a_gate_that_is_off_goes_by_no_remembered_answer_either() {
    let mut host = Host::new();
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::DenyAlways { scope: RememberScope::Tool, reason: None });
    assert_eq!(waiting.await.unwrap().outcome, Outcome::ApprovalDeclined);
    let off = policy(json!({"enabled": false}));
    let store = std::sync::Arc::clone(&host.store);
    let host = Setup { policy: off, store, ..Setup::default() }.host();
    assert_eq!(host.call(asking("c2", "{}")).await.outcome, Outcome::Success);
}

#[tokio::test]
async fn a_rule_that_denies_holds_at_every_level_and_is_told() {
    let rules = json!({"rules": [
        {"name": "no-pay", "action": "deny", "tool": "fake.pay", "reason": "no money moves"},
        {"action": "allow", "tool": "*"},
    ]});
    let mut host = Setup { policy: policy(rules), ..Setup::default() }.host();
    let result = host.call(call("c1", "fake.pay", "{}")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Denied, Executed::No));
    assert!(result.content.contains("no money moves"), "{}", result.content);
    let told = &host.told_of("Decision")[0];
    assert_eq!((&told["verdict"], &told["callId"]), (&json!("deny"), &json!("c1")));
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_asks_nobody_even_where_another_rule_asks() {
    let rules = json!({"rules": [
        {"action": "ask", "tool": "*"},
        {"action": "deny", "tool": "fake.write", "arguments": {"path": "/etc/*"}},
    ]});
    let mut host = Setup { policy: policy(rules), ..Setup::default() }.host();
    let result = host.call(asking("c1", r#"{"path":"/etc/passwd"}"#)).await;
    assert_eq!(result.outcome, Outcome::Denied);
    assert!(host.told_of("ToolApprovalRequest").is_empty() && host.pending().is_empty());
}

/// At both places where identical calls fail.
#[tokio::test(start_paused = true)]
async fn t15_a_call_that_keeps_failing_the_same_way_is_refused_until_it_changes() {
    for (failing, outcome, runs) in
        [(r#"{"n":1}"#, Outcome::ToolError, 1), (r#"{"bad":1}"#, Outcome::InvalidArguments, 0)]
    {
        let host = Host::new();
        host.runner.behave(|attempt| match attempt.arguments.canonical() {
            r#"{"n":1}"# => Act(0, returned(ReturnCase::Err, "no")),
            _ => fine(),
        });
        for _ in 0..10 {
            assert_eq!(host.call(call("c1", "fake.read", failing)).await.outcome, outcome);
        }
        let refused = host.call(call("c2", "fake.read", failing)).await;
        assert_eq!((refused.outcome, refused.executed), (Outcome::Denied, Executed::No));
        assert!(refused.content.contains("failed 10 times in a row"), "{}", refused.content);
        assert_eq!(host.runner.runs(), runs * 10);
        let other = host.call(call("c3", "fake.read", r#"{"n":2}"#)).await;
        assert_eq!(other.outcome, Outcome::Success, "other arguments run");
        let again = host.call(call("c4", "fake.read", failing)).await;
        assert_eq!(again.outcome, outcome, "an answer ends the row");
    }
}

#[tokio::test(start_paused = true)]
async fn t15_a_refusal_by_the_breaker_counts_for_nobody_else() {
    let host = Host::new();
    host.runner.behave(|_| Act(0, returned(ReturnCase::Err, "no")));
    for _ in 0..10 {
        host.call(call("c1", "fake.read", "{}")).await;
    }
    let mut other = call("c2", "fake.read", "{}");
    other.caller = Some("somebody".to_owned());
    assert_eq!(host.call(other).await.outcome, Outcome::ToolError);
    assert_eq!(host.call(call("c3", "fake.read", "{}")).await.outcome, Outcome::Denied);
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    assert_eq!(host.call(call("c4", "fake.read", "{}")).await.outcome, Outcome::ToolError);
}

#[tokio::test]
async fn explain_says_what_the_gate_would_and_runs_nothing() {
    let mut host = Host::new();
    let mut call = asking("c1", "{}");
    call.approval_mode = ApprovalMode::Deny;
    let explained = host.engine.explain(&call).await.unwrap();
    assert!(matches!(explained.decision, crate::contract::decision::Decision::Ask(_)));
    call.tool_name = "nobodys".to_owned();
    assert_eq!(host.engine.explain(&call).await.unwrap_err().outcome, Outcome::NotFound);
    assert_eq!((host.runner.runs(), host.told().len()), (0, 0));
}

/// A live session whose user changes its level.
#[derive(Default)]
struct Live(std::sync::Mutex<Option<PermissionLevel>>);

impl Live {
    fn set(&self, level: PermissionLevel) {
        *self.0.lock().unwrap() = Some(level);
    }
}

impl LiveLevels for Live {
    fn level(&self, call: &ToolInvocation) -> PermissionLevel {
        narrow_level(call.permission_level, *self.0.lock().unwrap())
    }
}

fn live(policy_json: serde_json::Value) -> (Host, std::sync::Arc<Live>) {
    let live = std::sync::Arc::new(Live::default());
    let levels = std::sync::Arc::clone(&live) as _;
    let setup = Setup { policy: policy(policy_json), levels: Some(levels), ..Setup::default() };
    (setup.host(), live)
}

#[tokio::test(start_paused = true)]
async fn a15_a_level_lowered_during_an_approval_wait_counts_at_once() {
    let rules = json!({"rules": [
        {"action": "deny", "tool": "fake.write", "level": ["READ_ONLY"], "reason": "reads only"},
        {"action": "ask", "tool": "fake.write"},
    ]});
    for (lowered, outcome, runs) in [(true, Outcome::Denied, 0), (false, Outcome::Success, 1)] {
        let (mut host, live) = live(rules.clone());
        let mut asking = asking("c1", "{}");
        asking.permission_level = PermissionLevel::Full;
        let waiting = host.start(asking);
        let (_, id) = host.asked().await;
        if lowered {
            live.set(PermissionLevel::ReadOnly);
        }
        host.decide(&id, ApprovalDecision::Once);
        let result = waiting.await.unwrap();
        assert_eq!((result.outcome, host.runner.runs()), (outcome, runs), "{}", result.content);
    }
}

#[tokio::test(start_paused = true)]
async fn a15_a_level_lowered_while_a_call_waits_for_its_turn_counts_at_once() {
    let (mut host, live) = live(json!({}));
    host.tools.change("fake.write", |tool| tool.parallel.locks = vec!["path".to_owned()]);
    host.runner.behave(|_| Act(1_000, fine().1));
    let write = |id| call(id, "fake.write", r#"{"path":"a"}"#);
    let first = host.start(write("c1"));
    host.attempt_started().await;
    let second = host.start(write("c2"));
    host.until(|id, kind| (id == "c2" && matches!(kind, EventKind::Decision { .. })).then_some(()))
        .await;
    live.set(PermissionLevel::ReadOnly);
    assert_eq!(first.await.unwrap().outcome, Outcome::Success);
    let result = second.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::ApprovalDeclined, Executed::No));
    assert!(result.content.contains("level was lowered"), "{}", result.content);
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a15_a_live_level_holds_for_the_next_call_and_never_raises_one() {
    let (host, live) = live(json!({}));
    let write = |level| {
        let mut call = call("c1", "fake.write", "{}");
        call.permission_level = level;
        call
    };
    assert_eq!(host.call(write(PermissionLevel::Full)).await.outcome, Outcome::Success);
    live.set(PermissionLevel::ReadOnly);
    let result = host.call(write(PermissionLevel::Full)).await;
    assert_eq!(result.outcome, Outcome::ApprovalDeclined);
    let explained = host.engine.explain(&write(PermissionLevel::Full)).await.unwrap();
    assert!(matches!(explained.decision, crate::contract::decision::Decision::Ask(_)));
    live.set(PermissionLevel::Full);
    assert_eq!(host.call(write(PermissionLevel::Full)).await.outcome, Outcome::Success);
    let result = host.call(write(PermissionLevel::ReadOnly)).await;
    assert_eq!(result.outcome, Outcome::ApprovalDeclined, "a token's level is the most there is");
}
