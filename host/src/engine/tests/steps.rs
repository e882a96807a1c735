//! The steps of one call in their order: name, arguments, gate, attempt, result, report.

use std::time::Duration;

use serde_json::json;

use super::kit::*;
use crate::contract::attempt::{End, GuestFault, ReturnCase, RunnerRefusal};
use crate::contract::decision::ApprovedBy;
use crate::contract::invocation::{ApprovalMode, PermissionLevel, SessionTool, ToolInvocation};
use crate::contract::limits::LimitKind;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::Status;

async fn outcome(call: ToolInvocation) -> (Outcome, usize) {
    let host = Host::new();
    let result = host.call(call).await;
    assert_eq!(result.call_id.as_str(), "c1");
    (result.outcome, host.runner.runs())
}

#[tokio::test]
async fn a10_a_name_resolves_to_the_registry_then_the_session_then_nobody() {
    assert_eq!(outcome(call("c1", "fake.read", "")).await, (Outcome::Success, 1));
    assert_eq!(outcome(call("c1", "fake_read", "")).await, (Outcome::Success, 1));
    let mut session = call("c1", "mine", "{}");
    session.session_tools = vec![SessionTool { name: "mine".into(), descriptor: None }];
    assert_eq!(outcome(session).await, (Outcome::Unavailable, 0));
    assert_eq!(outcome(call("c1", "nobodys", "{}")).await, (Outcome::NotFound, 0));
}

#[tokio::test]
async fn a_missing_tool_names_near_ones() {
    let result = Host::new().call(call("c1", "fake.tol\u{1b}", "{}")).await;
    assert_eq!(result.content, "Unknown tool: fake.tol<U+001B>; did you mean `fake.tool`?");
}

#[tokio::test]
async fn a14_the_allowed_set_is_checked_before_anything_is_told() {
    for (name, allowed, expected) in [
        ("fake.read", vec!["fake_read"], (Outcome::Success, 1)),
        ("fake.read", vec!["other.tool"], (Outcome::NotAllowed, 0)),
        ("fake.read", vec![], (Outcome::NotAllowed, 0)),
        ("nobodys", vec!["other.tool"], (Outcome::NotAllowed, 0)),
        ("nobodys", vec!["nobodys"], (Outcome::NotFound, 0)),
    ] {
        let mut call = call("c1", name, "{}");
        call.allowed_tools = Some(allowed.into_iter().map(str::to_owned).collect());
        assert_eq!(outcome(call).await, expected, "{name}");
    }
}

#[tokio::test]
async fn a14_a_tool_outside_the_set_answers_like_one_that_isnt_there_whatever_its_arguments() {
    let host = Host::new();
    for arguments in ["{}", "{", r#"{"bad":1}"#] {
        let mut contents = Vec::new();
        for name in ["fake.read", "fake_read", "fake_loot"] {
            let mut call = call("c1", name, arguments);
            call.allowed_tools = Some(vec!["other.tool".to_owned()]);
            let result = host.call(call).await;
            assert_eq!(result.outcome, Outcome::NotAllowed, "{name} {arguments}");
            contents.push(result.content.replace(name, "it"));
        }
        contents.dedup();
        assert_eq!(contents.len(), 1, "{contents:?}");
    }
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test]
async fn bad_arguments_never_reach_a_runner() {
    for bad in ["{", "null", "[]", "5", "\"{}\"", r#"{"a":1,"a":2}"#, r#"{"bad":1}"#] {
        let got = outcome(call("c1", "fake.read", bad)).await;
        assert_eq!(got, (Outcome::InvalidArguments, 0), "{bad}");
    }
}

