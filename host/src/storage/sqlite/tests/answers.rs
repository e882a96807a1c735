//! An answer is given once and taken once, whoever tries.

use super::*;
use crate::contract::approval::ApprovalState;
use crate::storage::{ApprovalStore as _, Inserted, ListFilter, SessionEnd, StorageError};

fn once() -> Decided {
    decided(ApprovalDecision::Once)
}

#[test]
fn a_request_reads_back_as_it_was() {
    let store = memory();
    let mut deep = "0".to_owned();
    for _ in 0..127 {
        deep = format!("[{deep}]");
    }
    // As deep as the ceiling of the limit allows, which is past the JSON library's own bound.
    let arguments: serde_json::Map<_, _> = crate::contract::arguments::parse(
        &format!(r#"{{"a":{deep}}}"#),
        crate::contract::arguments::ArgumentBounds { bytes: 1 << 20, depth: 128 },
    )
    .unwrap();
    let mut request = request(1);
    request.arguments = arguments.into();
    store.insert(&request, MADE).unwrap();
    let entry = store.get(&request.id).unwrap();
    assert_eq!(
        (entry.request, entry.state, entry.decided),
        (request, ApprovalState::Pending, None)
    );
}

#[test]
fn the_first_answer_stands_and_the_second_is_told_whose_it_was() {
    let (_folder, path) = place();
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    one.insert(&request(1), MADE).unwrap();
    two.decide(&id(1), &once(), None).unwrap();
    let error = one.decide(&id(1), &decided(ApprovalDecision::Cancel), None).unwrap_err();
    assert_eq!(
        error,
        StorageError::AlreadyDecided { id: id(1), by: "ann".into(), decision: "once" }
    );
    assert_eq!(one.get(&id(1)).unwrap().decided, Some(once()));
}

#[test]
fn an_answer_is_taken_by_one_of_many_at_once() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    for round in 0..20 {
        let binding = request(round).binding;
        store.insert(&request(round), MADE).unwrap();
        store.decide(&id(round), &once(), None).unwrap();
        let takers: Vec<_> = (0..4).map(|_| SqliteStore::open(&path).unwrap()).collect();
        let barrier = std::sync::Barrier::new(takers.len());
        let take = |taker: &SqliteStore| {
            barrier.wait();
            taker.take(&id(round), &binding, MADE + 20)
        };
        let taken: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = takers.iter().map(|it| scope.spawn(|| take(it))).collect();
            all.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert_eq!(taken.iter().filter(|taken| taken.is_ok()).count(), 1, "{taken:?}");
        let late = taken.into_iter().filter_map(Result::err);
        late.for_each(|error| assert_eq!(error, StorageError::Used(id(round))));
    }
}

#[test]
fn t36_an_answer_for_another_call_is_not_taken_and_not_spent() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    store.decide(&id(1), &once(), None).unwrap();
    let error = store.take(&id(1), &Digest::of(b"other"), MADE + 20).unwrap_err();
    assert_eq!(error, StorageError::OtherBinding(id(1)));
    assert_eq!(
        store.take(&id(1), &request(1).binding, MADE + 20).unwrap().state,
        ApprovalState::Used
    );
}

#[test]
fn nothing_is_taken_that_nobody_answered() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    let error = store.take(&id(1), &request(1).binding, MADE + 20).unwrap_err();
    assert_eq!(error, StorageError::NotDecided(id(1)));
}

#[test]
fn no_answer_counts_from_the_expiry_on_and_no_call_takes_one_long_after() {
    let store = memory();
    for number in 1..=3 {
        store.insert(&request(number), MADE).unwrap();
    }
    let at = |at_unix_ms| Decided { at_unix_ms, ..once() };
    assert_eq!(store.decide(&id(1), &at(MADE + 1_000), None), Err(StorageError::Expired(id(1))));
    store.decide(&id(2), &at(MADE + 999), None).unwrap();
    store.decide(&id(3), &at(MADE + 999), None).unwrap();
    // As long again as the request lived.
    let take = |number, now| store.take(&id(number), &request(number).binding, now);
    assert!(take(2, MADE + 1_999).is_ok());
    assert_eq!(take(3, MADE + 2_000), Err(StorageError::Expired(id(3))));
}

