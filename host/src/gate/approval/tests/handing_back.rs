//! Answers that come after the call has gone: to its repeat, from another process, after a crash.

use super::*;
use crate::contract::approval::Decided;

#[tokio::test(start_paused = true)]
async fn handed_back_after_twenty_seconds_and_the_repeat_is_admitted_once() {
    let mut desk = Desk::new();
    let call = Call::new("{}");
    let started = tokio::time::Instant::now();
    let (id, waiting) = desk.asked(&call, ApprovalMode::HandBack).await;
    let still = Answer::Pending { id: id.clone(), expires_unix_ms: NOW + TTL_MS };
    assert_eq!(waiting.await.unwrap(), still);
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(20) && waited < Duration::from_secs(22), "{waited:?}");

    assert_eq!(ask(&desk, &call, ApprovalMode::HandBack).await, still, "the same request");
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ToolApprovalRequest { .. })), 0);
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    let started = tokio::time::Instant::now();
    assert!(is_admitted(&ask(&desk, &call, ApprovalMode::HandBack).await, &id));
    assert_eq!(tokio::time::Instant::now(), started, "at once");
    desk.queue.take(&id, call.binding()).await.unwrap();
    let again = ask(&desk, &call, ApprovalMode::HandBack).await;
    assert!(matches!(again, Answer::Pending { id: new, .. } if new != id), "one call, not two");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_handed_to_the_repeat_once_and_then_asked_again() {
    let mut desk = Desk::new();
    let call = Call::new("{}");
    let (id, waiting) = desk.asked(&call, ApprovalMode::HandBack).await;
    assert!(matches!(waiting.await.unwrap(), Answer::Pending { .. }));
    assert_eq!(desk.state(&id), ApprovalState::Pending, "left for the repeat");
    desk.decide(&id, deny()).unwrap();
    assert_eq!(declined_reason(&ask(&desk, &call, ApprovalMode::HandBack).await), "not today");
    let again = ask(&desk, &call, ApprovalMode::HandBack).await;
    assert!(matches!(again, Answer::Pending { .. }), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn of_two_identical_calls_one_answer_admits_one() {
    let mut desk = Desk::new();
    let call = Call::new("{}");
    let (id, one) = desk.asked(&call, ApprovalMode::HandBack).await;
    let (_, two) = desk.ask(&call, ApprovalMode::HandBack);
    tokio::time::sleep(Duration::from_secs(1)).await;
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&one.await.unwrap(), &id) && is_admitted(&two.await.unwrap(), &id));
    let (first, second) =
        tokio::join!(desk.queue.take(&id, call.binding()), desk.queue.take(&id, call.binding()));
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|ok| **ok).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_another_process_wakes_the_call_and_is_told_here() {
    let (_folder, path) = place();
    let mut desk = Desk::over(file(&path), || NOW, None);
    let (id, waiting) = desk.asked(&Call::new("{}"), ApprovalMode::Wait).await;
    let other = Desk::over(file(&path), || NOW, None);
    assert_eq!(pending(&other.queue), std::slice::from_ref(&id));
    let started = tokio::time::Instant::now();
    other.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&waiting.await.unwrap(), &id));
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ApprovalDecided { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn t38_a_request_outlives_its_process_and_its_answer_admits_the_repeat_once() {
    let (_folder, path) = place();
    let call = Call::new("{}");
    let mut desk = Desk::over(file(&path), || NOW, None);
    let (id, waiting) = desk.asked(&call, ApprovalMode::HandBack).await;
    assert!(matches!(waiting.await.unwrap(), Answer::Pending { .. }));
    drop(desk);
    let desk = Desk::over(file(&path), || NOW + 1_000, None);
    assert_eq!(pending(&desk.queue), std::slice::from_ref(&id));
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&ask(&desk, &call, ApprovalMode::HandBack).await, &id));
    desk.queue.take(&id, call.binding()).await.unwrap();
    drop(desk);
    let desk = Desk::over(file(&path), || NOW + 2_000, None);
    let error = desk.queue.take(&id, call.binding()).await.unwrap_err();
    assert_eq!(error, StorageError::Used(id));
}

#[tokio::test(start_paused = true)]
async fn what_a_crash_left_behind_ends_as_expired() {
    let (_folder, path) = place();
    let store = file(&path);
    let request = Desk::over(store.clone(), || NOW, None).request(&Call::new("{}"));
    store.insert(&request, NOW).unwrap();
    let mut desk = Desk::over(store, || NOW + TTL_MS, None);
    assert_eq!(pending(&desk.queue), []);
    assert_eq!(desk.state(&request.id), ApprovalState::Expired);
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ApprovalEnded { .. })), 1);
}

#[tokio::test(start_paused = true)]
async fn t36_what_changed_between_answer_and_run_is_refused() {
    let mut desk = Desk::new();
    let call = Call::new(r#"{"path":"a"}"#);
    let (id, waiting) = desk.asked(&call, ApprovalMode::Wait).await;
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&waiting.await.unwrap(), &id));
    let changes: [fn(&mut Call); 4] = [
        |call| call.arguments = serde_json::from_str(r#"{"path":"b"}"#).unwrap(),
        |call| call.grants = grants("/srv/site", DirMode::ReadWrite),
        |call| call.descriptor.plugin.digest = Digest::of(b"another build"),
        |call| call.policy = Digest::of(b"another policy"),
    ];
    for change in changes {
        let mut changed = call.clone();
        change(&mut changed);
        let error = desk.queue.take(&id, changed.binding()).await.unwrap_err();
        assert_eq!(error, StorageError::OtherBinding(id.clone()));
    }
    let entry = desk.queue.take(&id, call.binding()).await.unwrap();
    assert!(matches!(entry.decided, Some(Decided { decision: ApprovalDecision::Once, .. })));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_told_once_however_often_the_call_is_repeated() {
    let (_folder, path) = place();
    let mut desk = Desk::over(file(&path), || NOW, None);
    let other = Desk::over(file(&path), || NOW, None);
    let decided = |kind: &EventKind| matches!(kind, EventKind::ApprovalDecided { .. });
    for (number, by_another_process) in [(0, false), (1, true)] {
        let call = Call::new(&format!(r#"{{"n":{number}}}"#));
        let (id, waiting) = desk.asked(&call, ApprovalMode::HandBack).await;
        assert!(matches!(waiting.await.unwrap(), Answer::Pending { .. }));
        let answering = if by_another_process { &other } else { &desk };
        answering.decide(&id, ApprovalDecision::Once).unwrap();
        for _ in 0..2 {
            assert!(is_admitted(&ask(&desk, &call, ApprovalMode::HandBack).await, &id));
        }
        assert_eq!(desk.count(decided), 1, "by another process: {by_another_process}");
    }
}
