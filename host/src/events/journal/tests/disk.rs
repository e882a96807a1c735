//! Disks that fail where it hurts, and folders that aren't ours alone.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::Ordering;

use super::kit::*;
use crate::events::journal::lane_file::Faults;
use crate::events::journal::lanes::Lanes;
use crate::events::journal::log::{Log, LogOptions};
use crate::events::journal::retain::Retention;
use crate::events::journal::*;
use crate::events::journal::{frame, segment};

fn with_faults() -> (JournalOptions, Faults) {
    let options = JournalOptions::default();
    let faults = options.faults.clone();
    (options, faults)
}

#[tokio::test]
async fn a_lane_stays_once_a_sync_of_the_log_has_failed() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let bounds = JournalOptions { undrained_max_len: 4096, lane_file_max_len: 1024, ..options };
    let (journal, _) = home.open_with(bounds);
    faults.log_unsynced.store(true, Ordering::SeqCst);
    for n in 0..4 {
        run(&journal, &format!("c{n}")).await;
        // A pass that had to sync fails.
        journal.flush().await.ok();
    }
    let lane = home.lanes().pop().unwrap();
    while journal.problem().is_none() {
        journal.flush().await.ok();
    }
    faults.log_unsynced.store(false, Ordering::SeqCst);
    let files = paths(&lane).len();
    for n in 4..8 {
        run(&journal, &format!("c{n}")).await;
        journal.flush().await.unwrap();
    }
    assert!(paths(&lane).len() > files, "no file of it goes any more");
    let problem = journal.problem().unwrap();
    assert!(problem.contains("could not be synced"), "{problem}");
    let lock = fs::File::open(home.audit().join("log.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let long = "x".repeat(1_000);
    while journal.note_now(&refused(&call("fills"), &long)).is_ok() {}
    let id = call("waits");
    let mut waits = Box::pin(journal.begin(started(&id)));
    assert!(futures_util::poll!(&mut waits).is_pending(), "a call waits, and isn't refused");
    drop(lock);
    waits.await.unwrap().finish(&finished(&id));
    let error = journal.close().await.unwrap_err();
    assert!(matches!(error, JournalError::Unsynced(_)), "{error}");
    assert!(lane.exists());
    assert!(home.verified().entries > 18, "copying goes on");
    assert_eq!(home.verified().pending, 0);
}

#[tokio::test]
async fn what_another_process_appended_is_synced_before_a_lane_goes() {
    let home = Home::new();
    let (one, _) = home.open();
    run(&one, "c1").await;
    one.flush().await.unwrap();
    let faults = Faults::default();
    let options = LogOptions { faults: faults.clone(), ..LogOptions::default() };
    let mut log = Log::open(&home.audit(), Lanes::in_folder(&home.audit()), options).unwrap();
    faults.log_unsynced.store(true, Ordering::SeqCst);
    assert!(log.lock().unwrap().sync().is_err(), "what it found as it was opened");
    let faults = Faults::default();
    let options = LogOptions { faults: faults.clone(), ..LogOptions::default() };
    let mut log = Log::open(&home.audit(), Lanes::in_folder(&home.audit()), options).unwrap();
    log.lock().unwrap().sync().unwrap();
    run(&one, "c2").await;
    one.flush().await.unwrap();
    faults.log_unsynced.store(true, Ordering::SeqCst);
    assert!(log.lock().unwrap().sync().is_err(), "what came since");
    one.close().await.unwrap();
}

#[tokio::test]
async fn a_segment_is_synced_before_another_begins_whoever_wrote_it() {
    let home = Home::new();
    let (one, _) = home.open();
    run(&one, "c1").await;
    one.flush().await.unwrap();
    let faults = Faults::default();
    let options =
        LogOptions { segment_max_len: 1, faults: faults.clone(), ..LogOptions::default() };
    let mut log = Log::open(&home.audit(), Lanes::in_folder(&home.audit()), options).unwrap();
    let mut locked = log.lock().unwrap();
    faults.log_unsynced.store(true, Ordering::SeqCst);
    let record = [(1, &b"{\"atUnixMs\":1,\"type\":\"T\"}"[..])];
    assert!(locked.append("other", record.into_iter(), 1).is_err());
    assert_eq!(home.segments().len(), 1);
    faults.log_unsynced.store(false, Ordering::SeqCst);
    locked.append("other", record.into_iter(), 1).unwrap();
    assert_eq!(home.segments().len(), 2);
    drop(locked);
    one.close().await.unwrap();
}

#[tokio::test]
async fn the_log_never_holds_an_end_that_its_lane_could_still_lose() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let (journal, _) = home.open_with(options);
    let entry = journal.begin(started(&call("c1"))).await.unwrap();
    journal.flush().await.unwrap();
    faults.lanes_unsynced.store(true, Ordering::SeqCst);
    assert!(journal.close().await.is_err());
    assert_eq!(home.told().len(), 1, "the lane couldn't be synced, so its end isn't copied");
    drop(entry);
}

