//! Faults of the host itself: what can't be recorded, read or kept isn't run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::kit::*;
use crate::contract::approval::CallerContext;
use crate::contract::grants::{GrantSource, Grants, ToolGrants};
use crate::contract::ids::{CallId, Digest};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::events::{Journal, JournalOptions};
use crate::storage::{Claim, CutOff, ResultKey, ResultStore, SqliteStore, StorageError};

#[tokio::test]
async fn a_call_whose_start_cant_be_recorded_is_not_run() {
    let folder = private_folder();
    let (journal, _) = Journal::open(folder.path(), JournalOptions::default(), || NOW).unwrap();
    let kept = (journal.clone(), folder.path().to_owned());
    let mut host = Setup { journal: Some(kept), ..Setup::default() }.host();
    journal.close().await.unwrap();
    for (id, tool) in [("c1", "fake.read"), ("c2", "fake.write")] {
        let result = host.call(keyed(call(id, tool, "{}"), "k")).await;
        assert_eq!((result.outcome, result.executed), (Outcome::HostFault, Executed::No));
        assert!(result.content.contains("the audit log"), "{}", result.content);
        assert_eq!(result.attempts, 0);
    }
    let asked = host.call(asking("c3", "{}")).await;
    assert_eq!((asked.outcome, asked.executed), (Outcome::ApprovalDeclined, Executed::No));
    assert!(asked.content.contains("the audit log can't be written"), "{}", asked.content);
    assert!(host.told_of("ToolApprovalRequest").is_empty(), "and nobody is asked");
    assert_eq!((host.runner.runs(), host.pending().len()), (0, 0));
    // The key is free again: no store says that the call is in flight.
    let store = Arc::clone(&host.store);
    let host = Setup { store, ..Setup::default() }.host();
    let result = host.call(keyed(call("c4", "fake.read", r#"{"n":1}"#), "k")).await;
    assert_eq!(result.outcome, Outcome::Success);
}

#[tokio::test]
async fn with_a_damaged_store_nothing_runs_and_no_path_is_told() {
    let folder = private_folder();
    let file = folder.path().join("state.db");
    std::fs::write(&file, "no database at all ".repeat(500)).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let store = Arc::new(SqliteStore::at(&file));
    let host = Setup { store, ..Setup::default() }.host();
    for call in [call("c1", "fake.read", "{}"), asking("c2", "{}")] {
        let result = host.call(call).await;
        assert_eq!((result.outcome, result.executed), (Outcome::HostFault, Executed::No));
        assert!(result.content.contains("the store of approvals is damaged"), "{}", result.content);
        let path = folder.path().to_str().unwrap();
        assert!(!result.content.contains(path), "{}", result.content);
    }
    assert_eq!(host.runner.runs(), 0);
}

/// A store of results that fails, or takes its time.
#[derive(Debug)]
struct Results {
    claim: fn() -> Result<Claim, StorageError>,
    settling: Notify,
    go_on: Option<Mutex<Receiver<()>>>,
}

impl ResultStore for Results {
    fn known(
        &self,
        _key: &ResultKey,
        _hash: &Digest,
        _now: u64,
    ) -> Result<Option<Claim>, StorageError> {
        Ok(None)
    }

    fn claim(
        &self,
        _key: &ResultKey,
        _hash: &Digest,
        _call: &CallId,
        _now: u64,
    ) -> Result<Claim, StorageError> {
        (self.claim)()
    }

    fn settle(&self, _key: &ResultKey, result: &ToolResult) -> Result<(), StorageError> {
        self.settling.notify_one();
        if let Some(go_on) = &self.go_on {
            go_on.lock().unwrap().recv().unwrap();
        }
        Err(StorageError::NotClaimed(result.call_id.to_string()))
    }

    fn release(&self, _key: &ResultKey, _call: &CallId) -> Result<(), StorageError> {
        Ok(())
    }

    fn interrupt(&self, _calls: &[CutOff]) -> Result<u64, StorageError> {
        Ok(0)
    }
}

fn results(claim: fn() -> Result<Claim, StorageError>) -> Results {
    Results { claim, settling: Notify::new(), go_on: None }
}

#[tokio::test]
async fn a_call_whose_key_cant_be_claimed_is_not_run() {
    let claims: [fn() -> Result<Claim, StorageError>; 2] = [
        || Err(StorageError::DiskFull { path: "/secret/place".to_owned() }),
        || panic!("a store that panics"),
    ];
    for claim in claims {
        let results = Some(Arc::new(results(claim)) as Arc<dyn ResultStore>);
        let host = Setup { results, ..Setup::default() }.host();
        let result = host.call(keyed(call("c1", "fake.pay", "{}"), "k")).await;
        assert_eq!((result.outcome, result.executed), (Outcome::HostFault, Executed::No));
        assert!(!result.content.contains("/secret"), "{}", result.content);
        assert_eq!(host.runner.runs(), 0);
        assert_eq!(host.call(call("c2", "fake.pay", "{}")).await.outcome, Outcome::Success);
    }
}

#[tokio::test]
async fn a_call_that_ran_has_its_result_even_where_that_cant_be_kept() {
    let results = Some(Arc::new(results(|| Ok(Claim::Mine))) as Arc<dyn ResultStore>);
    let host = Setup { results, ..Setup::default() }.host();
    let result = host.call(keyed(call("c1", "fake.pay", "{}"), "k")).await;
    assert_eq!((result.outcome, result.content.as_str()), (Outcome::Success, "fine"));
}

#[tokio::test]
async fn a_call_that_is_dropped_while_its_result_is_kept_is_told_of_as_it_ended() {
    let (go_on, waits) = channel();
    let slow = Results { go_on: Some(Mutex::new(waits)), ..results(|| Ok(Claim::Mine)) };
    let slow = Arc::new(slow);
    let results = Some(Arc::clone(&slow) as Arc<dyn ResultStore>);
    let mut host = Setup { results, ..Setup::default() }.host();
    let running = host.start(keyed(call("c1", "fake.pay", "{}"), "k"));
    slow.settling.notified().await;
    running.abort();
    assert!(running.await.is_err());
    go_on.send(()).unwrap();
    let told = host.told_of("ToolCallInvoke");
    assert_eq!((told.len(), &told[0]["outcome"]), (1, &"success".into()));
}

/// Grants whose folder doesn't answer until the other end of the channel is dropped.
#[derive(Debug)]
struct Hangs {
    entered: AtomicUsize,
    answer: Mutex<Receiver<()>>,
}

impl GrantSource for Hangs {
    fn resolve(&self, _caller: &CallerContext) -> Result<Grants, String> {
        self.entered.fetch_add(1, Ordering::SeqCst);
        drop(self.answer.lock().map(|answer| answer.recv()));
        Ok(Grants::default())
    }
}

#[tokio::test]
async fn a_folder_that_hangs_holds_no_call_past_its_deadline_nor_past_its_cancelling() {
    let host = Host::new();
    let (answers, answer) = channel::<()>();
    let hangs = Arc::new(Hangs { entered: AtomicUsize::new(0), answer: Mutex::new(answer) });
    let source = Arc::clone(&hangs) as Arc<dyn GrantSource>;
    host.tools.put(reader("fake.read"), ToolGrants::PerCall { source, read_only: false });
    let mut late = call("c1", "fake.read", "{}");
    late.timeout = Some(Duration::from_millis(50));
    let result = host.call(late).await;
    assert_eq!((result.outcome, result.executed), (Outcome::TimedOut, Executed::No));
    assert!(result.content.contains("the call-deadline limit is 50 ms"), "{}", result.content);
    let cancel = CancellationToken::new();
    let waiting = host.start_with(call("c2", "fake.read", "{}"), cancel.clone());
    while hangs.entered.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    let result = waiting.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
    assert_eq!(host.runner.runs(), 0);
    drop(answers);
}
