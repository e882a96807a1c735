//! Bounds, and a disk that is full, broken or read-only: fail closed, and keep every promise.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::kit::*;
use crate::contract::outcome::{Executed, Outcome};
use crate::events::journal::lane_file::Faults;
use crate::events::journal::*;

fn with_faults() -> (JournalOptions, Faults) {
    let options = JournalOptions::default();
    let faults = options.faults.clone();
    (options, faults)
}

#[tokio::test]
async fn a_full_disk_starts_no_call_and_still_takes_every_promised_end() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let (journal, _) = home.open_with(options);
    faults.full.store(true, Ordering::SeqCst);
    let (mut open, long) = (Vec::new(), "\u{1}".repeat(4096));
    let error = loop {
        let id = call(&format!("c{}", open.len()));
        match journal.begin(started(&id)).await {
            Ok(entry) => open.push((id, entry)),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, JournalError::Full(_)), "{error}");
    assert!(error.to_string().contains("no call starts"), "{error}");
    let begun = open.len();
    assert!((8..32).contains(&begun), "{begun} calls fit into the first room with their ends");
    for (id, entry) in open {
        let end =
            CallFinished { outcome: Outcome::Crashed, error_message: Some(&long), ..finished(&id) };
        entry.finish(&end);
    }
    assert_eq!(journal.problem(), None);
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 2 * begun as u64);
    let crashed = |entry: &&Entry| entry.text("outcome") == Some("crashed");
    assert_eq!(home.entries().iter().filter(crashed).count(), begun);
}

#[tokio::test]
async fn an_end_that_the_disk_refuses_is_kept_and_written_later() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let (journal, _) = home.open_with(options);
    let (one, two) = (call("one"), call("two"));
    let first = journal.begin(started(&one)).await.unwrap();
    let second = journal.begin(started(&two)).await.unwrap();
    faults.broken.store(true, Ordering::SeqCst);
    first.finish(&finished(&one));
    second.finish(&finished(&two));
    assert!(journal.problem().is_some());
    let error = journal.begin(started(&one)).await.unwrap_err();
    assert!(matches!(error, JournalError::Behind(_)), "{error}");
    assert!(journal.flush().await.is_err());
    faults.broken.store(false, Ordering::SeqCst);
    journal.flush().await.unwrap();
    assert_eq!(journal.problem(), None);
    run(&journal, "three").await;
    journal.close().await.unwrap();
    let told: Vec<String> = home.told().into_iter().map(|(id, _)| id).collect();
    assert_eq!(told, ["one", "two", "one", "two", "three", "three"]);
    home.verified();
}

#[tokio::test]
async fn a_record_that_the_disk_refuses_is_an_error_and_leaves_nothing() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let (journal, _) = home.open_with(options);
    faults.broken.store(true, Ordering::SeqCst);
    let id = call("c1");
    assert!(journal.begin(started(&id)).await.is_err());
    assert!(journal.note(refused(&id, "no"), false).await.is_err());
    faults.broken.store(false, Ordering::SeqCst);
    run(&journal, "c2").await;
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 2);
    assert_eq!(home.told()[0].0, "c2");
}

#[tokio::test]
async fn calls_wait_while_too_much_is_not_in_the_log_and_ends_never_do() {
    let home = Home::new();
    let options = JournalOptions { undrained_max_len: 2_000, ..JournalOptions::default() };
    let (journal, _) = home.open_with(options);
    let lock = fs::File::open(home.audit().join("log.lock")).unwrap();
    journal.flush().await.unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let mut open = Vec::new();
    let waiting = loop {
        let id = call(&format!("c{}", open.len()));
        let mut begin = Box::pin(async {
            let id = id.clone();
            journal.begin(started(&id)).await
        });
        match futures_util::poll!(&mut begin) {
            std::task::Poll::Ready(entry) => open.push((id.clone(), entry.unwrap())),
            std::task::Poll::Pending => break open.len(),
        }
    };
    assert!((2..8).contains(&waiting), "{waiting}");
    for (id, entry) in open {
        entry.finish(&finished(&id));
    }
    drop(lock);
    run(&journal, "after").await;
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 2 * waiting as u64 + 2);
}

