//! Calls that are called off, or left alone, at every point of their way.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, ApprovalState};
use crate::contract::outcome::{Executed, Outcome};
use crate::engine::EngineSettings;

#[tokio::test]
async fn t8_a_call_that_was_cancelled_before_it_began_does_not_run() {
    let host = Host::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = host.engine.call(call("c1", "fake.read", "{}"), cancel).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn t9_a_call_that_is_cancelled_while_it_runs_is_interrupted() {
    let mut host = Host::new();
    host.runner.behave(|_| fine_after(20_000));
    let cancel = CancellationToken::new();
    let running = host.start_with(call("c1", "fake.write", "{}"), cancel.clone());
    host.attempt_started().await;
    cancel.cancel();
    let result = running.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::Interrupted, Executed::Maybe));
    assert_eq!(result.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn t9_a_call_that_is_cancelled_while_a_person_is_awaited_was_not_declined() {
    for call in [asking("c1", "{}"), handing_back("c1", "{}")] {
        let mut host = Host::new();
        let cancel = CancellationToken::new();
        let waiting = host.start_with(call, cancel.clone());
        let (_, id) = host.asked().await;
        cancel.cancel();
        let result = waiting.await.unwrap();
        assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
        assert!(!result.content.contains("declined"), "{}", result.content);
        assert_eq!(host.queue.show(&id).unwrap().state, ApprovalState::Withdrawn);
        let late = host.queue.decide(&id, ApprovalDecision::Once, ann()).unwrap_err();
        assert!(late.to_string().contains("was withdrawn"), "{late}");
        assert_eq!(host.runner.runs(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn t9_of_two_batches_with_an_identical_call_one_that_is_cancelled_leaves_the_others_request()
{
    let mut host = Host::new();
    let cancel = CancellationToken::new();
    let (engine, token) = (host.engine.clone(), cancel.clone());
    let batch = tokio::spawn(async move {
        let calls = vec![handing_back("a", "{}"), handing_back("b", "{}")];
        engine.batch(calls, token, |_, _| {}).await
    });
    let (_, id) = host.asked().await;
    let other = host.start(handing_back("c", "{}"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    cancel.cancel();
    for result in batch.await.unwrap() {
        assert_eq!(result.outcome, Outcome::Cancelled, "{result:?}");
    }
    assert_eq!(host.queue.show(&id).unwrap().state, ApprovalState::Pending);
    host.decide(&id, ApprovalDecision::Once);
    assert_eq!(other.await.unwrap().outcome, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn t9_a_call_that_is_cancelled_as_it_is_let_through_does_not_start() {
    let mut host = Host::new();
    let cancel = CancellationToken::new();
    let waiting = host.start_with(asking("c1", "{}"), cancel.clone());
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::Once);
    // What wakes the call is there already; the answer is still to be taken.
    host.until(|_, kind| {
        matches!(kind, crate::events::EventKind::ApprovalDecided { .. }).then_some(())
    })
    .await;
    cancel.cancel();
    let result = waiting.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
    assert_eq!(host.runner.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_waits_for_a_lock_never_ran() {
    let mut host = Host::new();
    host.tools.change("fake.write", |tool| tool.parallel.locks = vec!["path".to_owned()]);
    host.runner.behave(|_| fine_after(20_000));
    let first = host.start(call("c1", "fake.write", r#"{"path":"a"}"#));
    host.attempt_started().await;
    let cancel = CancellationToken::new();
    let second = host.start_with(call("c2", "fake.write", r#"{"path":"a"}"#), cancel.clone());
    tokio::task::yield_now().await;
    tokio::time::advance(Duration::from_millis(10)).await;
    cancel.cancel();
    let result = second.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
    assert_eq!(first.await.unwrap().outcome, Outcome::Success);
    assert_eq!(host.runner.runs_of("c2"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_lock_no_longer_than_its_own_deadline() {
    let mut host = Host::new();
    host.tools.change("fake.write", |tool| tool.parallel.locks = vec!["path".to_owned()]);
    host.runner.behave(|_| fine_after(20_000));
    let first = host.start(call("c1", "fake.write", r#"{"path":"a"}"#));
    let mut hasty = call("c2", "fake.write", r#"{"path":"a"}"#);
    hasty.timeout = Some(Duration::from_secs(2));
    let other = host.start(call("c3", "fake.write", r#"{"path":"b"}"#));
    host.attempt_started().await;
    host.attempt_started().await;
    let result = host.call(hasty).await;
    assert_eq!((result.outcome, result.executed), (Outcome::TimedOut, Executed::No));
    assert_eq!(result.duration_ms, Some(2_000));
    assert_eq!(other.await.unwrap().duration_ms, Some(20_000), "another value is another lock");
    assert_eq!(first.await.unwrap().outcome, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_between_two_attempts_makes_no_other() {
    let mut host = Host::new();
    host.runner.behave(|_| overloaded());
    let cancel = CancellationToken::new();
    let running = host.start_with(call("c1", "fake.read", "{}"), cancel.clone());
    host.until(|_, kind| {
        matches!(kind, crate::events::EventKind::AttemptRetried { .. }).then_some(())
    })
    .await;
    cancel.cancel();
    let result = running.await.unwrap();
    assert_eq!((result.outcome, result.attempts), (Outcome::Overloaded, 1));
    assert_eq!(host.runner.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn t8_a_batch_that_is_cancelled_at_any_moment_gives_each_call_its_result() {
    let settings = EngineSettings { concurrency: 2, ..EngineSettings::default() };
    for at_ms in [0, 1, 5, 10, 11, 15, 20, 25, 30, 40] {
        let host = Setup { settings: settings.clone(), ..Setup::default() }.host();
        host.runner.behave(|_| fine_after(10));
        let ids = ["a", "b", "c", "d", "e"];
        let mut calls: Vec<_> = ids.map(|id| call(id, "fake.read", "{}")).into();
        calls[3] = asking("d", "{}");
        let cancel = CancellationToken::new();
        let soon = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(at_ms)).await;
            soon.cancel();
        });
        let results = host.engine.batch(calls, cancel, |_, _| {}).await;
        let got: Vec<_> = results.iter().map(|result| result.call_id.as_str()).collect();
        assert_eq!(got, ids, "{at_ms}");
        for result in &results {
            let ran = host.runner.runs_of(result.call_id.as_str());
            let expected = match result.outcome {
                Outcome::Success => (Executed::Yes, 1),
                Outcome::Interrupted => (Executed::Maybe, 1),
                Outcome::Cancelled => (Executed::No, 0),
                other => panic!("{at_ms}: {other:?}"),
            };
            assert_eq!((result.executed, ran), expected, "{at_ms} {result:?}");
        }
        let alive = host.runner.alive.load(std::sync::atomic::Ordering::SeqCst);
        assert_eq!((alive, host.pending().len()), (0, 0), "t11: {at_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_reported_as_interrupted() {
    let mut host = Host::new();
    host.runner.behave(|_| fine_after(20_000));
    let call = host.call(call("c1", "fake.read", "{}"));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let told = host.told_of("ToolCallInvoke");
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["outcome"], &told[0]["executed"]),
        (&"interrupted".into(), &"maybe".into())
    );
    assert_eq!((&told[0]["attempts"], &told[0]["durationMs"]), (&1.into(), &1_000.into()));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_a_person_is_awaited_never_ran_and_asks_no_more() {
    let mut host = Host::new();
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    let told = host.told_of("ToolCallInvoke");
    assert_eq!((&told[0]["outcome"], &told[0]["executed"]), (&"cancelled".into(), &"no".into()));
    assert_eq!(host.queue.show(&id).unwrap().state, ApprovalState::Withdrawn);
}
