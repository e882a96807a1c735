//! What a store that fails, or a call that goes early, leaves behind; and who waits for the store.

use std::future::Future as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};
use std::thread::{ThreadId, current};

use super::asking::Hook;
use super::*;
use crate::contract::approval::{Decided, Remembered};
use crate::storage::{Inserted, RememberedMark, Revision, SessionEnd, Summary};

/// A store that refuses answers, keeps requests back while `held` is locked, and knows on which
/// threads it was used.
#[derive(Debug)]
struct Store {
    inner: SqliteStore,
    refusal: Option<StorageError>,
    held: Mutex<()>,
    inserted: AtomicUsize,
    decided_on: Mutex<Vec<ThreadId>>,
    withdrawn_on: Mutex<Vec<ThreadId>>,
    read_on: Mutex<Vec<ThreadId>>,
}

impl Store {
    fn new(refusal: Option<StorageError>) -> Arc<Self> {
        Arc::new(Self {
            inner: SqliteStore::in_memory().unwrap(),
            refusal,
            held: Mutex::default(),
            inserted: AtomicUsize::new(0),
            decided_on: Mutex::default(),
            withdrawn_on: Mutex::default(),
            read_on: Mutex::default(),
        })
    }

    fn keep<T>(&self, keep: impl FnOnce(&SqliteStore) -> T) -> T {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner));
        let kept = keep(&self.inner);
        self.inserted.fetch_add(1, Ordering::SeqCst);
        kept
    }
}

impl ApprovalStore for Store {
    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn looks_at_once(&self) -> bool {
        self.inner.looks_at_once()
    }

    fn revision(&self) -> Result<Revision, StorageError> {
        self.inner.revision()
    }

    fn insert(&self, request: &ApprovalRequest, now: u64) -> Result<(), StorageError> {
        self.keep(|inner| inner.insert(request, now))
    }

    fn insert_shared(
        &self,
        request: &ApprovalRequest,
        now: u64,
        joins: &mut dyn FnMut(&ApprovalId) -> bool,
    ) -> Result<Inserted, StorageError> {
        self.keep(|inner| inner.insert_shared(request, now, joins))
    }

    fn get(&self, id: &ApprovalId) -> Result<ApprovalEntry, StorageError> {
        self.inner.get(id)
    }

