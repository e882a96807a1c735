//! Idempotency keys: one run a key, whatever is repeated.

use super::*;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::storage::{Claim, CutOff, ResultKey, ResultStore as _, StorageError};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn key(key: &str) -> ResultKey {
    ResultKey {
        caller: Some("bot".into()),
        tool: "files.write".parse().unwrap(),
        plugin_digest: Digest::of(b"plugin"),
        key_hash: Digest::of(key.as_bytes()),
    }
}

fn call(text: &str) -> crate::contract::ids::CallId {
    text.parse().unwrap()
}

fn claim(store: &SqliteStore, key: &ResultKey, call_id: &str) -> Claim {
    store.claim(key, &Digest::of(b"arguments"), &call(call_id), MADE).unwrap()
}

fn cut_off((of, call_id): (&str, &str)) -> CutOff {
    CutOff { key: key(of), call_id: call(call_id) }
}

fn result(call_id: &str, content: &str) -> ToolResult {
    ToolResult::new(call(call_id), Outcome::Success, content)
}

#[test]
fn t26_a_finished_key_gives_its_result_and_one_in_flight_or_with_other_arguments_none() {
    let (_folder, path) = place();
    let (one, two) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    assert_eq!(claim(&one, &key("k"), "c1"), Claim::Mine);
    assert_eq!(claim(&two, &key("k"), "c2"), Claim::InFlight { call_id: call("c1") });
    one.settle(&key("k"), &result("c1", "done")).unwrap();
    assert_eq!(claim(&two, &key("k"), "c3"), Claim::Finished(Box::new(result("c1", "done"))));
    let other = two.claim(&key("k"), &Digest::of(b"other"), &call("c4"), MADE).unwrap();
    assert_eq!(other, Claim::OtherArguments { call_id: call("c1") });
}

#[test]
fn a_key_is_scoped_to_caller_tool_and_build() {
    let store = memory();
    assert_eq!(claim(&store, &key("k"), "c1"), Claim::Mine);
    for other in [
        ResultKey { caller: None, ..key("k") },
        ResultKey { tool: "files.read".parse().unwrap(), ..key("k") },
        ResultKey { plugin_digest: Digest::of(b"another"), ..key("k") },
        key("k2"),
    ] {
        assert_eq!(claim(&store, &other, "c2"), Claim::Mine, "{other:?}");
    }
}

#[test]
fn a_key_that_is_released_is_free_and_only_its_holder_releases_or_settles_it() {
    let store = memory();
    claim(&store, &key("k"), "c1");
    let not_claimed = Err(StorageError::NotClaimed("c2".into()));
    assert_eq!(store.release(&key("k"), &call("c2")), not_claimed);
    assert_eq!(store.settle(&key("k"), &result("c2", "")), not_claimed);
    store.release(&key("k"), &call("c1")).unwrap();
    assert_eq!(claim(&store, &key("k"), "c2"), Claim::Mine);
    store.settle(&key("k"), &result("c2", "")).unwrap();
    assert_eq!(store.release(&key("k"), &call("c2")), not_claimed, "what has ended stays");
}

#[test]
fn t38_after_a_crash_a_finished_call_is_not_run_again_and_a_cut_off_one_is_interrupted() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    claim(&store, &key("first"), "c1");
    store.settle(&key("first"), &result("c1", "done")).unwrap();
    claim(&store, &key("second"), "c2");
    drop(store);

    let store = SqliteStore::open(&path).unwrap();
    let calls = [("first", "c1"), ("second", "c2"), ("third", "c9")].map(cut_off);
    assert_eq!(store.interrupt(&calls).unwrap(), 1);
    assert_eq!(claim(&store, &key("first"), "c3"), Claim::Finished(Box::new(result("c1", "done"))));
    let Claim::Finished(second) = claim(&store, &key("second"), "c4") else { panic!("it ended") };
    assert_eq!((second.outcome, second.executed), (Outcome::Interrupted, Executed::Maybe));
    assert_eq!(second.call_id, call("c2"));
}

#[test]
fn a_crash_ends_no_key_of_another_call_with_the_same_id() {
    let store = memory();
    claim(&store, &key("k"), "call-1");
    let (other, caller) = (cut_off(("k2", "call-1")), ResultKey { caller: None, ..key("k") });
    let by_another = CutOff { key: caller, ..cut_off(("k", "call-1")) };
    let calls = [other, by_another, cut_off(("k", "call-2"))];
    assert_eq!(store.interrupt(&calls).unwrap(), 0);
    assert_eq!(claim(&store, &key("k"), "c3"), Claim::InFlight { call_id: call("call-1") });
}

