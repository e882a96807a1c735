//! What becomes of a request when a call goes that waits for it: it goes along with the last call
//! that could have taken the answer, and with no other.

use super::*;

const GONE: &str = "the call ended before it was answered";

/// Asks for a call that can be cancelled, and waits until the store has its request.
async fn cancellable(
    desk: &Desk,
    call: &Call,
    mode: ApprovalMode,
) -> (CancellationToken, JoinHandle<Answer>) {
    let (cancel, request) = (CancellationToken::new(), desk.request(call));
    let (queue, token, before) = (desk.queue.clone(), cancel.clone(), desk.queue.0.waiting.calls());
    let waiting = tokio::spawn(async move { queue.ask(request, mode, &token).await });
    while desk.queue.0.waiting.calls() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (cancel, waiting)
}

async fn cancelled((cancel, waiting): (CancellationToken, JoinHandle<Answer>)) {
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), Answer::Cancelled);
}

fn only(desk: &Desk) -> ApprovalId {
    let all = pending(&desk.queue);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_it_is_handed_back_leaves_nothing_to_answer() {
    let mut desk = Desk::new();
    let call = Call::new("{}");
    let waiting = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    cancelled(waiting).await;
    let late = desk.decide(&id, ApprovalDecision::Once).unwrap_err();
    let gone = StorageError::Withdrawn { id: id.clone(), reason: GONE.into() };
    assert!(matches!(&late, ApprovalError::Storage(error) if *error == gone), "{late}");
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ApprovalEnded { .. })), 1);

    let (dropped, waiting) = desk.asked(&call, ApprovalMode::HandBack).await;
    assert_ne!(dropped, id, "asked anew");
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(desk.state(&dropped), ApprovalState::Withdrawn);
    assert_eq!((desk.queue.0.held.len(), desk.queue.0.waiting.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_a_call_was_handed_is_taken_back_and_stays_for_those_that_wait() {
    let desk = Desk::new();
    let call = Call::new("{}");
    let waits = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    let request = desk.request(&call);
    let cancel = CancellationToken::new();
    let handed = desk.queue.ask(request, ApprovalMode::HandBackAtOnce, &cancel).await;
    assert!(matches!(handed, Answer::Pending { .. }), "{handed:?}");
    assert!(!desk.queue.withdraw(&id, "called off").unwrap());
    assert_eq!(desk.state(&id), ApprovalState::Pending);
    // Nobody comes back for it any more, so it goes with the last that waits.
    cancelled(waits).await;
    assert_eq!(desk.state(&id), ApprovalState::Withdrawn);
    assert!(!desk.queue.withdraw(&id, "called off").unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_leaves_the_request_to_an_identical_one_that_waits() {
    for first_goes in [true, false] {
        let desk = Desk::new();
        let call = Call::new("{}");
        let one = cancellable(&desk, &call, ApprovalMode::HandBack).await;
        let two = cancellable(&desk, &call, ApprovalMode::HandBack).await;
        let id = only(&desk);
        let (goes, stays) = if first_goes { (one, two) } else { (two, one) };
        cancelled(goes).await;
        assert_eq!(desk.state(&id), ApprovalState::Pending);
        let three = cancellable(&desk, &call, ApprovalMode::HandBack).await;
        assert_eq!(only(&desk), id);
        cancelled(three).await;
        desk.decide(&id, ApprovalDecision::Once).unwrap();
        assert!(is_admitted(&stays.1.await.unwrap(), &id));
        desk.queue.take(&id, call.binding()).await.unwrap();
        assert_eq!(desk.queue.0.held.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_of_identical_calls_that_is_cancelled_takes_the_request_along() {
    let desk = Desk::new();
    let call = Call::new("{}");
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(cancellable(&desk, &call, ApprovalMode::HandBack).await);
    }
    let id = only(&desk);
    // As a batch is: all at once.
    for (cancel, _) in &all {
        cancel.cancel();
    }
    for (_, waiting) in all {
        assert_eq!(waiting.await.unwrap(), Answer::Cancelled);
    }
    assert_eq!(desk.state(&id), ApprovalState::Withdrawn);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_handed_back_stays_whoever_goes_later() {
    let desk = Desk::new();
    let call = Call::new("{}");
    // The second comes later, and still waits when the first is handed the request.
    let (_, first) = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let second = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    assert!(matches!(first.await.unwrap(), Answer::Pending { .. }));
    cancelled(second).await;
    assert_eq!(desk.state(&id), ApprovalState::Pending);
    // This one finds it when nobody waits any more.
    cancelled(cancellable(&desk, &call, ApprovalMode::HandBack).await).await;
    assert_eq!(desk.state(&id), ApprovalState::Pending);
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&ask(&desk, &call, ApprovalMode::HandBack).await, &id));
}

#[tokio::test(start_paused = true)]
async fn a_call_of_another_process_that_found_the_request_keeps_it_open() {
    let (_folder, path) = place();
    let (desk, other) =
        (Desk::over(file(&path), || NOW, None), Desk::over(file(&path), || NOW, None));
    let call = Call::new("{}");
    let made = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let found = cancellable(&other, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    cancelled(made).await;
    assert_eq!(desk.state(&id), ApprovalState::Pending, "the other still waits");
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&found.1.await.unwrap(), &id));

    let call = Call::new(r#"{"n":2}"#);
    let made = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    cancelled(cancellable(&other, &call, ApprovalMode::HandBack).await).await;
    assert_eq!(desk.state(&id), ApprovalState::Pending, "not the other's to end");
    cancelled(made).await;
    // Whether the other has a second call is not known here.
    assert_eq!(desk.state(&id), ApprovalState::Pending);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_one_call_was_given_is_not_withdrawn_with_an_identical_one() {
    let desk = Desk::new();
    let call = Call::new("{}");
    let (_, one) = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let two = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    two.0.cancel();
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    assert!(is_admitted(&one.await.unwrap(), &id));
    two.1.await.unwrap();
    desk.queue.take(&id, call.binding()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_call_that_is_cancelled_at_once_admits_no_later_call() {
    let desk = Desk::new();
    let call = Call::new("{}");
    let (cancel, waiting) = cancellable(&desk, &call, ApprovalMode::HandBack).await;
    let id = only(&desk);
    // The call sees both at its next turn.
    desk.decide(&id, ApprovalDecision::Once).unwrap();
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), Answer::Cancelled);
    assert_eq!(desk.state(&id), ApprovalState::Withdrawn);
    let again = ask(&desk, &call, ApprovalMode::HandBack).await;
    assert!(matches!(&again, Answer::Pending { id: new, .. } if *new != id), "{again:?}");
}

#[tokio::test]
async fn a_call_that_goes_while_its_request_is_recorded_leaves_that_to_an_identical_one() {
    let desk = Desk::new();
    let id = desk.request(&Call::new("{}")).id;
    let first = super::super::hold::Hold::first(&desk.queue, &id);
    let second = super::super::hold::Hold::beside(&desk.queue, &id).unwrap();
    let (mut recorded, mut shown) = (0, 0);
    {
        let never = std::pin::pin!(first.tell(std::future::pending::<Result<(), ()>>(), || {}));
        let waits = second.tell(std::future::ready(Ok::<(), ()>(())), || {});
        let waits = std::pin::pin!(waits);
        let polled = futures_util::future::select(never, waits);
        assert!(tokio::time::timeout(Duration::from_millis(1), polled).await.is_err());
    }
    for _ in 0..2 {
        let record = async {
            recorded += 1;
            Ok::<(), ()>(())
        };
        second.tell(record, || shown += 1).await.unwrap();
    }
    assert_eq!((recorded, shown), (1, 1));
}