#[test]
fn what_is_over_in_time_ends_by_its_time_and_stays_ended_when_the_clock_goes_back() {
    let store = memory();
    for number in 1..=2 {
        store.insert(&request(number), MADE).unwrap();
    }
    store.decide(&id(2), &once(), None).unwrap();
    assert_eq!(store.expire(MADE + 999).unwrap(), []);
    assert_eq!(store.expire(MADE + 1_000).unwrap(), [id(1)], "nobody answered");
    assert_eq!(store.expire(MADE + 2_000).unwrap(), [id(2)], "nobody took the answer");
    assert_eq!(store.decide(&id(1), &once(), None), Err(StorageError::Expired(id(1))));
    let taken = store.take(&id(2), &request(2).binding, MADE + 20);
    assert_eq!(taken, Err(StorageError::Expired(id(2))));
}

#[test]
fn a_clock_that_went_back_answers_and_takes_nothing_and_loses_nothing() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    let early = Decided { at_unix_ms: MADE - 60_001, ..once() };
    let error = store.decide(&id(1), &early, None).unwrap_err();
    assert!(matches!(error, StorageError::ClockWentBack { .. }), "{error}");
    assert!(error.to_string().contains("set the clock"), "{error}");
    store.decide(&id(1), &once(), None).unwrap();
    let error = store.take(&id(1), &request(1).binding, 5).unwrap_err();
    assert!(matches!(error, StorageError::ClockWentBack { .. }), "{error}");
    assert!(store.take(&id(1), &request(1).binding, MADE - 1_000).is_ok(), "within the slack");
}

#[test]
fn a_request_that_is_gone_takes_no_answer() {
    let (_folder, path) = place();
    for store in [memory(), SqliteStore::at(&path)] {
        let gone = StorageError::NotFound(id(9));
        assert_eq!(store.decide(&id(9), &once(), None), Err(gone.clone()));
        assert_eq!(store.take(&id(9), &request(9).binding, MADE), Err(gone.clone()));
        assert_eq!(store.get(&id(9)), Err(gone.clone()));
        assert_eq!(store.state(&id(9)), Err(gone));
        assert!(!store.withdraw(&id(9), "gone", MADE).unwrap());
    }
    assert!(!path.exists(), "looking makes no file");
}

#[test]
fn a_withdrawn_request_says_why_it_takes_no_answer() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    assert!(store.withdraw(&id(1), "the call was cancelled", MADE + 5).unwrap());
    assert!(!store.withdraw(&id(1), "again", MADE + 6).unwrap());
    let error = store.decide(&id(1), &once(), None).unwrap_err().to_string();
    assert!(error.contains("the call was cancelled"), "{error}");
}

#[test]
fn t31_a_session_that_ends_takes_its_requests_and_its_own_answers_along() {
    let store = memory();
    for number in 1..=3 {
        store.insert(&request(number), MADE).unwrap();
    }
    let mut other = request(4);
    other.caller.session_id = Some("s2".into());
    store.insert(&other, MADE).unwrap();
    let session = Remembered { session_id: Some("s1".into()), ..remembered(1) };
    store.decide(&id(1), &once(), Some(&session)).unwrap();
    store.decide(&id(2), &once(), Some(&remembered(2))).unwrap();
    store.take(&id(2), &request(2).binding, MADE + 20).unwrap();

    let ended = SessionEnd { withdrawn: vec![id(1), id(3)], forgotten: vec![id(1)] };
    assert_eq!(store.withdraw_session("s1", MADE + 30).unwrap(), ended);
    assert_eq!(store.state(&id(2)).unwrap(), ApprovalState::Used, "ended before");
    assert_eq!(store.state(&id(4)).unwrap(), ApprovalState::Pending, "another session's");
    assert_eq!(store.remembered(MADE + 30).unwrap(), [remembered(2)]);
}