#[test]
fn looking_a_key_up_claims_nothing() {
    let store = memory();
    let known =
        |arguments: &[u8], now| store.known(&key("k"), &Digest::of(arguments), now).unwrap();
    assert_eq!(known(b"arguments", MADE), None);
    assert_eq!(claim(&store, &key("k"), "c1"), Claim::Mine);
    assert_eq!(known(b"arguments", MADE), Some(Claim::InFlight { call_id: call("c1") }));
    assert_eq!(known(b"other", MADE), Some(Claim::OtherArguments { call_id: call("c1") }));
    store.settle(&key("k"), &result("c1", "done")).unwrap();
    let done = Claim::Finished(Box::new(result("c1", "done")));
    assert_eq!(known(b"arguments", MADE + DAY), Some(done));
    assert_eq!(known(b"arguments", MADE + DAY + 1), None);
    let (_folder, path) = place();
    let nowhere = SqliteStore::at(&path);
    assert_eq!(nowhere.known(&key("k"), &Digest::of(b"arguments"), MADE).unwrap(), None);
    assert!(!path.exists(), "looking makes no file");
}

#[test]
fn of_a_large_result_only_the_outcome_is_kept() {
    let store = memory();
    claim(&store, &key("k"), "c1");
    store.settle(&key("k"), &result("c1", &"x".repeat(1 << 20))).unwrap();
    let not_kept = Claim::NotKept { call_id: call("c1"), outcome: Outcome::Success };
    assert_eq!(claim(&store, &key("k"), "c2"), not_kept);
}

#[test]
fn all_results_together_are_bounded_by_their_bytes() {
    let store = memory();
    claim(&store, &key("old"), "c0");
    let sql = format!("UPDATE results SET outcome = 'success', bytes = {}", 256 << 20);
    store.opened.get().unwrap().connection.lock().unwrap().execute_batch(&sql).unwrap();
    claim(&store, &key("k"), "c1");
    store.settle(&key("k"), &result("c1", "small")).unwrap();
    assert!(matches!(claim(&store, &key("k"), "c2"), Claim::NotKept { .. }));
}

#[test]
fn a_key_is_known_for_a_day_and_no_key_is_forgotten_for_another() {
    let store = memory();
    claim(&store, &key("k"), "c1");
    let hash = Digest::of(b"arguments");
    let sql = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999)
               INSERT INTO results (key, arguments_hash, call_id, claimed_ms)
               SELECT n, x'00', 'c', 1000000 FROM n";
    let sql = sql.replace("SELECT n, x'00'", "SELECT CAST(n AS BLOB), x'00'");
    store.opened.get().unwrap().connection.lock().unwrap().execute_batch(&sql).unwrap();
    let error = store.claim(&key("k2"), &hash, &call("c2"), MADE + DAY).unwrap_err();
    assert!(matches!(error, StorageError::TooMany { max: 10_000, .. }), "{error}");
    let later = store.claim(&key("k"), &hash, &call("c3"), MADE + DAY + 1).unwrap();
    assert_eq!(later, Claim::Mine);
}

#[test]
fn a_key_is_in_flight_for_as_long_as_a_call_can_run_and_its_call_is_never_run_again() {
    let store = memory();
    let at = |now| {
        let known = store.known(&key("k"), &Digest::of(b"arguments"), now).unwrap();
        let claimed = store.claim(&key("k"), &Digest::of(b"arguments"), &call("c2"), now).unwrap();
        assert_eq!(known, Some(claimed.clone()), "at {now}");
        claimed
    };
    claim(&store, &key("k"), "c1");
    // The highest deadline of a call, and a minute.
    let longest = MADE + (15 + 1) * 60 * 1000;
    let running = Claim::InFlight { call_id: call("c1") };
    for now in [0, MADE, longest] {
        assert_eq!(at(now), running, "also while the clock has gone back");
    }
    for now in [longest + 1, MADE + DAY] {
        let Claim::Finished(gone) = at(now) else { panic!("{:?}", at(now)) };
        assert_eq!((gone.outcome, gone.executed), (Outcome::Interrupted, Executed::Maybe));
        assert!(gone.error_message.unwrap().contains("is not known"));
    }
    // One that was slow after all is believed.
    store.settle(&key("k"), &result("c1", "late")).unwrap();
    assert_eq!(at(longest + 1), Claim::Finished(Box::new(result("c1", "late"))));
}