#[tokio::test]
async fn retention_never_puts_into_the_log_what_its_lane_could_still_lose() {
    let home = Home::new();
    let small = JournalOptions { segment_max_len: 1024, ..JournalOptions::default() };
    let (journal, _) = home.open_with(small.clone());
    for n in 0..10 {
        run(&journal, &format!("c{n}")).await;
    }
    journal.close().await.unwrap();
    let (options, faults) = with_faults();
    faults.lanes_unsynced.store(true, Ordering::SeqCst);
    let retention = Retention { max_bytes: Some(1), max_age_ms: None };
    let (journal, _) = home.open_with(JournalOptions { retention, ..options });
    while journal.problem().is_none() {
        tokio::task::yield_now().await;
    }
    assert!(home.told().iter().all(|(_, kind)| kind != "Checkpoint"));
    faults.lanes_unsynced.store(false, Ordering::SeqCst);
    while home.segments().len() > 1 {
        tokio::task::yield_now().await;
    }
    journal.close().await.unwrap();
    assert!(home.verified().removed_through.is_some(), "and it is tried again");
}

#[tokio::test]
async fn a_host_that_stays_on_one_segment_begins_another_in_time_for_retention() {
    test_clock!(set, clock);
    set(1);
    let home = Home::new();
    let retention = Retention { max_bytes: None, max_age_ms: Some(1_000) };
    let options = JournalOptions { retention, ..JournalOptions::default() };
    let (journal, _) = Journal::open(&home.audit(), options, clock).unwrap();
    for (id, at) in [("c1", 1), ("c2", 90), ("c3", 150), ("c4", 1_500)] {
        set(at);
        run(&journal, id).await;
        journal.flush().await.unwrap();
    }
    journal.close().await.unwrap();
    let told = home.told();
    assert!(!told.iter().any(|(id, _)| id == "c1" || id == "c2"), "{told:?}");
    assert!(told.iter().any(|(id, _)| id == "c3"), "{told:?}");
    home.verified();
    let day = 24 * 60 * 60 * 1000;
    let month = Retention { max_bytes: None, max_age_ms: Some(30 * day) };
    assert_eq!(month.segment_max_age_ms(), Some(day));
}

#[tokio::test]
async fn a_record_that_was_written_in_part_leaves_nothing_behind() {
    let home = Home::new();
    let (options, faults) = with_faults();
    let (journal, _) = home.open_with(options);
    faults.torn.store(true, Ordering::SeqCst);
    let (id, long) = (call("c1"), "x".repeat(1_000));
    assert!(journal.note(refused(&id, &long), false).await.is_err());
    faults.torn.store(false, Ordering::SeqCst);
    journal.note(refused(&id, "no"), false).await.unwrap();
    journal.flush().await.unwrap();
    let file = paths(&home.lanes()[0]).pop().unwrap();
    let bytes = fs::read(file).unwrap();
    let end = frame::all(&bytes, 0).last().unwrap().1;
    assert!(bytes[end..].iter().all(|byte| *byte == 0));
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 1);
}

