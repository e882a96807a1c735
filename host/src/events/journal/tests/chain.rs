//! The chain: every change to what was written is found, and retention leaves it whole.

use std::fs;
use std::path::Path;

use super::kit::*;
use crate::contract::ids::Digest;
use crate::events::journal::retain::Retention;
use crate::events::journal::*;
use crate::events::journal::{frame, segment};

fn small_segments() -> JournalOptions {
    JournalOptions { segment_max_len: 4096, ..JournalOptions::default() }
}

/// A closed log of `calls` calls in segments of about 4 KiB.
async fn written(calls: usize) -> Home {
    let home = Home::new();
    let (journal, _) = home.open_with(small_segments());
    for n in 0..calls {
        run(&journal, &format!("c{n}")).await;
    }
    journal.close().await.unwrap();
    home
}

fn frames(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    frame::all(&bytes, 0).map(|(payload, _)| payload.to_owned()).collect()
}

fn rewrite(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    for payload in frames {
        assert!(frame::push(&mut bytes, payload));
    }
    fs::write(path, bytes).unwrap();
}

fn wrong(home: &Home, expected: Option<Head>) -> VerifyError {
    verify(&home.audit(), expected).unwrap_err()
}

#[tokio::test]
async fn segments_are_one_chain() {
    let home = written(40).await;
    assert!(home.segments().len() > 3);
    let verified = home.verified();
    assert_eq!((verified.entries, verified.first_seq), (80, Some(1)));
    let numbers: Vec<u64> = home.entries().iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=80).collect::<Vec<u64>>());
    assert_eq!(verify(&home.audit(), verified.head).unwrap(), verified);
}

#[tokio::test]
async fn a_flipped_byte_anywhere_is_found() {
    let home = written(12).await;
    let segments = home.segments();
    for path in [&segments[0], &segments[1], &segments[segments.len() - 1]] {
        let whole = fs::read(path).unwrap();
        for place in (0..whole.len()).step_by(31) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            fs::write(path, bytes).unwrap();
            assert!(verify(&home.audit(), None).is_err(), "byte {place} of {}", path.display());
        }
        fs::write(path, whole).unwrap();
    }
    assert_eq!(home.verified().entries, 24);
}