#[test]
fn identical_calls_share_one_request_until_its_answer_is_taken() {
    let (_folder, path) = place();
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let again = |number| ApprovalRequest { binding: request(1).binding, ..request(number) };
    assert_eq!(one.insert_shared(&request(1), MADE, &mut |_| false).unwrap(), Inserted::New);
    let shared = |store: &SqliteStore, number| match store.insert_shared(
        &again(number),
        MADE + 1,
        &mut |_| false,
    ) {
        Ok(Inserted::Existing(entry)) => Some(entry.request.id),
        Ok(Inserted::New) => None,
        Err(error) => panic!("{error}"),
    };
    assert_eq!(shared(&two, 2), Some(id(1)));
    two.decide(&id(1), &once(), None).unwrap();
    assert_eq!(shared(&one, 3), Some(id(1)), "answered, and nobody took it");
    one.take(&id(1), &request(1).binding, MADE + 20).unwrap();
    assert_eq!(shared(&two, 4), None, "taken: a new question");
}

#[test]
fn a_request_is_let_go_of_unless_a_call_has_found_it_that_is_not_known() {
    let (_folder, path) = place();
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    for (number, joins, goes) in [(1, true, true), (2, false, false)] {
        let again = ApprovalRequest { binding: request(number).binding, ..request(number + 10) };
        one.insert_shared(&request(number), MADE, &mut |_| false).unwrap();
        let found = two.insert_shared(&again, MADE, &mut |found| {
            assert_eq!(*found, id(number));
            joins
        });
        assert!(matches!(found, Ok(Inserted::Existing(_))), "{found:?}");
        assert_eq!(one.let_go(&id(number), "gone", MADE).unwrap(), goes);
    }
    let again = ApprovalRequest { binding: request(2).binding, ..request(20) };
    let found = two.insert_shared(&again, MADE, &mut |_| true).unwrap();
    assert!(matches!(found, Inserted::Existing(_)), "still shared: {found:?}");
    assert!(!one.let_go(&id(2), "gone", MADE).unwrap(), "it stays marked");
    assert!(one.withdraw(&id(2), "gone", MADE).unwrap());
    one.insert(&request(3), MADE).unwrap();
    assert!(one.let_go(&id(3), "gone", MADE).unwrap(), "one call's own");
}

#[test]
fn a_request_that_one_call_waits_for_is_shared_with_nobody() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    let same = ApprovalRequest { binding: request(1).binding, ..request(2) };
    assert_eq!(store.insert_shared(&same, MADE, &mut |_| false).unwrap(), Inserted::New);
    let error = store.insert(&request(1), MADE).unwrap_err();
    assert_eq!(error, StorageError::SameId(id(1)));
}

#[test]
fn a_request_is_ended_by_its_askers_clock_unless_it_was_answered() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    store.insert(&request(2), MADE).unwrap();
    store.decide(&id(2), &once(), None).unwrap();
    assert_eq!(store.lapse(&id(1), MADE + 1).unwrap().state, ApprovalState::Expired);
    assert_eq!(store.lapse(&id(2), MADE + 1).unwrap().state, ApprovalState::Decided);
}

#[test]
fn t34_what_is_remembered_survives_a_restart_is_listed_and_revocable() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.insert(&request(1), MADE).unwrap();
    store.insert(&request(2), MADE).unwrap();
    store.decide(&id(1), &once(), Some(&remembered(1))).unwrap();
    drop(store);
    let store = SqliteStore::open_existing(&path).unwrap().unwrap();
    assert_eq!(store.remembered(MADE + 50).unwrap(), [remembered(1)]);
    assert_eq!(store.state(&id(2)).unwrap(), ApprovalState::Pending, "still asked");
    let before = store.remembered_mark().unwrap();
    assert!(store.revoke(&id(1), MADE + 60).unwrap());
    assert!(!store.revoke(&id(1), MADE + 60).unwrap());
    assert_ne!(store.remembered_mark().unwrap(), before);
    assert_eq!(store.remembered(MADE + 50).unwrap(), []);
}

