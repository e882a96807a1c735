//! Calls with an idempotency key: what is kept under it, and what a repeat is answered with.

use std::sync::Arc;
use std::time::Duration;

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, ApprovalState};
use crate::contract::attempt::ReturnCase;
use crate::contract::decision::ApprovedBy;
use crate::contract::ids::Digest;
use crate::contract::limits::LimitKind;
use crate::contract::outcome::{Executed, Outcome};

#[tokio::test]
async fn t26_a_finished_key_returns_its_result_without_a_second_run() {
    let mut host = Host::new();
    let first = host.call(keyed(call("c1", "fake.pay", r#"{"n":1}"#), "k")).await;
    assert_eq!(host.runner.handed()[0].key.as_deref(), Some("k"), "the guest is given it");
    let second = host.call(keyed(call("c2", "fake_pay", r#" {"n":1.0} "#), "k")).await;
    assert_eq!((second.outcome, &second.content), (Outcome::Success, &first.content));
    assert_eq!((second.call_id.as_str(), second.attempts), ("c2", 0));
    let mark = second.approval.unwrap();
    assert_eq!(mark.by, ApprovedBy::None);
    assert!(mark.reason.contains("`c1`"), "{}", mark.reason);
    assert_eq!(host.runner.runs(), 1);
    assert_eq!(host.told_of("ToolCallInvoke").len(), 2);
}

#[tokio::test]
async fn t26_an_error_is_kept_too() {
    let host = Host::new();
    host.runner.behave(|_| Act(0, returned(ReturnCase::Err, "no money")));
    for id in ["c1", "c2"] {
        let result = host.call(keyed(call(id, "fake.pay", "{}"), "k")).await;
        assert_eq!((result.outcome, result.executed), (Outcome::ToolError, Executed::Yes));
        assert_eq!(result.error_message.as_deref(), Some("no money"));
    }
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn t26_a_finished_key_asks_for_no_second_approval() {
    let mut host = Host::new();
    let waiting = host.start(keyed(asking("c1", "{}"), "k"));
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::Once);
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
    let again = host.call(keyed(asking("c2", "{}"), "k")).await;
    assert_eq!((again.outcome, again.duration_ms), (Outcome::Success, Some(0)));
    assert!(host.told_of("ToolApprovalRequest").is_empty());
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn t26_a_key_in_flight_is_refused() {
    let mut host = Host::new();
    host.runner.behave(|_| fine_after(20_000));
    let first = host.start(keyed(call("c1", "fake.pay", "{}"), "k"));
    host.attempt_started().await;
    let second = host.call(keyed(call("c2", "fake.pay", "{}"), "k")).await;
    assert_eq!((second.outcome, second.executed), (Outcome::Unavailable, Executed::No));
    assert!(second.content.contains("`c1`"), "{}", second.content);
    assert_eq!(first.await.unwrap().outcome, Outcome::Success);
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn t26_two_calls_of_one_key_that_wait_for_a_person_run_once() {
    let mut host = Host::new();
    let first = host.start(keyed(asking("c1", "{}"), "k"));
    let (_, one) = host.asked().await;
    let second = host.start(keyed(asking("c2", "{}"), "k"));
    let (_, two) = host.asked().await;
    host.decide(&two, ApprovalDecision::Once);
    assert_eq!(second.await.unwrap().outcome, Outcome::Success);
    host.decide(&one, ApprovalDecision::Once);
    let told = first.await.unwrap();
    assert_eq!((told.outcome, told.call_id.as_str()), (Outcome::Success, "c1"));
    assert!(told.approval.unwrap().reason.contains("`c2`"));
    assert_eq!(host.runner.runs(), 1);
    let left = host.queue.show(&one).unwrap().state;
    assert_eq!(left, ApprovalState::Decided, "its answer wasn't needed");
}

#[tokio::test]
async fn t26_a_key_with_other_arguments_is_refused() {
    let host = Host::new();
    host.call(keyed(call("c1", "fake.pay", r#"{"n":1}"#), "k")).await;
    let other = host.call(keyed(call("c2", "fake.pay", r#"{"n":2}"#), "k")).await;
    assert_eq!((other.outcome, other.executed), (Outcome::InvalidArguments, Executed::No));
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test]
async fn a_key_is_of_one_caller_one_tool_and_one_build() {
    let host = Host::new();
    host.call(keyed(call("c1", "fake.pay", "{}"), "k")).await;
    let mut other = keyed(call("c2", "fake.pay", "{}"), "k");
    other.caller = Some("somebody".to_owned());
    host.call(other).await;
    host.call(keyed(call("c3", "fake.write", "{}"), "k")).await;
    host.tools.change("fake.pay", |tool| tool.plugin.digest = Digest::of(b"other"));
    host.call(keyed(call("c4", "fake.pay", "{}"), "k")).await;
    host.call(call("c5", "fake.pay", "{}")).await;
    assert_eq!(host.runner.runs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_let_through_gives_its_key_back() {
    let mut host = Host::new();
    let pending = host.call(keyed(handing_back("c1", "{}"), "k")).await;
    assert_eq!(pending.outcome, Outcome::ApprovalPending);
    let (_, id) = host.asked().await;
    host.decide(&id, deny("no"));
    let declined = host.call(keyed(handing_back("c2", "{}"), "k")).await;
    assert_eq!(declined.outcome, Outcome::ApprovalDeclined);
    // Other arguments show that nothing is kept of the key.
    let allowed = host.call(keyed(call("c3", "fake.write", r#"{"n":1}"#), "k")).await;
    assert_eq!((allowed.outcome, host.runner.runs()), (Outcome::Success, 1));
}

#[tokio::test]
async fn a_call_that_certainly_did_not_run_gives_its_key_back() {
    let host = Host::new();
    host.runner.behave(|_| overloaded());
    let full = host.call(keyed(call("c1", "fake.pay", "{}"), "k")).await;
    assert_eq!((full.outcome, full.executed), (Outcome::Overloaded, Executed::No));
    host.runner.behave(|_| fine());
    let again = host.call(keyed(call("c2", "fake.pay", "{}"), "k")).await;
    assert_eq!((again.outcome, host.runner.runs()), (Outcome::Success, 2));
}

#[tokio::test(start_paused = true)]
async fn t26_a_dropped_call_leaves_its_key_interrupted() {
    let host = Host::new();
    host.runner.behave(|_| fine_after(20_000));
    let call_of = |id| keyed(call(id, "fake.pay", "{}"), "k");
    let dropped = tokio::time::timeout(Duration::from_secs(1), host.call(call_of("c1"))).await;
    assert!(dropped.is_err());
    let again = host.call(call_of("c2")).await;
    assert_eq!((again.outcome, again.executed), (Outcome::Interrupted, Executed::Maybe));
    assert_eq!((again.call_id.as_str(), host.runner.runs()), ("c2", 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_a_person_is_awaited_gives_its_key_back() {
    let mut host = Host::new();
    let waiting = host.start(keyed(asking("c1", "{}"), "k"));
    host.asked().await;
    waiting.abort();
    assert!(waiting.await.is_err());
    let again = host.call(keyed(call("c2", "fake.write", r#"{"n":1}"#), "k")).await;
    assert_eq!((again.outcome, host.runner.runs()), (Outcome::Success, 1));
}

#[tokio::test]
async fn a_call_that_panicked_as_it_ran_is_not_run_again() {
    let host = Host::new();
    host.runner.behave(|_| panic!("a runner that panics"));
    for id in ["c1", "c2"] {
        let result = host.call(keyed(call(id, "fake.pay", "{}"), "k")).await;
        assert_eq!((result.outcome, result.executed), (Outcome::HostFault, Executed::Maybe));
    }
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test]
async fn a_result_that_was_too_large_to_keep_is_not_made_again() {
    let host = Host::new();
    host.tools.change("fake.pay", |tool| {
        tool.limits.set(LimitKind::OutputShown, 4 << 20).unwrap();
    });
    let long: Arc<str> = "x".repeat(2 << 20).into();
    host.runner.behave(move |_| Act(0, returned(ReturnCase::Plain, &long)));
    let first = host.call(keyed(call("c1", "fake.pay", "{}"), "k")).await;
    assert_eq!((first.outcome, first.content.len()), (Outcome::Success, 2 << 20));
    let second = host.call(keyed(call("c2", "fake.pay", "{}"), "k")).await;
    assert_eq!((second.outcome, second.executed), (Outcome::Unavailable, Executed::No));
    assert!(second.content.contains("ended as success"), "{}", second.content);
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_key_twice_in_a_batch_runs_once() {
    let host = Host::new();
    let calls =
        vec![keyed(call("c1", "fake.pay", "{}"), "k"), keyed(call("c2", "fake.pay", "{}"), "k")];
    let results = host.batch(calls).await;
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!((outcomes, host.runner.runs()), (vec![Outcome::Success; 2], 1));
}
