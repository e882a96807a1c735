//! What becomes of a call about which a person is asked.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::kit::*;
use crate::contract::approval::{
    ApprovalDecision, ApprovalRequest, ApprovalState, Approver, Channel, RememberScope,
};
use crate::contract::decision::ApprovedBy;
use crate::contract::invocation::ApprovalMode;
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::{Status, ToolResult};
use crate::engine::EngineSettings;
use crate::gate::PolicySettings;
use crate::gate::approval::ApprovalHook;

/// How a call ends that is answered so.
async fn answered(host: &mut Host, decision: ApprovalDecision) -> ToolResult {
    let waiting = host.start(asking("c1", r#"{"path":"a"}"#));
    let (_, id) = host.asked().await;
    host.decide(&id, decision);
    waiting.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_person_approves_runs_and_says_who() {
    let mut host = Host::new();
    let result = answered(&mut host, ApprovalDecision::Once).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "fine"));
    let mark = result.approval.unwrap();
    assert_eq!((mark.by, mark.approver), (ApprovedBy::Person, Some(ann())));
    let state = host.queue.show(&mark.approval.unwrap()).unwrap().state;
    assert_eq!((state, host.runner.runs()), (ApprovalState::Used, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_person_refuses_is_declined_with_the_reason() {
    let mut host = Host::new();
    let result = answered(&mut host, deny("not today")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::ApprovalDeclined, Executed::No));
    assert!(result.content.contains("by ann: not today"), "{}", result.content);
    let mark = result.approval.unwrap();
    assert_eq!((mark.by, mark.approver), (ApprovedBy::None, Some(ann())), "nothing let it through");
    assert!(mark.reason.contains("by ann: not today"), "{}", mark.reason);
    assert!(mark.approval.is_some(), "it names the request");
    assert_eq!((host.runner.runs(), result.attempts), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_the_tools_place_is_the_result_and_nothing_runs() {
    let mut host = Host::new();
    let content = r#"{"error":"as it is"}"#.to_owned();
    let result = answered(&mut host, ApprovalDecision::Answer { content: content.clone() }).await;
    assert_eq!((result.outcome, result.status), (Outcome::Success, Status::Success));
    assert_eq!((result.executed, result.content), (Executed::No, content));
    assert_eq!(result.approval.unwrap().by, ApprovedBy::Person);
    assert_eq!((host.runner.runs(), host.pending().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_person_calls_off_is_cancelled() {
    let mut host = Host::new();
    let result = answered(&mut host, ApprovalDecision::Cancel).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
    let mark = result.approval.unwrap();
    assert_eq!((mark.by, mark.approver), (ApprovedBy::None, Some(ann())));
    assert!(
        mark.approval.is_some() && mark.reason.contains("called off by ann"),
        "{}",
        mark.reason
    );
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_refused_in_person_says_what_did() {
    let policy = serde_json::from_value(json!({"rules": [
        {"name": "no-writes", "action": "deny", "tool": "fake.write", "reason": "not here"},
    ]}));
    let policy = policy.unwrap();
    let host = Setup { policy, ..Setup::default() }.host();
    let denied = host.call(asking("c1", "{}")).await;
    let mark = denied.approval.unwrap();
    assert_eq!((denied.outcome, mark.by, mark.approver), (Outcome::Denied, ApprovedBy::None, None));
    assert_eq!(mark.reason, "rule `no-writes`: not here");
    let mut set = call("c2", "fake.read", "{}");
    set.allowed_tools = Some(vec!["fake.write".to_owned()]);
    let mark = host.call(set).await.approval.unwrap();
    assert!(mark.reason.contains("is not in this caller's set"), "{}", mark.reason);
    let unread = host.call(call("c3", "fake.read", "[")).await;
    let mark = unread.approval.unwrap();
    assert_eq!(mark.reason, "the call ended as invalid_arguments before it was let through");
}

#[tokio::test(start_paused = true)]
async fn a_call_about_which_nobody_answers_expires() {
    let mut host = Host::new();
    let result = host.call(asking("c1", "{}")).await;
    assert_eq!((result.outcome, result.executed), (Outcome::ApprovalExpired, Executed::No));
    assert_eq!(result.duration_ms, Some(900_000));
    let (_, id) = host.asked().await;
    assert_eq!(result.approval.unwrap().approval, Some(id));
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_says_never_is_not_asked_again() {
    let mut host = Host::new();
    let never = ApprovalDecision::DenyAlways {
        scope: RememberScope::Tool,
        reason: Some("not this one".to_owned()),
    };
    let result = answered(&mut host, never).await;
    assert_eq!(result.outcome, Outcome::ApprovalDeclined);
    let next = host.call(asking("c2", r#"{"path":"b"}"#)).await;
    assert_eq!((next.outcome, next.executed), (Outcome::Denied, Executed::No));
    let mark = next.approval.unwrap();
    assert_eq!((mark.by, mark.approver), (ApprovedBy::None, Some(ann())));
    assert_eq!(mark.approval, result.approval.unwrap().approval, "the answer that is remembered");
    assert!(mark.reason.contains("of ann denies it: not this one"), "{}", mark.reason);
    let mut full = call("c3", "fake.write", "{}");
    full.caller = Some("bot".to_owned());
    assert_eq!(host.call(full).await.outcome, Outcome::Denied, "at every level");
    assert!(host.told_of("ToolApprovalRequest").is_empty());
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_once_a_call_and_not_once_an_attempt() {
    let settings = EngineSettings { retries: Some(2), ..EngineSettings::default() };
    let mut host = Setup { settings, ..Setup::default() }.host();
    host.runner.behave(|attempt| if attempt.number < 3 { overloaded() } else { fine() });
    let result = answered(&mut host, ApprovalDecision::Once).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::Success, 3));
    assert!(host.told_of("ToolApprovalRequest").is_empty(), "no other than the one answered");
}

#[tokio::test(start_paused = true)]
async fn t12_waiting_for_a_person_takes_nothing_of_the_calls_own_time() {
    let mut host = Host::new();
    host.tools.change("fake.write", |tool| {
        tool.limits.set(LimitKind::CallDeadline, 700).unwrap();
    });
    host.runner.behave(|_| fine_after(600));
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    host.decide(&id, ApprovalDecision::Once);
    let result = waiting.await.unwrap();
    assert_eq!(result.outcome, Outcome::Success, "{}", result.content);
    let handed = &host.runner.handed()[0];
    assert_eq!((handed.due_in_ms, handed.due_by), (700, LimitKind::CallDeadline));
}

#[tokio::test(start_paused = true)]
async fn t29_with_nobody_to_ask_a_call_is_declined_at_once() {
    for mode in [ApprovalMode::Wait, ApprovalMode::HandBack, ApprovalMode::Deny] {
        let watched = mode == ApprovalMode::Deny;
        let host = Setup { watched, ..Setup::default() }.host();
        let mut call = asking("c1", "{}");
        call.approval_mode = mode;
        let result = host.call(call).await;
        assert_eq!((result.outcome, result.executed), (Outcome::ApprovalDeclined, Executed::No));
        assert_eq!(result.duration_ms, Some(0), "{mode:?}");
        assert!(result.content.contains("nobody can be asked"), "{}", result.content);
        assert_eq!((host.runner.runs(), host.pending().len()), (0, 0), "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn t30_whatever_waits_is_listed_and_told() {
    let mut host = Host::new();
    let waiting = host.start(asking("c1", r#"{"path":"a"}"#));
    let (call_id, id) = host.asked().await;
    let pending = host.pending();
    assert_eq!(pending.len(), 1);
    let listed = &pending[0];
    assert_eq!((&listed.id, listed.call_id.as_str(), &*call_id), (&id, "c1", "c1"));
    assert_eq!(
        (listed.tool.to_string(), &*listed.arguments_head),
        ("fake.write".to_owned(), r#"{"path":"a"}"#)
    );
    host.decide(&id, deny("no"));
    waiting.await.unwrap();
    assert!(host.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn b15_b17_the_request_is_an_event_and_its_id_takes_the_answer() {
    let mut host = Host::new();
    let waiting = host.start(asking("c1", r#"{"b":1,"a":2.0}"#));
    let request = host
        .until(|_, kind| {
            let json = serde_json::to_value(kind).unwrap();
            (json["type"] == "ToolApprovalRequest").then_some(json)
        })
        .await;
    assert_eq!(request["toolName"], "fake.write");
    assert_eq!(request["arguments"], json!({"a": 2, "b": 1}));
    let id = request["requestId"].as_str().unwrap().parse().unwrap();
    host.decide(&id, ApprovalDecision::Once);
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
    let decided = &host.told_of("ApprovalDecided")[0];
    assert_eq!(
        (&decided["requestId"], &decided["decision"]),
        (&request["requestId"], &json!("once"))
    );
}

#[derive(Debug)]
struct Approves;

#[async_trait::async_trait]
impl ApprovalHook for Approves {
    async fn decide(&self, request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)> {
        let approver = Approver { name: "program".into(), channel: Channel::Library };
        let asked = request.arguments.canonical();
        Some((if asked == "{}" { ApprovalDecision::Once } else { deny("no") }, approver))
    }
}

#[tokio::test(start_paused = true)]
async fn the_programs_own_approver_answers_too() {
    let hook = Some(Arc::new(Approves) as Arc<dyn ApprovalHook>);
    let host = Setup { hook, watched: false, ..Setup::default() }.host();
    let result = host.call(asking("c1", "{}")).await;
    assert_eq!(result.outcome, Outcome::Success);
    assert_eq!(result.approval.unwrap().approver.unwrap().name, "program");
    let result = host.call(asking("c2", r#"{"n":1}"#)).await;
    assert_eq!((result.outcome, host.runner.runs()), (Outcome::ApprovalDeclined, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_handed_back_is_pending_and_its_repeat_is_let_through_once() {
    let mut host = Host::new();
    let first = host.call(handing_back("c1", "{}")).await;
    assert_eq!((first.outcome, first.executed), (Outcome::ApprovalPending, Executed::No));
    assert_eq!(first.duration_ms, Some(20_000));
    let (_, id) = host.asked().await;
    assert!(first.content.contains(id.as_str()), "{}", first.content);
    assert_eq!(first.approval.unwrap().approval.as_ref(), Some(&id));
    host.decide(&id, ApprovalDecision::Once);
    let second = host.call(handing_back("c2", " { } ")).await;
    assert_eq!((second.outcome, host.runner.runs_of("c2")), (Outcome::Success, 1));
    let third = host.call(handing_back("c3", "{}")).await;
    assert_eq!((third.outcome, host.runner.runs()), (Outcome::ApprovalPending, 1));
}

fn deny_etc() -> PolicySettings {
    let rules = json!({"rules": [
        {"action": "deny", "tool": "fake.write", "arguments": {"path": "/etc/*"}},
    ]});
    serde_json::from_value(rules).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_edited_call_runs_with_the_edited_arguments() {
    let mut host = Host::new();
    let result = answered(&mut host, edit(r#"{ "path": "b" }"#)).await;
    assert_eq!(result.outcome, Outcome::Success);
    assert_eq!(host.runner.handed()[0].arguments, r#"{"path":"b"}"#);
    let edited = result.approval.unwrap().edited_arguments.unwrap();
    assert_eq!(json!(edited), json!({"path": "b"}));
    let told = &host.told_of("ToolCallInvoke")[0];
    assert_eq!(told["arguments"], json!({"path": "b"}), "what it ran with");
}

#[tokio::test(start_paused = true)]
async fn t36_an_edit_is_checked_like_any_arguments() {
    let mut host = Host::new();
    let result = answered(&mut host, edit(r#"{"bad":1}"#)).await;
    assert_eq!((result.outcome, result.executed), (Outcome::ApprovalDeclined, Executed::No));
    assert!(result.content.contains("the approver's arguments were refused"), "{}", result.content);
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn t36_an_edit_into_what_is_denied_is_refused() {
    let mut host = Setup { policy: deny_etc(), ..Setup::default() }.host();
    let result = answered(&mut host, edit(r#"{"path":"/etc/passwd"}"#)).await;
    assert_eq!((result.outcome, result.executed), (Outcome::ApprovalDeclined, Executed::No));
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn t36_an_edit_into_what_a_person_refused_for_good_is_refused() {
    let mut host = Host::new();
    let never = ApprovalDecision::DenyAlways { scope: RememberScope::Arguments, reason: None };
    answered(&mut host, never).await;
    let waiting = host.start(asking("c2", r#"{"path":"b"}"#));
    let (_, id) = host.asked().await;
    host.decide(&id, edit(r#"{"path":"a"}"#));
    let result = waiting.await.unwrap();
    assert_eq!((result.outcome, host.runner.runs()), (Outcome::ApprovalDeclined, 0));
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_cant_be_used_leaves_the_repeat_to_be_asked_about_anew() {
    let mut host = Host::new();
    host.call(handing_back("c1", "{}")).await;
    let (_, id) = host.asked().await;
    host.decide(&id, edit(r#"{"bad":1}"#));
    let refused = host.call(handing_back("c2", "{}")).await;
    assert_eq!(refused.outcome, Outcome::ApprovalDeclined, "{refused:?}");
    let anew = host.call(handing_back("c3", "{}")).await;
    assert_eq!((anew.outcome, host.runner.runs()), (Outcome::ApprovalPending, 0));
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_not_used_up_by_a_call_that_waits_in_vain_for_a_lock() {
    let mut host = Host::new();
    host.tools.change("fake.write", |tool| tool.parallel.locks = vec!["path".to_owned()]);
    host.call(handing_back("c1", r#"{"path":"a"}"#)).await;
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::Once);
    host.runner.behave(|attempt| match attempt.call_id.as_str() {
        "holder" => fine_after(200_000),
        _ => fine_after(0),
    });
    host.tools.change("fake.write", |tool| {
        tool.limits.set(LimitKind::AttemptDeadline, 300_000).unwrap();
    });
    let holder = host.start(call("holder", "fake.write", r#"{"path":"a"}"#));
    while host.runner.runs() == 0 {
        tokio::task::yield_now().await;
    }
    host.tools.change("fake.write", |tool| tool.limits = Limits::default());
    let late = host.call(handing_back("c2", r#"{"path":"a"}"#)).await;
    assert_eq!((late.outcome, late.executed), (Outcome::TimedOut, Executed::No));
    holder.await.unwrap();
    let third = host.call(handing_back("c3", r#"{"path":"a"}"#)).await;
    assert_eq!(third.outcome, Outcome::Success, "the answer was still there: {third:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_holds_no_lock() {
    let mut host = Host::new();
    host.tools.change("fake.write", |tool| tool.parallel.locks = vec!["path".to_owned()]);
    let waiting = host.start(asking("c1", r#"{"path":"a"}"#));
    let (_, id) = host.asked().await;
    let other = host.call(call("c2", "fake.write", r#"{"path":"a"}"#)).await;
    assert_eq!((other.outcome, other.duration_ms), (Outcome::Success, Some(0)));
    host.decide(&id, ApprovalDecision::Once);
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
}