#[tokio::test]
async fn notes_that_cannot_wait_are_dropped_above_a_bound_and_counted() {
    let home = Home::new();
    let options = JournalOptions { undrained_max_len: 2_000, ..JournalOptions::default() };
    let (journal, _) = home.open_with(options);
    run(&journal, "c1").await;
    journal.flush().await.unwrap();
    let lock = fs::File::open(home.audit().join("log.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let (id, long) = (call("c2"), "x".repeat(500));
    let noted = (0..100).map(|_| journal.note_now(&refused(&id, &long)));
    let (taken, dropped): (Vec<_>, Vec<_>) = noted.partition(Result::is_ok);
    assert!((4..12).contains(&taken.len()), "{}", taken.len());
    assert!(matches!(dropped[0], Err(JournalError::Behind(_))));
    let problem = journal.problem().unwrap();
    assert!(problem.contains(&format!("{} records were dropped", dropped.len())), "{problem}");
    drop(lock);
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 2 + taken.len() as u64);
}

#[tokio::test]
async fn numbers_that_only_the_log_has_left_are_not_given_again() {
    let home = Home::new();
    let (journal, _) = home.open();
    let (one, two) = (call("one"), call("two"));
    let first = journal.begin(started(&one)).await.unwrap();
    let second = journal.begin(started(&two)).await.unwrap();
    first.finish(&finished(&one));
    journal.flush().await.unwrap();
    let crashed = home.crashed();
    // A power cut takes from the lane the end of the first and the beginning of the second.
    let file = paths(&crashed.lanes()[0]).pop().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let end = frame::all(&bytes, 0).nth(1).unwrap().1;
    bytes[end..].fill(0);
    fs::write(&file, bytes).unwrap();
    let again = crashed.crashed();
    let recovered = recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    let ids: Vec<&str> = recovered.interrupted.iter().map(|it| it.call_id.as_str()).collect();
    assert_eq!(ids, ["two"], "the log has the end of the first");
    let told: Vec<_> = crashed.entries();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!((told[3].text("callId"), &told[3].fields["number"]), (Some("two"), &4.into()));
    crashed.verified();
    // It is cut off before the lane is gone: what it wrote there counts.
    let untold = CutOffListener::new(|_| Err("no".to_owned()));
    assert!(recover(&again.audit(), || 9, &untold).is_err());
    recover(&again.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(again.verified().entries, 4);
    drop(second);
    journal.close().await.unwrap();
}

#[tokio::test]
async fn a_call_that_was_let_go_is_not_called_recovered() {
    let home = Home::new();
    let (journal, _) = home.open();
    drop(journal.begin(started(&call("let-go"))).await.unwrap());
    let open = journal.begin(started(&call("open"))).await.unwrap();
    journal.flush().await.unwrap();
    let end = home.entries().pop().unwrap();
    let let_go: Vec<Entry> =
        home.entries().into_iter().filter(|it| it.text("callId") == Some("let-go")).collect();
    assert_eq!(let_go[1].text("outcome"), Some("interrupted"));
    assert_eq!(let_go[1].fields.get("recovered"), None);
    assert_eq!(end.kind, "CallStarted");
    let crashed = home.crashed();
    let recovered = recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    let ids: Vec<&str> = recovered.interrupted.iter().map(|it| it.call_id.as_str()).collect();
    assert_eq!(ids, ["open"], "only what recovery ended");
    drop(open);
    journal.close().await.unwrap();
}

fn refusal(audit: &Path) -> JournalError {
    Journal::open(audit, JournalOptions::default(), || 1).unwrap_err()
}

#[tokio::test]
async fn a_folder_that_is_open_to_others_or_leads_elsewhere_is_refused() {
    let home = Home::new();
    let (journal, _) = home.open();
    let crashed_lane = home.crashed();
    journal.close().await.unwrap();
    for name in ["", "log", "lanes"] {
        let folder = home.audit().join(name);
        for mode in [0o750, 0o702, 0o755] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let error = refusal(&home.audit());
            assert!(matches!(error, JournalError::NotPrivate { .. }), "{error}");
            assert!(error.to_string().contains(&format!("mode 0{mode:o}")), "{error}");
            assert!(error.to_string().contains("mode 0700"), "{error}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::set_permissions(crashed_lane.audit(), fs::Permissions::from_mode(0o755)).unwrap();
    let error = recover(&crashed_lane.audit(), || 9, &CutOffListener::default()).unwrap_err();
    assert!(matches!(error, JournalError::NotPrivate { .. }), "{error}");
    let link = home.audit().with_file_name("link");
    symlink(home.audit(), &link).unwrap();
    assert!(refusal(&link).to_string().contains("is a symbolic link"));
}

#[tokio::test]
async fn no_file_of_the_log_is_reached_by_a_link() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.flush().await.unwrap();
    let lane = home.crashed();
    journal.close().await.unwrap();
    let segment = home.segments().pop().unwrap();
    let lane_file = paths(&lane.lanes()[0]).pop().unwrap();
    for (audit, file) in [
        (home.audit(), home.audit().join("log.lock")),
        (home.audit(), segment.clone()),
        (lane.audit(), lane_file),
    ] {
        let elsewhere = home.audit().with_file_name("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        let error = refusal(&audit);
        assert!(error.to_string().contains("it is a symbolic link"), "{error}");
        fs::remove_file(&file).unwrap();
        fs::rename(&elsewhere, &file).unwrap();
    }
}

#[tokio::test]
async fn what_is_put_aside_is_for_its_owner_alone() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.flush().await.unwrap();
    let crashed = home.crashed();
    journal.close().await.unwrap();
    let path = segment::path_of(&crashed.audit().join("log"), 1);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(fs::metadata(&path).unwrap().len() - 3).unwrap();
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    let damaged = crashed.audit().join("damaged");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&damaged), 0o700);
    assert_eq!(paths(&damaged).iter().map(|path| mode(path)).collect::<Vec<_>>(), [0o600]);
}

#[tokio::test]
async fn a_process_syncs_what_it_wrote_to_a_segment_that_another_has_left() {
    let home = Home::new();
    let (one, _) = home.open();
    run(&one, "c1").await;
    one.flush().await.unwrap();
    let open = |faults: &Faults, segment_max_len| {
        let options =
            LogOptions { segment_max_len, faults: faults.clone(), ..LogOptions::default() };
        Log::open(&home.audit(), Lanes::in_folder(&home.audit()), options).unwrap()
    };
    let faults = Faults::default();
    let mut log = open(&faults, 1 << 20);
    let record = [(1, &b"{\"atUnixMs\":1,\"type\":\"T\"}"[..])];
    log.lock().unwrap().append("other", record.into_iter(), 1).unwrap();
    open(&Faults::default(), 1).lock().unwrap().append("third", record.into_iter(), 1).unwrap();
    assert_eq!(home.segments().len(), 2);
    faults.log_unsynced.store(true, Ordering::SeqCst);
    assert!(log.lock().is_err());
    faults.log_unsynced.store(false, Ordering::SeqCst);
    let error = log.lock().unwrap().sync().unwrap_err();
    assert!(matches!(error, JournalError::Unsynced(_)), "{error}");
    one.close().await.unwrap();
}