#[tokio::test]
async fn an_entry_that_was_changed_removed_or_moved_is_named() {
    let home = written(12).await;
    let path = &home.segments()[0];
    let whole = frames(path);
    let text = |payload: &[u8]| String::from_utf8(payload.to_vec()).unwrap();

    let mut changed = whole.clone();
    changed[2] = text(&changed[2]).replace("success", "denied!").into_bytes();
    rewrite(path, &changed);
    let error = wrong(&home, None);
    assert!(matches!(error, VerifyError::Broken { seq: 3, .. }), "{error}");

    let mut removed = whole.clone();
    removed.remove(2);
    rewrite(path, &removed);
    let error = wrong(&home, None);
    assert!(matches!(error, VerifyError::Missing { seq: 2, found: 3, .. }), "{error}");
    assert!(error.to_string().contains("00000000000000000001.log"), "{error}");

    let mut swapped = whole.clone();
    swapped.swap(2, 3);
    rewrite(path, &swapped);
    let error = wrong(&home, None);
    assert!(matches!(error, VerifyError::Missing { seq: 2, found: 3, .. }), "{error}");

    let mut header = whole.clone();
    header[0] = text(&header[0]).replace("\"atUnixMs\":1000", "\"atUnixMs\":1001").into_bytes();
    assert_ne!(header[0], whole[0]);
    rewrite(path, &header);
    let error = wrong(&home, None);
    assert!(matches!(error, VerifyError::Broken { seq: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_segment_that_was_removed_or_renamed_is_found() {
    let home = written(40).await;
    let segments = home.segments();
    let moved = home.audit().join("elsewhere");
    for (place, missing) in segments.iter().enumerate().take(segments.len() - 1) {
        fs::rename(missing, &moved).unwrap();
        match wrong(&home, None) {
            VerifyError::NoBeginning(_) => assert_eq!(place, 0),
            VerifyError::Missing { .. } => assert_ne!(place, 0),
            other => panic!("{other}"),
        }
        fs::rename(&moved, missing).unwrap();
    }
    let other_name = segments[1].with_file_name("00000000000000000002.log");
    fs::rename(&segments[1], other_name).unwrap();
    let error = wrong(&home, None);
    assert!(matches!(error, VerifyError::Missing { .. }), "{error}");
}

#[tokio::test]
async fn a_head_kept_elsewhere_shows_a_log_that_was_cut_or_rewritten() {
    let home = written(12).await;
    let kept = head(&home.audit()).unwrap().unwrap();
    assert_eq!(kept.seq, 24);
    let last = home.segments().pop().unwrap();
    let mut short = frames(&last);
    short.pop();
    rewrite(&last, &short);
    assert_eq!(home.verified().entries, 23, "the chain alone can't know");
    let error = wrong(&home, Some(kept));
    assert!(matches!(error, VerifyError::Cut { last: 23, expected: 24 }), "{error}");
    let other = Head { seq: 5, hash: Digest::of(b"other") };
    assert!(matches!(wrong(&home, Some(other)), VerifyError::Rewritten(5)));
    fs::remove_dir_all(home.audit().join("log")).unwrap();
    assert!(matches!(wrong(&home, Some(kept)), VerifyError::Cut { last: 0, .. }));
}

#[tokio::test]
async fn retention_by_size_leaves_a_log_that_verifies() {
    let home = Home::new();
    let retention = Retention { max_bytes: Some(16 * 1024), max_age_ms: None };
    let options = JournalOptions { retention, ..small_segments() };
    let (journal, _) = home.open_with(options.clone());
    for n in 0..200 {
        run(&journal, &format!("c{n}")).await;
        journal.flush().await.unwrap();
    }
    let kept_early = Head { seq: 1, hash: home.entries()[0].hash };
    journal.close().await.unwrap();
    // Room for the newest segment, which may exceed the bound, and none that is due.
    assert!(home.segments().len() < 8, "{}", home.segments().len());
    let verified = home.verified();
    assert!(verified.removed_through.unwrap() > 200, "{verified:?}");
    assert_eq!(verified.first_seq, Some(verified.removed_through.unwrap() + 1));
    let checkpoint = Filter { kind: Some("Checkpoint".into()), ..Filter::default() };
    let last = read(&home.audit(), checkpoint).unwrap().last().unwrap().unwrap();
    assert_eq!(last.fields["removedThrough"], verified.removed_through.unwrap());
    assert!(matches!(wrong(&home, Some(kept_early)), VerifyError::HeadRemoved { .. }));
    let (journal, _) = home.open_with(options);
    run(&journal, "later").await;
    journal.close().await.unwrap();
    home.verified();
    fs::remove_file(&home.segments()[0]).unwrap();
    assert!(matches!(wrong(&home, None), VerifyError::NoBeginning(_)), "more went than was said");
}

#[tokio::test]
async fn retention_by_age_stops_at_the_first_segment_that_stays() {
    test_clock!(set, clock);
    let home = Home::new();
    let retention = Retention { max_bytes: None, max_age_ms: Some(1_000) };
    let options = JournalOptions { retention, ..small_segments() };
    let (journal, _) = Journal::open(&home.audit(), options.clone(), clock).unwrap();
    for n in 0..20 {
        run(&journal, &format!("c{n}")).await;
    }
    journal.close().await.unwrap();
    assert_eq!(home.verified().removed_through, None);
    set(5_000);
    let (journal, _) = Journal::open(&home.audit(), options, clock).unwrap();
    run(&journal, "late").await;
    journal.close().await.unwrap();
    let verified = home.verified();
    assert!(verified.removed_through.unwrap() > 0);
    assert!(home.told().iter().any(|(id, _)| id == "late"));
    assert!(!home.told().iter().any(|(id, _)| id == "c0"));
}

#[tokio::test]
async fn a_crash_between_checkpoint_and_removal_still_verifies() {
    let home = written(40).await;
    let (first, second) = (&home.segments()[0], &home.segments()[1]);
    let kept = segment::read_header(second).unwrap().unwrap();
    let (journal, _) = home.open();
    let record = Record::Checkpoint {
        removed_through: kept.first_seq - 1,
        link: &kept.previous,
        reason: "retention",
    };
    journal.note(record, false).await.unwrap();
    journal.close().await.unwrap();
    assert_eq!(home.verified().removed_through, None);
    fs::remove_file(first).unwrap();
    assert_eq!(home.verified().removed_through, Some(kept.first_seq - 1));
}

#[tokio::test]
async fn a_checkpoint_that_names_another_link_is_found() {
    let home = written(40).await;
    let second = segment::read_header(&home.segments()[1]).unwrap().unwrap();
    let (journal, _) = home.open();
    let record = Record::Checkpoint {
        removed_through: second.first_seq - 1,
        link: &DIGEST,
        reason: "forged",
    };
    journal.note(record, false).await.unwrap();
    journal.close().await.unwrap();
    fs::remove_file(&home.segments()[0]).unwrap();
    assert!(matches!(wrong(&home, None), VerifyError::Checkpoint(_)));
}

#[tokio::test]
async fn two_journals_write_one_chain() {
    let home = Home::new();
    let (one, _) = home.open_with(small_segments());
    let (two, recovered) = home.open_with(small_segments());
    assert_eq!(recovered.lanes, 0, "a living lane is left alone");
    for n in 0..60 {
        run(&one, &format!("a{n}")).await;
        run(&two, &format!("b{n}")).await;
        if n % 7 == 0 {
            one.flush().await.unwrap();
        }
        if n % 5 == 0 {
            two.flush().await.unwrap();
        }
    }
    one.close().await.unwrap();
    two.close().await.unwrap();
    let mut told = home.told();
    assert_eq!((told.len(), home.verified().entries), (240, 240));
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 240);
}

#[tokio::test]
async fn pending_records_of_a_living_lane_are_counted() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.flush().await.unwrap();
    let verified = home.verified();
    assert_eq!((verified.lanes, verified.pending, verified.entries), (1, 0, 2));
    journal.kill();
    let lane = &home.lanes()[0];
    fs::remove_dir_all(home.audit().join("log")).unwrap();
    assert!(lane.exists());
    assert_eq!(home.verified().pending, 2);
}
