//! Everything that is kept has an end. The rows come from SQL, since as many by hand take long.

use super::*;
use crate::contract::approval::ApprovalState;
use crate::storage::{
    ApprovalStore as _, ListFilter, PENDING_MAX, PENDING_MAX_BYTES, REMEMBERED_MAX, StorageError,
};

/// Copies the first row of approvals so many times, with these columns changed.
fn copy(store: &SqliteStore, count: u64, columns: &str, values: &str) {
    let sql = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count})
         INSERT INTO approvals (id, shared, binding, call_id, tool, created_ms, expires_ms,
             lapses_ms, reason, arguments_head, request, {columns})
         SELECT replace(replace(replace(replace(printf('copi%08d', n), '0', 'a'), '1', 'b'), '8', 'c'),
             '9', 'd'), 0, binding, call_id, tool, created_ms, expires_ms,
             lapses_ms, reason, arguments_head, request, {values}
         FROM n, approvals WHERE id = '{}'",
        id(1)
    );
    let opened = store.opened.get().unwrap();
    opened.connection.lock().unwrap().execute_batch(&sql).unwrap();
}

fn with_request() -> SqliteStore {
    let store = memory();
    store.insert(&request(1), MADE).unwrap();
    store
}

fn count(store: &SqliteStore, table: &str) -> i64 {
    let connection = store.opened.get().unwrap().connection.lock().unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn one_request_more_than_may_wait_is_refused_until_one_has_ended() {
    let store = with_request();
    copy(&store, PENDING_MAX - 2, "state, bytes", "'pending', 1");
    store.insert(&request(2), MADE).unwrap();
    let error = store.insert(&request(3), MADE).unwrap_err();
    assert!(matches!(error, StorageError::TooMany { max: PENDING_MAX, .. }), "{error}");
    store.withdraw(&id(1), "gone", MADE).unwrap();
    store.insert(&request(3), MADE).unwrap();
}

#[test]
fn requests_that_wait_are_bounded_by_their_bytes_too() {
    let store = with_request();
    let half = format!("'pending', {}", PENDING_MAX_BYTES / 2);
    copy(&store, 2, "state, bytes", &half);
    let error = store.insert(&request(2), MADE).unwrap_err();
    assert!(matches!(error, StorageError::TooMany { max: PENDING_MAX_BYTES, .. }), "{error}");
}

#[test]
fn what_has_ended_is_kept_for_a_time() {
    let store = with_request();
    let month = 30 * 24 * 60 * 60 * 1000;
    store.withdraw(&id(1), "gone", MADE).unwrap();
    store.insert(&request(2), MADE + month).unwrap();
    assert_eq!(store.state(&id(1)).unwrap(), ApprovalState::Withdrawn);
    store.insert(&request(3), MADE + month + 1).unwrap();
    assert_eq!(store.state(&id(1)), Err(StorageError::NotFound(id(1))));
    assert_eq!(store.state(&id(2)).unwrap(), ApprovalState::Pending, "what waits stays");
}

#[test]
fn of_what_has_ended_the_newest_are_kept_by_number_and_by_bytes() {
    for (ended, bytes, kept) in [(10_000, 1_u64, 10_000), (10_001, 1, 9_000), (10, 10 << 20, 5)] {
        let store = with_request();
        let values = format!("'used', {MADE}, {bytes}");
        copy(&store, ended, "state, ended_ms, bytes", &values);
        store.insert(&request(2), MADE).unwrap();
        assert_eq!(count(&store, "approvals"), kept + 2);
        let all = ListFilter { state: None, ..ListFilter::pending() };
        let list = store.list(&all).unwrap();
        assert_eq!(list[1].number, 2 + ended - u64::try_from(kept).unwrap(), "the oldest are gone");
    }
}

#[test]
fn one_answer_more_than_may_be_remembered_answers_nothing() {
    let store = with_request();
    let sql = format!(
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {REMEMBERED_MAX})
         INSERT INTO remembered (id, expires_ms, answer) SELECT n, CASE n WHEN 1 THEN {} END, '{{}}'
         FROM n",
        MADE + 11
    );
    store.opened.get().unwrap().connection.lock().unwrap().execute_batch(&sql).unwrap();
    let at = |at_unix_ms| Decided { at_unix_ms, ..decided(ApprovalDecision::Once) };
    let error = store.decide(&id(1), &at(MADE + 10), Some(&remembered(1))).unwrap_err();
    assert!(matches!(error, StorageError::TooMany { max: REMEMBERED_MAX, .. }), "{error}");
    assert_eq!(store.state(&id(1)).unwrap(), ApprovalState::Pending, "whole or not at all");
    store.decide(&id(1), &at(MADE + 11), Some(&remembered(1))).unwrap();
}

#[test]
fn a_long_argument_is_cut_in_the_list_and_whole_in_the_request() {
    let store = memory();
    let mut long = request(1);
    let map = serde_json::json!({"a": "é".repeat(500)}).as_object().unwrap().clone();
    long.arguments = map.into();
    store.insert(&long, MADE).unwrap();
    assert!(store.list(&ListFilter::pending()).unwrap()[0].arguments_head.len() <= 200);
    assert_eq!(store.get(&id(1)).unwrap().request, long);
}
