//! How calls wait: never for ever, never past their answer, and let through by nothing but one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use super::*;

/// An approver in this process: answers after a while, or never.
#[derive(Debug)]
pub(super) struct Hook {
    after: Duration,
    answer: Option<(ApprovalDecision, Approver)>,
    ended: Mutex<Vec<ApprovalState>>,
}

impl Hook {
    pub(super) fn new(after_s: u64, answer: Option<ApprovalDecision>) -> Arc<Self> {
        let answer = answer.map(|decision| (decision, approver()));
        Arc::new(Self { after: Duration::from_secs(after_s), answer, ended: Mutex::default() })
    }
}

#[async_trait]
impl ApprovalHook for Hook {
    async fn decide(&self, _request: &ApprovalRequest) -> Option<(ApprovalDecision, Approver)> {
        tokio::time::sleep(self.after).await;
        self.answer.clone()
    }

    fn ended(&self, entry: &ApprovalEntry) {
        self.ended.lock().unwrap().push(entry.state);
    }
}

#[tokio::test(start_paused = true)]
async fn t29_with_nobody_there_a_call_is_declined_at_once_with_the_reason() {
    let (_folder, path) = place();
    let call = Call::new("{}");
    // Nobody watches the bus, and the store is this process's own.
    let alone = Desk::new();
    let Desk { queue, bus, events } = alone;
    drop((bus, events));
    let started = tokio::time::Instant::now();
    for mode in [ApprovalMode::Wait, ApprovalMode::HandBack] {
        let request = queue.request(&call.asking(), &reason(), &RememberedSet::default()).unwrap();
        let answer = queue.ask(request, mode, &CancellationToken::new()).await;
        assert!(declined_reason(&answer).contains("there is no approver"), "{answer:?}");
    }
    // Where nobody can be asked, it doesn't matter who could answer.
    let desk = Desk::over(file(&path), || NOW, Some(Hook::new(0, Some(ApprovalDecision::Once))));
    let answer = ask(&desk, &call, ApprovalMode::Deny).await;
    assert!(declined_reason(&answer).contains("nobody can be asked here"), "{answer:?}");
    assert!(!path.exists(), "and nothing is kept");
    assert_eq!(tokio::time::Instant::now(), started);
}

#[tokio::test(start_paused = true)]
async fn t29_an_approver_without_an_answer_declines_where_nobody_else_can_answer() {
    let desk =
        Desk::over(Arc::new(SqliteStore::in_memory().unwrap()), || NOW, Some(Hook::new(1, None)));
    let Desk { queue, bus, events } = desk;
    drop((bus, events));
    let request =
        queue.request(&Call::new("{}").asking(), &reason(), &RememberedSet::default()).unwrap();
    let id = request.id.clone();
    let answer = queue.ask(request, ApprovalMode::Wait, &CancellationToken::new()).await;
    assert!(declined_reason(&answer).contains("gave no answer"), "{answer:?}");
    assert_eq!(queue.show(&id).unwrap().state, ApprovalState::Withdrawn);
}

