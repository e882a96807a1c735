//! A clock that goes back: the log stays in its order, no answer is given or taken by it, and no key
//! is forgotten for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use belljar::contract::approval::{
    ApprovalDecision, ApprovalState, Approver, CallerContext, Channel,
};
use belljar::contract::ids::Digest;
use belljar::contract::outcome::Outcome;
use belljar::events::{
    CallNotRun, Clock, EventBus, Filter, Journal, JournalOptions, Record, read, unix_ms, verify,
};
use belljar::gate::approval::{ApprovalQueue, ApprovalSettings};
use belljar::storage::{ApprovalStore as _, Claim, ResultKey, ResultStore as _, SqliteStore};

use super::{DATABASE, kept, nothing_is_lost};

const HOUR: u64 = 60 * 60 * 1000;
const NOON: u64 = 1_700_000_000_000;

fn an_hour_ago() -> u64 {
    unix_ms() - HOUR
}

async fn note(journal: &Journal, id: &str) {
    let refused = CallNotRun {
        call_id: &id.parse().unwrap(),
        tool_name: "a.b",
        tool: None,
        arguments_hash: None,
        caller: &CallerContext::default(),
        outcome: Outcome::NotFound,
        reason: "nothing has that name",
        approval: None,
    };
    journal.note(Record::CallRefused(refused), true).await.unwrap();
}

fn open(folder: &Path, clock: Clock) -> Journal {
    Journal::open(&folder.join("audit"), JournalOptions::default(), clock).unwrap().0
}

#[tokio::test]
async fn the_log_keeps_its_order_and_its_chain_while_the_clock_goes_back() {
    static NOW: AtomicU64 = AtomicU64::new(NOON);
    let clock = || NOW.load(Ordering::SeqCst);
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path(), clock);
    note(&journal, "first").await;
    NOW.store(NOON - HOUR, Ordering::SeqCst);
    note(&journal, "second").await;
    journal.close().await.unwrap();
    NOW.store(NOON - 2 * HOUR, Ordering::SeqCst);
    let journal = open(folder.path(), clock);
    note(&journal, "third").await;
    journal.close().await.unwrap();
    assert_eq!(verify(&folder.path().join("audit"), None).unwrap().entries, 3);
    let entries =
        read(&folder.path().join("audit"), Filter::default()).unwrap().map(Result::unwrap);
    let told = |it: belljar::events::Entry| (it.text("callId").unwrap().to_owned(), it.at_unix_ms);
    let expected = [("first", 0), ("second", 1), ("third", 2)];
    let expected = expected.map(|(id, hours)| (id.to_owned(), NOON - hours * HOUR));
    assert_eq!(entries.map(told).collect::<Vec<_>>(), expected);
    // An entry is found by its time wherever it lies.
    let since = Filter { since_unix_ms: Some(NOON - HOUR), ..Filter::default() };
    assert_eq!(read(&folder.path().join("audit"), since).unwrap().count(), 2);
}

#[tokio::test]
async fn by_a_clock_that_went_back_no_answer_is_given_or_taken_and_the_request_stays() {
    let (home, id) = kept();
    let store = Arc::new(SqliteStore::at(home.path(DATABASE)));
    let id = id.parse().unwrap();
    let settings = ApprovalSettings::default;
    let queue = |clock: Clock| {
        ApprovalQueue::new(Arc::clone(&store) as _, EventBus::new(clock), clock, settings(), None)
    };
    let ann = Approver { name: "ann".into(), channel: Channel::Terminal };
    let early = queue(an_hour_ago);
    let error = early.decide(&id, ApprovalDecision::Once, ann.clone()).unwrap_err().to_string();
    assert!(
        error.contains("the clock has gone back") && error.ends_with("set the clock"),
        "{error}"
    );
    let entry = store.get(&id).unwrap();
    assert_eq!(entry.state, ApprovalState::Pending);

    queue(unix_ms).decide(&id, ApprovalDecision::Once, ann).unwrap();
    let error = early.take(&id, entry.request.binding).await.unwrap_err().to_string();
    assert!(error.contains("the clock has gone back"), "{error}");
    assert_eq!(store.get(&id).unwrap().state, ApprovalState::Decided);
    nothing_is_lost(&home, id.as_str());
    let call = r#"{"path":"asked","content":"x"}"#;
    let call = ["call", "files.write", call, "--level", "READ_ONLY", "--approvals", "queue"];
    home.run(call).ends_with(0);
    assert!(home.has("asked"));
}

#[test]
fn a_key_is_known_also_to_a_clock_that_went_back() {
    let store = SqliteStore::in_memory().unwrap();
    let key = ResultKey {
        caller: None,
        tool: "files.write".parse().unwrap(),
        plugin_digest: Digest::of(b"plugin"),
        key_hash: Digest::of(b"key"),
    };
    let (hash, call) = (Digest::of(b"arguments"), "c1".parse().unwrap());
    assert_eq!(store.claim(&key, &hash, &call, NOON).unwrap(), Claim::Mine);
    for now in [NOON - HOUR, 0] {
        let other = "c2".parse().unwrap();
        let claim = store.claim(&key, &hash, &other, now).unwrap();
        assert_eq!(claim, Claim::InFlight { call_id: call.clone() });
    }
}