#[tokio::test]
async fn durable_records_share_syncs_and_are_all_answered() {
    let home = Home::new();
    let (journal, _) = home.open();
    let calls = (0..64).map(|n| {
        let journal = journal.clone();
        async move {
            let id = call(&format!("c{n}"));
            let entry = journal.begin(started(&id)).await.unwrap();
            entry.sync().await.unwrap();
            entry.finish(&finished(&id));
        }
    });
    futures_util::future::join_all(calls).await;
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 128);
}

#[tokio::test]
async fn a_call_whose_sync_fails_or_is_given_up_has_one_end() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let (journal, _) = home.open_with(options);
    faults.lanes_unsynced.store(true, Ordering::SeqCst);
    let (failed, given_up, dropped) = (call("failed"), call("given-up"), call("dropped"));
    let entry = journal.begin(started(&failed)).await.unwrap();
    assert!(entry.sync().await.is_err());
    let never_ran = CallFinished { executed: Executed::No, ..finished(&failed) };
    entry.finish(&CallFinished { outcome: Outcome::HostFault, ..never_ran });
    faults.lanes_unsynced.store(false, Ordering::SeqCst);
    let entry = journal.begin(started(&given_up)).await.unwrap();
    {
        let mut sync = Box::pin(entry.sync());
        // Whether the answer came is all the same.
        let _answer = futures_util::poll!(&mut sync);
    }
    entry.finish(&CallFinished { executed: Executed::No, ..finished(&given_up) });
    drop(journal.begin(started(&dropped)).await.unwrap());
    journal.close().await.unwrap();
    let ends: Vec<(String, String)> = home
        .entries()
        .iter()
        .filter(|entry| entry.kind == "CallFinished")
        .map(|entry| (entry.text("callId").unwrap().into(), entry.text("executed").unwrap().into()))
        .collect();
    let expected = [("failed", "no"), ("given-up", "no"), ("dropped", "maybe")];
    assert_eq!(ends, expected.map(|(id, executed)| (id.to_owned(), executed.to_owned())));
}

#[test]
fn a_folder_that_cannot_be_made_or_is_none_is_a_clear_error() {
    let home = Home::new();
    fs::write(home.audit(), b"a file").unwrap();
    let error = Journal::open(&home.audit(), JournalOptions::default(), || 1).unwrap_err();
    assert!(error.to_string().contains("is no folder"), "{error}");
    let error =
        Journal::open(Path::new("/proc/audit"), JournalOptions::default(), || 1).unwrap_err();
    assert!(error.to_string().contains("/proc/audit"), "{error}");
}

#[tokio::test]
async fn a_read_only_log_can_be_read_and_not_opened() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.close().await.unwrap();
    let folders = [home.audit().join("log"), home.audit().join("lanes"), home.audit()];
    let set = |mode| {
        for folder in &folders {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o500);
    // Root may write all the same; then there is nothing to refuse.
    let is_held = fs::write(home.audit().join("probe"), b"").is_err();
    let opened = Journal::open(&home.audit(), JournalOptions::default(), || 1);
    let read_back = home.verified().entries;
    set(0o700);
    assert_eq!(read_back, 2);
    if is_held {
        let error = opened.unwrap_err();
        assert!(matches!(error, JournalError::Forbidden { .. }), "{error}");
    }
}

#[test]
fn errors_say_what_the_operator_has_to_know() {
    let io = |kind: std::io::ErrorKind| JournalError::io("write", Path::new("a/b"), kind.into());
    assert!(matches!(io(std::io::ErrorKind::StorageFull), JournalError::Full(_)));
    assert!(matches!(io(std::io::ErrorKind::QuotaExceeded), JournalError::Full(_)));
    assert!(matches!(io(std::io::ErrorKind::ReadOnlyFilesystem), JournalError::Forbidden { .. }));
    let other = io(std::io::ErrorKind::BrokenPipe).to_string();
    assert!(other.starts_with("cannot write `a/b`: "), "{other}");
}
