//! Questions to a person (A12): flags for how each ended, and nothing that answers but an answer.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, RememberScope};
use crate::contract::decision::ApprovedBy;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::gate::PolicySettings;
use crate::gate::approval::ApprovalError;

const ONE: &str = r#"{"questions":[{"question":"why?"}]}"#;

fn with_question(setup: Setup) -> Host {
    let host = setup.host();
    let tool = ToolDescriptor { asks_a_person: true, ..reader("belljar.ask-user") };
    host.tools.put(tool, no_grants());
    host
}

/// A question at level FULL, which is never asked about by itself.
fn question() -> ToolInvocation {
    let mut call = call("c1", "belljar.ask-user", ONE);
    call.approval_mode = ApprovalMode::Wait;
    call
}

fn answer(text: &str) -> ApprovalDecision {
    ApprovalDecision::Answer { content: text.to_owned() }
}

async fn ended(host: &mut Host, decision: ApprovalDecision) -> ToolResult {
    let waiting = host.start(question());
    let (_, id) = host.asked().await;
    host.decide(&id, decision);
    waiting.await.unwrap()
}

fn flags(result: &ToolResult) -> Value {
    result.structured.clone().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a12_an_answer_is_the_result_and_nothing_runs() {
    let mut host = with_question(Setup::default());
    let result = ended(&mut host, answer("because")).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "because"));
    assert_eq!(flags(&result), json!({ "status": "answered", "answers": ["because"] }));
    assert_eq!((result.executed, host.runner.runs()), (Executed::No, 0));
    assert_eq!(result.approval.unwrap().by, ApprovedBy::Person);
}

#[tokio::test(start_paused = true)]
async fn a12_cancelled_and_timeout_are_flags_and_not_words() {
    let mut host = with_question(Setup::default());
    let cancelled = ended(&mut host, ApprovalDecision::Cancel).await;
    assert_eq!(flags(&cancelled), json!({ "status": "cancelled" }));
    assert_eq!(cancelled.outcome, Outcome::Cancelled);
    let refused = ended(&mut host, deny("timeout")).await;
    assert_eq!(flags(&refused), json!({ "status": "cancelled" }));
    assert_eq!(refused.outcome, Outcome::ApprovalDeclined);
    let late = host.call(question()).await;
    assert_eq!(flags(&late), json!({ "status": "timeout" }));
    assert_eq!((late.outcome, late.duration_ms), (Outcome::ApprovalExpired, Some(900_000)));
    // A person may well write such a word.
    host.told();
    let said = ended(&mut host, answer("cancelled")).await;
    assert_eq!(flags(&said)["status"], "answered");
}

#[tokio::test(start_paused = true)]
async fn a12_a_caller_that_calls_it_off_is_told_so() {
    let mut host = with_question(Setup::default());
    let cancel = CancellationToken::new();
    let waiting = host.start_with(question(), cancel.clone());
    host.asked().await;
    cancel.cancel();
    assert_eq!(flags(&waiting.await.unwrap()), json!({ "status": "cancelled" }));
    assert!(host.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn t29_a_question_that_nobody_can_see_ends_at_once() {
    let host = with_question(Setup { watched: false, ..Setup::default() });
    let alone = host.call(question()).await;
    assert_eq!(flags(&alone), json!({ "status": "unavailable" }));
    let denied = ToolInvocation { approval_mode: ApprovalMode::Deny, ..question() };
    let denied = host.call(denied).await;
    assert_eq!(flags(&denied), json!({ "status": "unavailable" }));
    assert_eq!((alone.duration_ms, denied.duration_ms), (Some(0), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a12_only_an_answer_answers() {
    let mut host = with_question(Setup::default());
    let waiting = host.start(question());
    let (_, id) = host.asked().await;
    for decision in
        [ApprovalDecision::Once, ApprovalDecision::Session, always(RememberScope::Tool), edit(ONE)]
    {
        let error = host.queue.decide(&id, decision, ann()).unwrap_err();
        assert!(matches!(error, ApprovalError::Question { .. }), "{error}");
        assert!(error.to_string().contains("expected an answer"), "{error}");
    }
    assert_eq!(host.pending().len(), 1);
    host.decide(&id, answer("x"));
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn a12_an_answer_holds_for_its_own_question() {
    let mut host = with_question(Setup::default());
    assert_eq!(ended(&mut host, answer("first")).await.content, "first");
    assert_eq!(ended(&mut host, answer("second")).await.content, "second");
}

#[tokio::test(start_paused = true)]
async fn a12_a_question_is_asked_also_where_the_gate_is_off() {
    let policy = PolicySettings { enabled: false, ..PolicySettings::default() };
    let mut host = with_question(Setup { policy, ..Setup::default() });
    assert_eq!(ended(&mut host, answer("yes")).await.content, "yes");
}

#[tokio::test(start_paused = true)]
async fn a12_a_question_that_is_handed_back_gets_its_answer_by_the_repeat() {
    let mut host = with_question(Setup::default());
    let handing_back = || ToolInvocation { approval_mode: ApprovalMode::HandBack, ..question() };
    let pending = host.call(handing_back()).await;
    assert_eq!((pending.outcome, &pending.structured), (Outcome::ApprovalPending, &None));
    let (_, id) = host.asked().await;
    let how = format!("`belljar approvals answer {id} TEXT`");
    assert!(pending.content.contains(&how), "{}", pending.content);
    host.decide(&id, answer("later"));
    let again = host.call(handing_back()).await;
    assert_eq!(flags(&again), json!({ "status": "answered", "answers": ["later"] }));
}

#[tokio::test(start_paused = true)]
async fn a12_policy_explains_a_question_as_it_is_decided() {
    let host = with_question(Setup::default());
    for level in [PermissionLevel::ReadOnly, PermissionLevel::Full] {
        let call = ToolInvocation { permission_level: level, ..question() };
        let explained = serde_json::to_value(host.engine.explain(&call).await.unwrap()).unwrap();
        assert_eq!(
            (&explained["winner"], &explained["verdict"]),
            (&json!("question"), &json!("ask"))
        );
    }
}
