//! What of requests and answers is in the audit log, and what happens where it can't be.

use std::path::Path;

use super::*;
use crate::events::{Filter, Journal, JournalOptions, read};

fn journal(folder: &Path) -> Journal {
    Journal::open(&folder.join("audit"), JournalOptions::default(), || NOW).unwrap().0
}

/// The entries of these kinds, each with these fields in one line.
async fn told(journal: &Journal, folder: &Path, wanted: &[(&str, &[&str])]) -> Vec<String> {
    journal.flush().await.unwrap();
    let entries = read(&folder.join("audit"), Filter::default()).unwrap().map(Result::unwrap);
    let line = |entry: crate::events::Entry| {
        let (kind, fields) = wanted.iter().find(|(kind, _)| *kind == entry.kind)?;
        let text = |field: &&str| {
            let value = entry.fields.get(*field)?;
            value.get("name").unwrap_or(value).as_str().map(str::to_owned)
        };
        let fields: Vec<_> = fields.iter().map(|field| text(field).unwrap()).collect();
        Some(format!("{kind}: {}", fields.join(", ")))
    };
    entries.filter_map(line).collect()
}

#[tokio::test]
async fn a_request_that_cannot_be_recorded_is_answerable_by_nobody_in_any_mode() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::new();
    let journal = journal(folder.path());
    desk.queue.record_in(journal.clone());
    journal.close().await.unwrap();
    for mode in [ApprovalMode::Wait, ApprovalMode::HandBack] {
        let request = desk.request(&Call::new("{}"));
        let id = request.id.clone();
        let answer = desk.queue.ask(request, mode, &CancellationToken::new()).await;
        assert_eq!(answer, Answer::Unavailable("the audit log can't be written".into()));
        assert_eq!(desk.state(&id), ApprovalState::Withdrawn, "{mode:?}");
    }
}

#[tokio::test]
async fn an_answer_whose_record_may_be_lost_in_a_power_cut_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::new();
    let journal = journal(folder.path());
    desk.queue.record_in(journal.clone());
    let request = desk.request(&Call::new("{}"));
    desk.queue.0.store.insert(&request, NOW).unwrap();
    // The lane is still written to, and its name can't be made durable any more.
    std::fs::rename(folder.path().join("audit"), folder.path().join("away")).unwrap();
    let error = desk.decide(&request.id, ApprovalDecision::Once).unwrap_err();
    assert!(matches!(error, ApprovalError::Unrecorded(_)), "{error}");
    assert_eq!(desk.state(&request.id), ApprovalState::Pending);
    std::fs::rename(folder.path().join("away"), folder.path().join("audit")).unwrap();
    desk.decide(&request.id, ApprovalDecision::Once).unwrap();
}

#[tokio::test]
async fn requests_that_end_unanswered_and_answers_that_are_forgotten_are_recorded() {
    let (folder, store) = (tempfile::tempdir().unwrap(), SqliteStore::in_memory().unwrap());
    let store = Arc::new(store);
    let mut desk = Desk::over(store.clone(), || NOW, None);
    let journal = journal(folder.path());
    desk.queue.record_in(journal.clone());
    let (dropped, waiting) = desk.asked(&Call::new("{}"), ApprovalMode::Wait).await;
    waiting.abort();
    drop(waiting.await);
    let keep = |call: &Call| {
        let request = desk.request(call);
        store.insert(&request, NOW).unwrap();
        request.id
    };
    let remembered = keep(&Call::new("{}"));
    desk.decide(&remembered, ApprovalDecision::Session).unwrap();
    let left = keep(&Call::new("{}"));
    let mut stranger = Call::new("{}");
    stranger.call.session_id = Some("s2".into());
    let late = keep(&stranger);
    let events = desk.events;
    assert_eq!(desk.queue.end_session("s1", &approver()).unwrap(), 2);
    let later = Desk::over(store, || NOW + TTL_MS, None);
    later.queue.record_in(journal.clone());
    assert_eq!(pending(&later.queue), []);

    let ended: (&str, &[&str]) = ("ApprovalEnded", &["request", "state", "reason"]);
    let revoked: (&str, &[&str]) = ("Revoked", &["approval", "approver"]);
    assert_eq!(
        told(&journal, folder.path(), &[ended, revoked]).await,
        [
            format!("ApprovalEnded: {dropped}, withdrawn, the call ended before it was answered"),
            format!("ApprovalEnded: {remembered}, withdrawn, its session ended"),
            format!("ApprovalEnded: {left}, withdrawn, its session ended"),
            format!("Revoked: {remembered}, ann"),
            format!(
                "ApprovalEnded: {late}, expired, nobody answered in time, or no call took the answer"
            ),
        ]
    );
    let mut events = events;
    let seen = std::iter::from_fn(|| events.try_next());
    let revoked = |seen: &Seen| {
        matches!(seen, Seen::Event(event)
        if matches!(event.kind, EventKind::ApprovalRevoked { .. }))
    };
    assert_eq!(seen.filter(revoked).count(), 1);
}
