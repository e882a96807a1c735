//! Policy, pause and budgets together.

use super::*;
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;
use crate::contract::outcome::{Executed, Outcome};

const LONG: Duration = Duration::from_secs(120);

fn retries(retries: Option<u32>) -> Retries {
    Retries::new(&EngineSettings { retries, ..EngineSettings::default() })
}

fn ended(outcome: Outcome) -> ToolResult {
    ToolResult::refused("c".parse().unwrap(), outcome, "no")
}

/// How often a call is tried whose every attempt ends so.
fn attempts(retries: &Retries, tool: &ToolDescriptor, result: &ToolResult) -> (u32, Stop) {
    let mut now = Instant::now();
    let deadline = now + LONG;
    retries.call_begins();
    for attempt in 1.. {
        match retries.next(result, tool, attempt, || now, deadline) {
            Next::Again(pause) => now += pause,
            Next::Stop(stop) => return (attempt, stop),
        }
    }
    unreachable!()
}

#[test]
fn t25_a_tool_that_is_not_idempotent_runs_once_whatever_retries_says() {
    let tool = example("a.b", Effect::assumed(false));
    let (tried, stop) = attempts(&retries(Some(10)), &tool, &ended(Outcome::TimedOut));
    assert_eq!((tried, stop), (1, Stop::MayHaveRun));
}

#[test]
fn b5_a_call_is_tried_once_more_than_it_is_retried() {
    let idempotent = example("a.b", Effect::claimed(true));
    let late = ended(Outcome::HostFault);
    for (set, wanted) in [(None, 3), (Some(0), 1), (Some(1), 2), (Some(5), 6)] {
        let (tried, stop) = attempts(&retries(set), &idempotent, &late);
        assert_eq!((tried, stop), (wanted, Stop::AttemptsUsed(wanted)), "{set:?}");
    }
    let plain = example("a.b", Effect::assumed(false));
    let full = ended(Outcome::Overloaded);
    assert_eq!(full.executed, Executed::No);
    assert_eq!(attempts(&retries(None), &plain, &full).0, 1);
    assert_eq!(attempts(&retries(Some(2)), &plain, &full).0, 3);
}

#[test]
fn a_decision_is_never_retried() {
    let tool = example("a.b", Effect::proven(true));
    for outcome in [
        Outcome::Denied,
        Outcome::ApprovalDeclined,
        Outcome::Cancelled,
        Outcome::Interrupted,
        Outcome::InvalidArguments,
        Outcome::Crashed,
    ] {
        let (tried, stop) = attempts(&retries(Some(10)), &tool, &ended(outcome));
        assert_eq!((tried, stop), (1, Stop::NotRetryable), "{outcome:?}");
    }
}

#[test]
fn no_retry_begins_at_or_after_the_calls_deadline() {
    let tool = example("a.b", Effect::claimed(true));
    let (retries, now) = (retries(Some(10)), Instant::now());
    let next = |left: u64, attempts| {
        let deadline = now + Duration::from_millis(left);
        retries.next(&ended(Outcome::TimedOut), &tool, attempts, || now, deadline)
    };
    // The pause is 375 to 625 ms, and then twice as long.
    assert_eq!(next(375, 1), Next::Stop(Stop::Deadline));
    assert!(matches!(next(626, 1), Next::Again(_)));
    assert_eq!(next(750, 2), Next::Stop(Stop::Deadline));
    assert!(matches!(next(1_251, 2), Next::Again(_)));
    let past = retries.next(&ended(Outcome::TimedOut), &tool, 1, || now + LONG, now);
    assert_eq!(past, Next::Stop(Stop::Deadline));
}

#[test]
fn a_host_on_which_everything_fails_retries_one_call_in_ten() {
    let tool = example("a.b", Effect::claimed(true));
    let (retries, late) = (retries(Some(1)), ended(Outcome::TimedOut));
    let tried: Vec<_> = (0..1_020).map(|_| attempts(&retries, &tool, &late)).collect();
    let more = tried.iter().filter(|(times, _)| *times == 2).count();
    assert!((110..=125).contains(&more), "{more}");
    assert!(tried.contains(&(1, Stop::HostBudget)));
}

#[tokio::test(start_paused = true)]
async fn a_pause_ends_at_once_when_the_call_is_cancelled() {
    let (cancel, begun) = (CancellationToken::new(), Instant::now());
    assert!(pause(Duration::from_millis(500), &cancel).await);
    assert_eq!(begun.elapsed(), Duration::from_millis(500));
    let soon = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        cancel.cancel();
    };
    let (waited, ()) = tokio::join!(pause(LONG, &cancel), soon);
    assert!(!waited);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(!pause(Duration::ZERO, &cancel).await);
}