#[test]
fn what_a_revoked_answer_answered_admits_no_call_that_has_not_taken_it() {
    let store = memory();
    for number in 1..=4 {
        assert_eq!(
            store.insert_shared(&request(number), MADE, &mut |_| false).unwrap(),
            Inserted::New
        );
    }
    let along = Decided { along: Some(id(1)), ..once() };
    store.decide(&id(1), &once(), Some(&remembered(1))).unwrap();
    store.decide(&id(2), &along, None).unwrap();
    store.decide(&id(3), &along, None).unwrap();
    store.decide(&id(4), &once(), None).unwrap();
    store.take(&id(3), &request(3).binding, MADE + 20).unwrap();
    assert!(store.revoke(&id(1), MADE + 30).unwrap());
    for number in [1, 2] {
        let late = store.take(&id(number), &request(number).binding, MADE + 40).unwrap_err();
        assert_eq!(late, StorageError::Withdrawn { id: id(number), reason: "revoked".into() });
    }
    let again = ApprovalRequest { binding: request(1).binding, ..request(5) };
    assert_eq!(
        store.insert_shared(&again, MADE + 40, &mut |_| false).unwrap(),
        Inserted::New,
        "asked anew"
    );
    assert_eq!(store.state(&id(3)).unwrap(), ApprovalState::Used);
    assert!(store.take(&id(4), &request(4).binding, MADE + 40).is_ok(), "named by itself");
}

#[test]
fn a_remembered_answer_ends_by_its_time() {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    let short = Remembered { expires_unix_ms: Some(MADE + 100), ..remembered(1) };
    store.decide(&id(1), &once(), Some(&short)).unwrap();
    assert_eq!(store.remembered(MADE + 99).unwrap(), [short]);
    assert_eq!(store.remembered(MADE + 100).unwrap(), []);
}

#[test]
fn a_list_goes_on_where_it_stopped_and_holds_what_was_asked_for() {
    let store = memory();
    for number in 1..=5 {
        store.insert(&request(number), MADE).unwrap();
    }
    store.decide(&id(2), &once(), None).unwrap();
    let ids = |filter: &ListFilter| -> Vec<_> {
        store.list(filter).unwrap().into_iter().map(|it| it.id).collect()
    };
    assert_eq!(ids(&ListFilter::pending()), [id(1), id(3), id(4), id(5)]);
    let page = ListFilter { limit: 2, ..ListFilter::pending() };
    let after = store.list(&page).unwrap()[1].number;
    assert_eq!(ids(&ListFilter { after, ..page.clone() }), [id(4), id(5)]);
    assert_eq!(ids(&ListFilter { state: None, ..page }), [id(1), id(2)]);
    let tool = Some("files.read".parse().unwrap());
    assert_eq!(ids(&ListFilter { tool, ..ListFilter::pending() }), []);
    let first = store.list(&ListFilter::pending()).unwrap().remove(0);
    assert_eq!(first.arguments_head, r#"{"path":"a"}"#);
    assert_eq!((first.reason.as_str(), first.expires_unix_ms), ("it writes", MADE + 1_000));
}

#[test]
fn a_revision_tells_of_every_write_of_whomever() {
    let (_folder, path) = place();
    let (one, two) = (SqliteStore::at(&path), SqliteStore::at(&path));
    let mut last = one.revision().unwrap();
    let mut moved = |what: &str| {
        let now = one.revision().unwrap();
        assert_ne!(std::mem::replace(&mut last, now), now, "{what}");
        assert_eq!(one.revision().unwrap(), now, "{what}, and then rests");
    };
    two.insert(&request(1), MADE).unwrap();
    moved("another's first write");
    two.decide(&id(1), &once(), None).unwrap();
    moved("another's write");
    one.insert(&request(2), MADE).unwrap();
    moved("its own write");
    let store = memory();
    let before = store.revision().unwrap();
    store.insert(&request(1), MADE).unwrap();
    assert_ne!(store.revision().unwrap(), before);
}