#[tokio::test(start_paused = true)]
async fn who_asks_a_person_itself_gets_the_request_at_once_and_its_repeat_is_admitted() {
    let desk = Desk::new();
    let Desk { queue, bus, events } = desk;
    drop((bus, events));
    let (call, mode) = (Call::new("{}"), ApprovalMode::HandBackAtOnce);
    let started = tokio::time::Instant::now();
    let request = queue.request(&call.asking(), &reason(), &RememberedSet::default()).unwrap();
    let answer = queue.ask(request, mode, &CancellationToken::new()).await;
    let Answer::Pending { id, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(tokio::time::Instant::now(), started);
    queue.decide(&id, ApprovalDecision::Once, approver()).unwrap();
    let request = queue.request(&call.asking(), &reason(), &RememberedSet::default()).unwrap();
    let answer = queue.ask(request, mode, &CancellationToken::new()).await;
    assert!(matches!(answer, Answer::Admitted(_)), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn t30_every_request_that_waits_is_listed() {
    let mut desk = Desk::new();
    let mut ids = Vec::new();
    for number in 0..3 {
        let call = Call::new(&format!(r#"{{"n":{number}}}"#));
        ids.push(desk.asked(&call, ApprovalMode::Wait).await.0);
    }
    assert_eq!(pending(&desk.queue), ids);
}

#[tokio::test(start_paused = true)]
async fn t31_calls_of_a_session_that_ends_stop_waiting_at_once() {
    let mut desk = Desk::new();
    let (id, waiting) = desk.asked(&Call::new("{}"), ApprovalMode::Wait).await;
    let started = tokio::time::Instant::now();
    assert_eq!(desk.queue.end_session("s1", &approver()).unwrap(), 1);
    let answer = waiting.await.unwrap();
    assert!(declined_reason(&answer).contains("withdrawn"), "{answer:?}");
    assert_eq!(tokio::time::Instant::now(), started);
    assert!(desk.decide(&id, ApprovalDecision::Once).is_err(), "nobody wants the answer");
}

#[tokio::test(start_paused = true)]
async fn t32_five_that_wait_are_answered_in_any_order_each_with_its_own_answer() {
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]] {
        let mut desk = Desk::new();
        let mut asked = Vec::new();
        for number in 0..5 {
            let call = Call::new(&format!(r#"{{"n":{number}}}"#));
            asked.push(desk.asked(&call, ApprovalMode::Wait).await);
        }
        for number in order {
            let decision = if number % 2 == 0 { ApprovalDecision::Once } else { deny() };
            desk.decide(&asked[number].0, decision).unwrap();
        }
        for (number, (id, waiting)) in asked.into_iter().enumerate() {
            let answer = waiting.await.unwrap();
            if number % 2 == 0 {
                assert!(is_admitted(&answer, &id), "{answer:?}");
            } else {
                assert_eq!(declined_reason(&answer), "not today");
                assert_eq!(desk.state(&id), ApprovalState::Used, "and isn't given again");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_with_the_request_itself_is_not_lost() {
    let mut desk = Desk::new();
    let (id, waiting) = desk.ask(&Call::new("{}"), ApprovalMode::Wait);
    let EventKind::ToolApprovalRequest { request_id, tool_name, expires_unix_ms, .. } =
        desk.until(|kind| matches!(kind, EventKind::ToolApprovalRequest { .. })).await
    else {
        panic!("it was waited for")
    };
    assert_eq!((tool_name.as_str(), expires_unix_ms), ("files.write", NOW + TTL_MS));
    // The waiter hasn't run since it published.
    desk.decide(&request_id, ApprovalDecision::Once).unwrap();
    let started = tokio::time::Instant::now();
    assert!(is_admitted(&waiting.await.unwrap(), &id));
    assert_eq!(tokio::time::Instant::now(), started);
    assert_eq!(desk.queue.0.waiting.len(), 0, "nobody waits any more");
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_expires_the_call_at_its_time_and_tells_so_once() {
    let mut desk = Desk::new();
    let (id, waiting) = desk.asked(&Call::new("{}"), ApprovalMode::Wait).await;
    let started = tokio::time::Instant::now();
    assert_eq!(waiting.await.unwrap(), Answer::Expired(id.clone()));
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(899) && waited < Duration::from_secs(902), "{waited:?}");
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ApprovalEnded { .. })), 1);
    // The wall clock has stood all the time: the wait has a clock of its own.
    assert_eq!(desk.state(&id), ApprovalState::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_goes_back_makes_nobody_wait_longer() {
    static TIME: AtomicU64 = AtomicU64::new(NOW);
    let mut desk = Desk::over(
        Arc::new(SqliteStore::in_memory().unwrap()),
        || TIME.load(Ordering::SeqCst),
        None,
    );
    let request = desk.request(&Call::new("{}"));
    TIME.store(NOW - 86_400_000, Ordering::SeqCst);
    let (queue, id) = (desk.queue.clone(), request.id.clone());
    let ask =
        async move { queue.ask(request, ApprovalMode::Wait, &CancellationToken::new()).await };
    let (started, waiting) = (tokio::time::Instant::now(), tokio::spawn(ask));
    desk.until(|kind| matches!(kind, EventKind::ToolApprovalRequest { .. })).await;
    let error = desk.decide(&id, ApprovalDecision::Once).unwrap_err();
    let went_back = matches!(error, ApprovalError::Storage(StorageError::ClockWentBack { .. }));
    assert!(went_back, "{error}");
    assert_eq!(waiting.await.unwrap(), Answer::Expired(id));
    assert!(started.elapsed() < Duration::from_secs(902));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_and_a_dropped_one_withdraw_what_they_asked() {
    let mut desk = Desk::new();
    let (cancel, request) = (CancellationToken::new(), desk.request(&Call::new("{}")));
    let (id, queue, token) = (request.id.clone(), desk.queue.clone(), cancel.clone());
    let waiting = tokio::spawn(async move { queue.ask(request, ApprovalMode::Wait, &token).await });
    desk.until(|kind| matches!(kind, EventKind::ToolApprovalRequest { .. })).await;
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), Answer::Cancelled);
    assert_eq!(desk.state(&id), ApprovalState::Withdrawn);
    let ended = |kind: &EventKind| matches!(kind, EventKind::ApprovalEnded { .. });
    assert_eq!(desk.count(ended), 1);

    let (id, waiting) = desk.asked(&Call::new("{}"), ApprovalMode::Wait).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(desk.state(&id), ApprovalState::Withdrawn);
    assert_eq!(desk.count(ended), 1);
    assert_eq!(desk.queue.0.waiting.len(), 0);

    let request = desk.request(&Call::new("{}"));
    let answer = desk.queue.ask(request, ApprovalMode::Wait, &cancel).await;
    assert_eq!(answer, Answer::Cancelled);
    assert_eq!(desk.count(|_| true), 0, "cancelled before: nobody was asked");
}

#[tokio::test(start_paused = true)]
async fn who_runs_the_process_hears_once_of_each_request_and_is_nobody_who_could_answer() {
    let desk = Desk::new();
    let mut notices = desk.queue.notices();
    let mut question = Call::new(r#"{"n":2}"#);
    question.call.caller = None;
    let asks = |call: &Call, question| {
        let reason = AskReason { question, ..reason() };
        let request = desk.requested(call, &reason).unwrap();
        let (id, queue) = (request.id.clone(), desk.queue.clone());
        let ask = async move {
            queue.ask(request, ApprovalMode::HandBack, &CancellationToken::new()).await
        };
        (id, ask)
    };
    let (first, answer) = asks(&Call::new("{}"), false);
    answer.await;
    asks(&Call::new("{}"), false).1.await;
    let (second, answer) = asks(&question, true);
    answer.await;
    let notice = |id, caller: Option<&str>, question| {
        let (tool, caller) = ("files.write".parse().unwrap(), caller.map(str::to_owned));
        Notice { id, tool, caller, question }
    };
    assert_eq!(notices.try_recv(), Ok(notice(first, Some("bot"), false)));
    assert_eq!(notices.try_recv(), Ok(notice(second, None, true)));
    assert!(notices.try_recv().is_err(), "a repeat makes no request");
    let itself = ask(&desk, &Call::new(r#"{"n":3}"#), ApprovalMode::HandBackAtOnce).await;
    assert!(matches!(itself, Answer::Pending { .. }) && notices.try_recv().is_err());

    let Desk { queue, bus, events } = desk;
    drop((bus, events));
    let request =
        queue.request(&Call::new("{}").asking(), &reason(), &RememberedSet::default()).unwrap();
    let answer = queue.ask(request, ApprovalMode::Wait, &CancellationToken::new()).await;
    assert!(declined_reason(&answer).contains("there is no approver"), "{answer:?}");
}

#[tokio::test]
async fn a_call_that_is_dropped_while_its_request_is_written_leaves_none_behind() {
    for _ in 0..50 {
        let desk = Desk::new();
        let (_, waiting) = desk.ask(&Call::new("{}"), ApprovalMode::Wait);
        tokio::task::yield_now().await;
        waiting.abort();
        drop(waiting.await);
        // What was on its way to the store has arrived when this has.
        desk.queue.blocking(|queue| queue.sweep()).await.unwrap();
        let none = async {
            while !pending(&desk.queue).is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), none).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_hook_answers_like_any_other_and_is_told_where_it_was_too_late() {
    let store = || Arc::new(SqliteStore::in_memory().unwrap());
    let call = Call::new("{}");
    let hook = Hook::new(5, Some(ApprovalDecision::Once));
    let mut desk = Desk::over(store(), || NOW, Some(hook.clone()));
    let answer = ask(&desk, &call, ApprovalMode::Wait).await;
    assert!(matches!(&answer, Answer::Admitted(entry)
        if entry.decided.as_ref().is_some_and(|decided| decided.approver == approver())));
    assert_eq!(desk.count(|kind| matches!(kind, EventKind::ApprovalDecided { .. })), 1);
    assert!(hook.ended.lock().unwrap().is_empty());

    let hook = Hook::new(5, Some(ApprovalDecision::Once));
    let mut desk = Desk::over(store(), || NOW, Some(hook.clone()));
    let (id, waiting) = desk.asked(&call, ApprovalMode::Wait).await;
    desk.decide(&id, deny()).unwrap();
    assert_eq!(declined_reason(&waiting.await.unwrap()), "not today");
    assert_eq!(*hook.ended.lock().unwrap(), [ApprovalState::Decided]);
    let late = desk.decide(&id, ApprovalDecision::Once).unwrap_err().to_string();
    assert!(late.contains("used"), "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_hook_that_may_not_be_given_declines() {
    let scope = RememberScope::Pattern([("path".to_owned(), "[".to_owned())].into());
    let store = Arc::new(SqliteStore::in_memory().unwrap());
    let desk = Desk::over(store, || NOW, Some(Hook::new(0, Some(always(scope)))));
    let answer = ask(&desk, &Call::new(r#"{"path":"a"}"#), ApprovalMode::Wait).await;
    assert!(declined_reason(&answer).contains("can't be taken"), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn every_other_answer_means_what_it_says_and_runs_nothing_twice() {
    let mut desk = Desk::new();
    let call = Call::new("{}");
    let edit = ApprovalDecision::Edit { arguments_json: r#"{"path":"b"}"#.into() };
    let said = ApprovalDecision::Answer { content: "42".into() };
    for (decision, state) in [
        (edit, ApprovalState::Decided),
        (said, ApprovalState::Used),
        (ApprovalDecision::Cancel, ApprovalState::Used),
    ] {
        let (id, waiting) = desk.asked(&call, ApprovalMode::Wait).await;
        desk.decide(&id, decision.clone()).unwrap();
        match (decision, waiting.await.unwrap()) {
            (ApprovalDecision::Edit { .. }, Answer::Edited { arguments_json, entry }) => {
                assert_eq!(
                    (arguments_json.as_str(), entry.request.id),
                    (r#"{"path":"b"}"#, id.clone())
                );
            }
            (ApprovalDecision::Answer { .. }, Answer::Answered { content, .. }) => {
                assert_eq!(content, "42");
            }
            (ApprovalDecision::Cancel, Answer::CalledOff { by, id: of }) => {
                assert_eq!((by, &of), (approver(), &id));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(desk.state(&id), state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_at_fault_lets_nothing_through_and_names_no_path() {
    let (_folder, path) = place();
    let desk = Desk::over(file(&path), || NOW, None);
    let request = desk.request(&Call::new("{}"));
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "no database").unwrap();
    let answer = desk.queue.ask(request, ApprovalMode::Wait, &CancellationToken::new()).await;
    let Answer::Unavailable(why) = &answer else { panic!("{answer:?}") };
    assert!(why.contains("store of approvals") && !why.contains('/'), "{why}");
    tokio::time::advance(Duration::from_millis(51)).await;
    assert!(desk.remembered().is_err());
}
