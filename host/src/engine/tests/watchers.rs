//! Watchers of events: a slow one costs no call anything, and what must not be lost isn't.

use std::time::Duration;

use tokio::time::Instant;

use super::kit::*;
use crate::contract::approval::ApprovalDecision;
use crate::contract::outcome::Outcome;
use crate::events::{EventKind, Journal, JournalOptions, Seen};

/// More events than the bus holds, at four a call.
const CALLS: usize = 500;
/// As many as that, and no more: the fake runner reads the whole log at each.
const MISSED_CALLS: usize = 260;

#[tokio::test(start_paused = true)]
async fn t43_b2_a_watcher_that_sleeps_at_every_event_adds_nothing_and_is_told_what_it_missed() {
    let mut host = Host::new();
    let mut events = host.events.take().unwrap();
    let (told, counted) = tokio::sync::oneshot::channel();
    let watcher = tokio::spawn(async move {
        let (mut seen, mut missed) = (0, 0);
        while let Some(next) = events.next().await {
            match next {
                Seen::Event(event) => {
                    seen += 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    let last = format!("c{}", CALLS - 1);
                    let of_last = event.call_id.as_ref().is_some_and(|id| id.as_str() == last);
                    if of_last && matches!(event.kind, EventKind::ToolCallInvoke(_)) {
                        break;
                    }
                }
                Seen::Missed(count) => missed += count,
            }
        }
        told.send((seen, missed)).unwrap();
    });
    let began = Instant::now();
    for number in 0..CALLS {
        let result = host.call(call(&format!("c{number}"), "fake.read", "{}")).await;
        assert_eq!(result.outcome, Outcome::Success);
    }
    assert_eq!(began.elapsed(), Duration::ZERO, "no call waited for the watcher");
    let (seen, missed) = counted.await.unwrap();
    watcher.await.unwrap();
    assert_eq!(seen + missed, 4 * CALLS as u64, "each event is seen or counted");
    assert!(missed > 0 && seen <= 1025, "{seen} seen: what is held for the watcher is bounded");
}

#[tokio::test]
async fn t43_the_log_has_every_end_and_every_answer_though_the_watcher_missed_most() {
    let folder = private_folder();
    let (journal, _) = Journal::open(folder.path(), JournalOptions::default(), || NOW).unwrap();
    let kept = (journal.clone(), folder.path().to_owned());
    let host = Setup { journal: Some(kept), ..Setup::default() }.host();
    // The watcher is there and never looks.
    let asked = host.start(asking("asked", "{}"));
    while host.pending().is_empty() {
        tokio::task::yield_now().await;
    }
    for number in 0..MISSED_CALLS {
        host.call(call(&format!("c{number}"), "fake.read", "{}")).await;
    }
    let id = host.pending()[0].id.clone();
    host.decide(&id, ApprovalDecision::Once);
    assert_eq!(asked.await.unwrap().outcome, Outcome::Success);
    journal.flush().await.unwrap();
    let log = log(folder.path());
    let count = |kind: &str| log.iter().filter(|entry| entry.kind == kind).count();
    assert_eq!((count("CallStarted"), count("CallFinished")), (MISSED_CALLS + 1, MISSED_CALLS + 1));
    assert_eq!((count("ApprovalRequested"), count("ApprovalDecided")), (1, 1));
}