    fn state(&self, id: &ApprovalId) -> Result<ApprovalState, StorageError> {
        self.inner.state(id)
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<Summary>, StorageError> {
        self.inner.list(filter)
    }

    fn decide(
        &self,
        id: &ApprovalId,
        decided: &Decided,
        remember: Option<&Remembered>,
    ) -> Result<ApprovalEntry, StorageError> {
        self.decided_on.lock().unwrap().push(current().id());
        match &self.refusal {
            Some(error) => Err(error.clone()),
            None => self.inner.decide(id, decided, remember),
        }
    }

    fn take(
        &self,
        id: &ApprovalId,
        binding: &Digest,
        now: u64,
    ) -> Result<ApprovalEntry, StorageError> {
        self.inner.take(id, binding, now)
    }

    fn expire(&self, now: u64) -> Result<Vec<ApprovalId>, StorageError> {
        self.inner.expire(now)
    }

    fn lapse(&self, id: &ApprovalId, now: u64) -> Result<ApprovalEntry, StorageError> {
        self.inner.lapse(id, now)
    }

    fn withdraw(&self, id: &ApprovalId, reason: &str, now: u64) -> Result<bool, StorageError> {
        self.withdrawn_on.lock().unwrap().push(current().id());
        self.inner.withdraw(id, reason, now)
    }

    fn let_go(&self, id: &ApprovalId, reason: &str, now: u64) -> Result<bool, StorageError> {
        self.withdrawn_on.lock().unwrap().push(current().id());
        self.inner.let_go(id, reason, now)
    }

    fn withdraw_session(&self, session: &str, now: u64) -> Result<SessionEnd, StorageError> {
        self.inner.withdraw_session(session, now)
    }

    fn remembered_mark(&self) -> Result<RememberedMark, StorageError> {
        self.read_on.lock().unwrap().push(current().id());
        self.inner.remembered_mark()
    }

    fn remembered(&self, now: u64) -> Result<Vec<Remembered>, StorageError> {
        self.read_on.lock().unwrap().push(current().id());
        self.inner.remembered(now)
    }

    fn revoke(&self, id: &ApprovalId, now: u64) -> Result<bool, StorageError> {
        self.inner.revoke(id, now)
    }
}

fn hook() -> Option<Arc<dyn ApprovalHook>> {
    Some(Hook::new(5, Some(ApprovalDecision::Once)))
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_hook_that_is_not_kept_declines_at_once_and_names_no_path() {
    let path = || "/srv/state/approvals.sqlite".to_owned();
    let went_back = StorageError::ClockWentBack { then_unix_ms: NOW, now_unix_ms: 1 };
    for (refusal, words) in [
        (StorageError::TooMany { what: "remembered answers", max: 9 }, "9 remembered answers"),
        (StorageError::DiskFull { path: path() }, "the disk of the store"),
        (StorageError::Locked { path: path(), seconds: 5 }, "locked by another process"),
        (went_back, "the clock has gone back"),
    ] {
        let desk = Desk::over(Store::new(Some(refusal)), || NOW, hook());
        let request = desk.request(&Call::new("{}"));
        let (id, started) = (request.id.clone(), tokio::time::Instant::now());
        let answer = desk.queue.ask(request, ApprovalMode::Wait, &CancellationToken::new()).await;
        let reason = declined_reason(&answer);
        assert!(reason.contains("can't be taken") && reason.contains(words), "{reason}");
        assert!(!reason.contains('/'), "{reason}");
        assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
        assert_eq!(desk.state(&id), ApprovalState::Withdrawn);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_comes_second_leaves_the_first_answer_to_be_found() {
    let id = || "abcdefghijkl".parse().unwrap();
    let by = "ann".to_owned();
    for refusal in [
        StorageError::AlreadyDecided { id: id(), by, decision: "once" },
        StorageError::Used(id()),
        StorageError::Withdrawn { id: id(), reason: "gone".into() },
    ] {
        let desk = Desk::over(Store::new(Some(refusal)), || NOW, hook());
        let answer = ask(&desk, &Call::new("{}"), ApprovalMode::Wait).await;
        assert!(matches!(answer, Answer::Expired(_)), "it looked on: {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_hook_after_the_wall_clock_ran_ahead_ends_the_wait() {
    static TIME: AtomicU64 = AtomicU64::new(NOW);
    let desk = Desk::over(Store::new(None), || TIME.load(Ordering::SeqCst), hook());
    let (id, waiting) = desk.ask(&Call::new("{}"), ApprovalMode::Wait);
    let started = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    TIME.store(NOW + TTL_MS, Ordering::SeqCst);
    assert_eq!(waiting.await.unwrap(), Answer::Expired(id));
    assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
}

#[test]
fn an_error_in_words_for_a_caller_names_no_path() {
    let path = "/srv/state/audit".into();
    let full = ApprovalError::from(crate::events::JournalError::Full(path));
    assert!(full.to_string().contains("/srv"), "{full}");
    assert_eq!(full.without_path(), "the audit log can't be written, so nothing is answered");
    let store = ApprovalError::from(StorageError::DiskFull { path: "/srv/x".into() });
    assert_eq!(store.without_path(), "the disk of the store of approvals is full");
    assert_eq!(ApprovalError::NoSession.without_path(), ApprovalError::NoSession.to_string());
}

#[tokio::test(start_paused = true)]
async fn only_a_dropped_call_makes_its_own_thread_wait_for_the_store() {
    let here = current().id();
    let store = Store::new(None);
    let mut desk = Desk::over(store.clone(), || NOW, None);
    let (cancel, request) = (CancellationToken::new(), desk.request(&Call::new("{}")));
    let (queue, token) = (desk.queue.clone(), cancel.clone());
    let waiting = tokio::spawn(async move { queue.ask(request, ApprovalMode::Wait, &token).await });
    desk.until(|kind| matches!(kind, EventKind::ToolApprovalRequest { .. })).await;
    cancel.cancel();
    assert_eq!(waiting.await.unwrap(), Answer::Cancelled);
    let on = std::mem::take(&mut *store.withdrawn_on.lock().unwrap());
    assert!(on.len() == 1 && on[0] != here, "{on:?}, and the test is on {here:?}");

    let (_, waiting) = desk.asked(&Call::new("{}"), ApprovalMode::Wait).await;
    waiting.abort();
    drop(waiting.await);
    assert_eq!(*store.withdrawn_on.lock().unwrap(), [here]);

    let store = Store::new(None);
    let desk = Desk::over(store.clone(), || NOW, hook());
    let answer = ask(&desk, &Call::new("{}"), ApprovalMode::Wait).await;
    assert!(matches!(answer, Answer::Admitted(_)), "{answer:?}");
    let on = store.decided_on.lock().unwrap().clone();
    assert!(on.len() == 1 && on[0] != here, "{on:?}, and the test is on {here:?}");
}

#[tokio::test]
async fn what_is_remembered_is_read_once_for_all_calls_and_on_none_of_their_threads() {
    let store = Store::new(None);
    let desk = Desk::over(store.clone(), || NOW, None);
    let read = || std::mem::take(&mut *store.read_on.lock().unwrap());
    let all = || futures_util::future::join_all((0..10).map(|_| desk.queue.remembered()));
    let same = |sets: Vec<Result<Arc<RememberedSet>, _>>| {
        let sets: Vec<_> = sets.into_iter().map(Result::unwrap).collect();
        assert!(sets.iter().all(|set| Arc::ptr_eq(set, &sets[0])));
    };
    same(all().await);
    let on = read();
    assert!(on.len() == 2 && !on.contains(&current().id()), "its mark, and itself: {on:?}");
    same(all().await);
    assert_eq!(read(), [], "nothing was written");
    store.inner.insert(&desk.request(&Call::new("{}")), NOW).unwrap();
    desk.queue.forget_seen();
    same(all().await);
    let on = read();
    assert!(on.len() == 1 && on[0] != current().id(), "its mark is the same: {on:?}");
}

#[tokio::test]
async fn a_call_that_is_dropped_before_its_request_is_kept_leaves_none_in_any_mode() {
    for mode in [ApprovalMode::Wait, ApprovalMode::HandBack] {
        let store = Store::new(None);
        let desk = Desk::over(store.clone(), || NOW, None);
        let request = desk.request(&Call::new("{}"));
        let id = request.id.clone();
        let held = store.held.lock().unwrap();
        {
            let cancel = CancellationToken::new();
            let mut ask = std::pin::pin!(desk.queue.ask(request, mode, &cancel));
            let mut context = Context::from_waker(Waker::noop());
            assert!(ask.as_mut().poll(&mut context).is_pending());
        }
        drop(held);
        let withdrawn = async {
            while desk.queue.0.store.state(&id) != Ok(ApprovalState::Withdrawn) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), withdrawn).await.unwrap();
        assert_eq!(store.inserted.load(Ordering::SeqCst), 1);
    }
}