#[tokio::test]
async fn the_runner_sees_the_canonical_arguments() {
    let host = Host::new();
    let raw = " { \"b\" : 5.0, \"a\" : \"\\u0041\" } ";
    host.call(call("c1", "fake.read", raw)).await;
    assert_eq!(host.runner.handed()[0].arguments, r#"{"a":"A","b":5}"#);
}

#[tokio::test]
async fn a16_what_nobody_can_decide_is_declined() {
    for (tool, level, expected) in [
        ("fake.read", PermissionLevel::ReadOnly, (Outcome::Success, 1)),
        ("fake.write", PermissionLevel::ReadOnly, (Outcome::ApprovalDeclined, 0)),
        ("fake.write", PermissionLevel::Smart, (Outcome::ApprovalDeclined, 0)),
        ("fake.write", PermissionLevel::Full, (Outcome::Success, 1)),
    ] {
        let mut call = call("c1", tool, "{}");
        call.permission_level = level;
        assert_eq!(call.approval_mode, ApprovalMode::Deny);
        assert_eq!(outcome(call).await, expected, "{tool} {level:?}");
    }
}

#[tokio::test]
async fn a17_a_panic_is_a_result() {
    let host = Host::new();
    host.runner.behave(|_| panic!("secret /home/me"));
    let result = host.call(call("c1", "fake.read", "{}")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::HostFault, Executed::Maybe));
    assert!(result.content.starts_with("Tool execution failed: "), "{}", result.content);
    assert!(!result.content.contains("/home/me"), "{}", result.content);
    assert_eq!(result.attempts, 1);
    assert_eq!(host.runner.alive.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a17_a_panic_before_any_attempt_says_that_nothing_ran() {
    let host = Host::new();
    for (tool, arguments) in [("panics.here", "{}"), ("fake.read", r#"{"panic":1}"#)] {
        let result = host.call(call("c1", tool, arguments)).await;
        assert_eq!((result.outcome, result.executed), (Outcome::HostFault, Executed::No));
        assert_eq!(result.attempts, 0);
    }
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a19_every_end_comes_through_one_normaliser() {
    let text = |text: &str| returned(ReturnCase::Plain, text);
    let refusal = |why: fn(String) -> RunnerRefusal| End::Refused(why("no".to_owned()));
    let limit = |kind| End::Guest(GuestFault::Limit(kind, "it met it".to_owned()));
    for (end, outcome, executed, content) in [
        (text("fine"), Outcome::Success, Executed::Yes, "fine"),
        (text(r#"{"error":"x"}"#), Outcome::ToolError, Executed::Yes, r#"{"error":"x"}"#),
        (text(r#"["error"]"#), Outcome::Success, Executed::Yes, r#"["error"]"#),
        (returned(ReturnCase::Err, "no"), Outcome::ToolError, Executed::Yes, "no"),
        (End::Host("lost".into()), Outcome::HostFault, Executed::Maybe, "Tool execution failed: "),
        (
            End::Guest(GuestFault::Trapped("unreachable".into())),
            Outcome::Crashed,
            Executed::Maybe,
            "Tool execution failed: unreachable",
        ),
        (limit(LimitKind::Fuel), Outcome::OutOfFuel, Executed::Maybe, "Tool execution failed: "),
        (refusal(RunnerRefusal::Overloaded), Outcome::Overloaded, Executed::No, "no"),
        (refusal(RunnerRefusal::Unavailable), Outcome::Unavailable, Executed::No, "no"),
        (
            End::Refused(RunnerRefusal::TimedOut),
            Outcome::TimedOut,
            Executed::No,
            "the call waited for its turn",
        ),
        (
            End::Refused(RunnerRefusal::Cancelled),
            Outcome::Cancelled,
            Executed::No,
            "the call was cancelled before it started",
        ),
        (
            End::Interrupted,
            Outcome::Interrupted,
            Executed::Maybe,
            "the call was cancelled while it ran",
        ),
    ] {
        let mut host = Host::new();
        let said = end.clone();
        host.runner.behave(move |_| Act(0, said.clone()));
        let result = host.call(call("c1", "fake.write", "{}")).await;
        assert_eq!((result.outcome, result.executed), (outcome, executed), "{end:?}");
        assert!(result.content.starts_with(content), "{}", result.content);
        let good = outcome == Outcome::Success;
        assert_eq!(result.status == Status::Success, good, "{end:?}");
        assert_eq!(result.error_message.is_none(), good, "{end:?}");
        assert_eq!((result.attempts, result.duration_ms), (1, Some(0)), "{end:?}");
        assert_eq!(result.approval.as_ref().unwrap().by, ApprovedBy::Rule);
        // T14: whoever only hears of the call is told the same.
        let told = &host.told_of("ToolCallInvoke")[0];
        assert_eq!(told["status"], if good { "success" } else { "error" });
        assert_eq!(told["outcome"], outcome.name());
        assert_eq!(told["errorMessage"].as_str(), result.error_message.as_deref());
    }
}

#[tokio::test]
async fn t14_a_tools_own_error_is_an_error_in_result_and_event() {
    let mut host = Host::new();
    host.runner.behave(|_| Act(0, returned(ReturnCase::Err, "no such city")));
    let result = host.call(call("c1", "fake.read", "{}")).await;
    assert_eq!((result.status, result.outcome), (Status::Error, Outcome::ToolError));
    assert_eq!(result.error_message.as_deref(), Some("no such city"));
    let told = &host.told_of("ToolCallInvoke")[0];
    assert_eq!((&told["status"], &told["executed"]), (&json!("error"), &json!("yes")));
}

#[tokio::test(start_paused = true)]
async fn t12_the_callers_timeout_only_tightens_the_deadline() {
    for (timeout, expected_s) in [(Some(1), 1), (Some(3600), 30), (None, 30)] {
        let host = Host::new();
        let mut call = call("c1", "fake.read", "{}");
        call.timeout = timeout.map(Duration::from_secs);
        assert_eq!(host.call(call).await.outcome, Outcome::Success);
        assert_eq!(host.runner.handed()[0].due_in_ms, expected_s * 1000);
    }
}

#[tokio::test(start_paused = true)]
async fn t12_a_call_is_due_at_the_nearer_of_its_own_deadline_and_its_attempts() {
    for (call_ms, attempt_ms, due_ms, due_by) in [
        (700, 30_000, 700, LimitKind::CallDeadline),
        (120_000, 300, 300, LimitKind::AttemptDeadline),
    ] {
        let host = Host::new();
        host.tools.change("fake.write", |tool| {
            tool.limits.set(LimitKind::CallDeadline, call_ms).unwrap();
            tool.limits.set(LimitKind::AttemptDeadline, attempt_ms).unwrap();
        });
        host.runner.behave(|_| fine_after(200_000));
        let result = host.call(call("c1", "fake.write", "{}")).await;
        assert_eq!((result.outcome, result.duration_ms), (Outcome::TimedOut, Some(due_ms)));
        let handed = &host.runner.handed()[0];
        assert_eq!((handed.due_in_ms, handed.due_by), (due_ms.into(), due_by));
    }
}

#[tokio::test]
async fn b16_every_call_ends_with_its_report() {
    let mut host = Host::new();
    host.call(call("c1", "fake.read", r#"{"x":1}"#)).await;
    let told = host.told();
    let kinds: Vec<_> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["CallReceived", "Decision", "AttemptStarted", "ToolCallInvoke"]);
    let report = &told[3];
    assert_eq!((&report["callId"], &report["toolName"]), (&json!("c1"), &json!("fake.read")));
    assert_eq!((&report["arguments"], &report["attempts"]), (&json!({"x": 1}), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn b16_a_call_has_one_report_however_it_ends() {
    let mut host = Host::new();
    let mut asked = asking("c4", "{}");
    asked.approval_mode = ApprovalMode::Deny;
    for call in [
        call("c1", "nobodys", "{}"),
        call("c2", "fake.read", "{"),
        call("c3", "panics.here", "{}"),
        asked,
        call("c5", "fake.read", "{}"),
    ] {
        let id = call.call_id.to_string();
        let result = host.call(call).await;
        let told = host.told_of("ToolCallInvoke");
        assert_eq!(told.len(), 1, "{id}: {told:?}");
        assert_eq!(
            (&told[0]["callId"], &told[0]["outcome"]),
            (&json!(id), &json!(result.outcome.name()))
        );
        assert_eq!(told[0]["attempts"], result.attempts);
    }
}
