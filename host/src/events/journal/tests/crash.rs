//! Crashes at every step between lane and log: nothing twice, nothing lost, every call ended.

use std::fs;

use super::kit::*;
use crate::events::journal::lane::{Lane, Room};
use crate::events::journal::lane_file::Faults;
use crate::events::journal::lanes::Lanes;
use crate::events::journal::log::{Log, LogOptions};
use crate::events::journal::*;
use crate::events::journal::{frame, segment};

/// A store whose only lane holds these records and has not been copied.
pub(super) fn undrained(write: impl FnOnce(&Lane)) -> Home {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.kill();
    for lane in home.lanes() {
        fs::remove_dir_all(lane).unwrap();
    }
    let lane = Lanes::in_folder(&home.audit()).create(1, Faults::default()).unwrap();
    write(&lane);
    // A copy, whose files nobody has locked: a process that another test just began holds copies of
    // this one's locks until it is a program.
    home.crashed()
}

pub(super) fn put(lane: &Lane, room: Room, json: &str) -> u64 {
    let write = |buffer: &mut Vec<u8>| {
        buffer.extend_from_slice(json.as_bytes());
        Ok(())
    };
    lane.append(room, write).unwrap().number
}

pub(super) fn start_json(id: &str) -> String {
    let mut json = Vec::new();
    let redactor = crate::events::Redactor::default();
    let writing = super::super::record::Writing { at_unix_ms: 5, redactor: &redactor };
    writing.started(&mut json, &started(&call(id))).unwrap();
    String::from_utf8(json).unwrap()
}

pub(super) fn ids(home: &Home, kind: &str) -> Vec<String> {
    home.told().into_iter().filter(|(_, it)| it == kind).map(|(id, _)| id).collect()
}

#[tokio::test]
async fn a_killed_process_leaves_no_call_without_an_end() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "done").await;
    let (id, again) = (call("open"), call("open"));
    let one = journal.begin(started(&id)).await.unwrap();
    let two = journal.begin(started(&again)).await.unwrap();
    two.sync().await.unwrap();
    one.finish(&finished(&id));
    let crashed = home.crashed();
    drop(two);
    journal.kill();
    let (journal, recovered) = crashed.open();
    assert_eq!((recovered.lanes, recovered.torn_bytes), (1, 0));
    let [interrupted] = &recovered.interrupted[..] else { panic!("{recovered:?}") };
    assert_eq!((interrupted.call_id.as_str(), interrupted.started_unix_ms), ("open", 1_000));
    assert_eq!(interrupted.tool, *TOOL);
    journal.close().await.unwrap();
    assert_eq!(ids(&crashed, "CallStarted"), ["done", "open", "open"]);
    assert_eq!(ids(&crashed, "CallFinished"), ["done", "open", "open"]);
    let last = crashed.entries().pop().unwrap();
    assert_eq!(
        (last.text("outcome"), &last.fields["recovered"]),
        (Some("interrupted"), &true.into())
    );
    assert_eq!((last.text("executed"), &last.fields["start"]), (Some("maybe"), &4.into()));
    assert!(crashed.lanes().is_empty());
    assert_eq!(crashed.verified().entries, 6);
    let (journal, recovered) = crashed.open();
    assert_eq!(recovered, Recovered::default(), "once is enough");
    journal.close().await.unwrap();
    assert_eq!(crashed.verified().entries, 6);
}

#[test]
fn a_torn_lane_keeps_every_whole_record_whatever_byte_it_is_torn_at() {
    let home = undrained(|lane| {
        put(lane, Room::Start, &start_json("a"));
        put(lane, Room::Start, &start_json("b"));
        put(lane, Room::End, r#"{"atUnixMs":6,"type":"CallFinished","start":1,"callId":"a"}"#);
    });
    let file = paths(&home.lanes()[0]).pop().unwrap();
    let whole = fs::read(&file).unwrap();
    let ends: Vec<usize> = frame::all(&whole, 0).map(|(_, end)| end).collect();
    let end = *ends.last().unwrap();
    for cut in (0..=end).step_by(23).chain(ends.iter().copied()) {
        // What wasn't written yet is zeros where room was taken, and nothing where it wasn't.
        for room in [0, whole.len() - cut] {
            let mut bytes = whole[..cut].to_vec();
            bytes.resize(cut + room, 0);
            fs::write(&file, &bytes).unwrap();
            if room == 0 && cut % 3 != 0 {
                continue;
            }
            let crashed = home.crashed();
            let recovered = recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
            let records = ends[1..].iter().filter(|end| **end <= cut).count();
            let open = [0, 1, 2, 1][records];
            assert_eq!(recovered.interrupted.len(), open, "cut at {cut}");
            assert_eq!(ids(&crashed, "CallStarted").len(), records.min(2), "cut at {cut}");
            assert_eq!(ids(&crashed, "CallFinished").len(), records.min(2), "cut at {cut}");
            assert_eq!(crashed.verified().entries, 2 * records.min(2) as u64, "cut at {cut}");
            assert!(crashed.lanes().is_empty());
        }
    }
}

#[test]
fn a_copy_that_was_cut_off_anywhere_goes_on_without_repeating() {
    let calls = 6;
    let home = undrained(|lane| {
        for n in 0..calls {
            put(lane, Room::Start, &start_json(&format!("c{n}")));
        }
    });
    // The log as it is when all is copied, and the lane still there.
    let done = home.crashed();
    recover(&done.audit(), || 9, &CutOffListener::default()).unwrap();
    let segment = done.segments().pop().unwrap();
    let whole = fs::read(&segment).unwrap();
    let name = segment.file_name().unwrap();
    let header = frame::all(&whole, 0).next().unwrap().1;
    // Now here, now there in the header, then a step that meets frames at ever other places.
    for (turn, cut) in
        (0..header).step_by(17).chain((header..=whole.len()).step_by(211)).enumerate()
    {
        for zeros in [[0, 300], [5, 0]][turn % 2] {
            let crashed = home.crashed();
            let mut bytes = whole[..cut].to_vec();
            bytes.resize(cut + zeros, 0);
            fs::write(crashed.audit().join("log").join(name), bytes).unwrap();
            let recovered = recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
            assert_eq!(recovered.interrupted.len(), calls);
            let expected: Vec<String> = (0..calls).map(|n| format!("c{n}")).collect();
            assert_eq!(ids(&crashed, "CallStarted"), expected, "cut at {cut} + {zeros}");
            assert_eq!(ids(&crashed, "CallFinished"), expected, "cut at {cut} + {zeros}");
            assert_eq!(crashed.verified().entries, 2 * calls as u64);
        }
    }
}

#[test]
fn a_recovery_that_was_cut_off_after_the_endings_ends_nothing_twice() {
    let home = undrained(|lane| {
        put(lane, Room::Start, &start_json("a"));
    });
    let before = home.crashed();
    recover(&home.audit(), || 9, &CutOffListener::default()).unwrap();
    // The log is whole, the lane was not removed yet and holds no ending, as after a power cut.
    let segment = home.segments().pop().unwrap();
    fs::copy(&segment, before.audit().join("log").join(segment.file_name().unwrap())).unwrap();
    recover(&before.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(ids(&before, "CallFinished"), ["a"]);
    assert_eq!(before.verified().entries, 2);
}

#[test]
fn who_keeps_something_of_a_cut_off_call_hears_of_it_until_that_is_dealt_with() {
    let home = undrained(|lane| {
        put(lane, Room::Start, &start_json("a"));
        put(lane, Room::Start, &start_json("b"));
        put(
            lane,
            Room::End,
            r#"{"atUnixMs":1,"type":"CallFinished","start":2,"callId":"b","toolName":"t"}"#,
        );
    });
    let full = || CutOffListener::new(|_| Err("the disk is full".to_owned()));
    for _ in 0..2 {
        let error = recover(&home.audit(), || 9, &full()).unwrap_err();
        assert!(error.to_string().ends_with("no call starts: the disk is full"), "{error}");
        let options = JournalOptions { listener: full(), ..JournalOptions::default() };
        assert!(Journal::open(&home.audit(), options, || 9).is_err());
        assert_eq!(home.lanes().len(), 1, "it is kept for the next");
    }
    let (told, heard) = std::sync::mpsc::channel();
    let listener = CutOffListener::new(move |calls| {
        let ids = calls.iter().map(|call| call.call_id.to_string());
        told.send(ids.collect::<Vec<_>>()).map_err(|error| error.to_string())
    });
    let recovered = recover(&home.audit(), || 9, &listener).unwrap();
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [["a"]]);
    assert_eq!(recovered.interrupted.len(), 1);
    assert!(home.lanes().is_empty());
    assert_eq!(
        (ids(&home, "CallFinished").len(), home.verified().entries),
        (2, 4),
        "each end once"
    );
}

#[tokio::test]
async fn a_power_cut_that_left_a_hole_in_the_log_is_made_up_for_by_the_lane() {
    let home = Home::new();
    let (journal, _) = home.open();
    for n in 0..5 {
        run(&journal, &format!("c{n}")).await;
    }
    journal.flush().await.unwrap();
    let crashed = home.crashed();
    journal.kill();
    let segment = crashed.segments().pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let ends: Vec<usize> = frame::all(&bytes, 0).map(|(_, end)| end).collect();
    bytes[ends[2]..ends[3]].fill(0);
    fs::write(&segment, bytes).unwrap();
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(crashed.verified().entries, 10);
    assert_eq!(ids(&crashed, "CallFinished").len(), 5);
}

#[tokio::test]
async fn a_damaged_log_is_left_as_it_is_and_gone_on_behind() {
    let home = Home::new();
    let (journal, _) = home.open();
    for n in 0..5 {
        run(&journal, &format!("c{n}")).await;
    }
    journal.close().await.unwrap();
    let segment = home.segments().pop().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let third = frame::all(&bytes, 0).nth(3).unwrap().1;
    bytes[third - 4] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let (journal, _) = home.open();
    run(&journal, "later").await;
    journal.close().await.unwrap();
    assert_eq!(fs::read(&segment).unwrap(), bytes, "evidence stays");
    let error = verify(&home.audit(), None).unwrap_err();
    assert!(matches!(error, VerifyError::Damaged { seq: 3, .. }), "{error}");
    let next = home.segments().pop().unwrap();
    let header = segment::read_header(&next).unwrap().unwrap();
    assert_eq!(
        (header.first_seq, header.after_damage),
        (11, Some("00000000000000000001.log".into()))
    );
    let entries = read(&home.audit(), Filter::default()).unwrap();
    let (good, bad): (Vec<_>, Vec<_>) = entries.partition(Result::is_ok);
    let behind = "two before the damage, seven behind it, and two in the next segment";
    assert_eq!((good.len(), bad.len()), (2 + 7 + 2, 1), "{behind}");
}

#[tokio::test]
async fn a_lane_whose_files_were_changed_hands_over_is_recovered_whole() {
    let home = Home::new();
    let options = JournalOptions { lane_file_max_len: 2048, ..JournalOptions::default() };
    let (journal, _) = home.open_with(options);
    let id = call("long");
    let long = journal.begin(started(&id)).await.unwrap();
    for n in 0..30 {
        run(&journal, &format!("c{n}")).await;
        journal.flush().await.unwrap();
    }
    let lane = &home.lanes()[0];
    assert!(paths(lane).len() > 3, "an open call keeps the files from its own on");
    let crashed = home.crashed();
    let recovered = recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(recovered.interrupted.len(), 1);
    assert_eq!(recovered.interrupted[0].call_id.as_str(), "long");
    assert_eq!(crashed.verified().entries, 62);

    long.finish(&finished(&id));
    for n in 0..8 {
        run(&journal, &format!("d{n}")).await;
        journal.flush().await.unwrap();
    }
    journal.flush().await.unwrap();
    assert!(paths(lane).len() < 4, "{:?}", paths(lane));
    journal.close().await.unwrap();
    assert_eq!(home.verified().entries, 78);
}

#[test]
fn a_damaged_lane_is_put_aside_and_told() {
    let home = undrained(|lane| {
        put(lane, Room::Start, &start_json("a"));
        assert!(lane.go_on_after(1).unwrap());
        put(lane, Room::Start, &start_json("b"));
    });
    let lane = &home.lanes()[0];
    let first = &paths(lane)[0];
    let mut bytes = fs::read(first).unwrap();
    bytes[60] ^= 1;
    fs::write(first, bytes).unwrap();
    let recovered = recover(&home.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(recovered.damaged.len(), 1);
    assert_eq!(ids(&home, "CallStarted"), ["b"]);
    assert!(home.audit().join("damaged").join(&recovered.damaged[0]).is_dir());
    assert!(home.lanes().is_empty());
}

#[test]
fn a_store_from_a_newer_version_is_refused() {
    for (folder, json) in [("log", r#"{"belljarAudit":9}"#), ("lanes", r#"{"belljarLane":9}"#)] {
        let home = undrained(|_| {});
        let file = match folder {
            "log" => home.audit().join("log").join("00000000000000000001.log"),
            _ => paths(&home.lanes()[0]).pop().unwrap(),
        };
        let mut bytes = Vec::new();
        assert!(frame::push(&mut bytes, json.as_bytes()));
        fs::write(&file, &bytes).unwrap();
        let error = Journal::open(&home.audit(), JournalOptions::default(), || 1).unwrap_err();
        assert!(matches!(error, JournalError::Newer { found: 9, known: 1, .. }), "{error}");
        assert_eq!(fs::read(&file).unwrap(), bytes, "untouched");
    }
}

#[test]
fn a_segment_without_a_header_is_put_aside() {
    let home = undrained(|lane| {
        put(lane, Room::Start, &start_json("a"));
    });
    let log = home.audit().join("log");
    fs::write(log.join("00000000000000000001.log"), b"\x09\0\0\0torn").unwrap();
    assert_eq!(head(&home.audit()).unwrap(), None, "another process may be making it");
    assert_eq!(home.verified().unfinished_bytes, 8);
    recover(&home.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(home.verified().entries, 2);
    let [kept] = &paths(&home.audit().join("damaged"))[..] else { panic!("one is kept") };
    assert_eq!(fs::read(kept).unwrap(), b"\x09\0\0\0torn");
}

#[test]
fn the_lock_is_one_for_all() {
    let home = undrained(|_| {});
    let lanes = Lanes::in_folder(&home.audit());
    let open = || Log::open(&home.audit(), lanes.clone(), LogOptions::default()).unwrap();
    let (mut one, mut two) = (open(), open());
    let held = one.lock().unwrap();
    let got = Count::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let _held = two.lock().unwrap();
            got.up()
        });
        got.up();
        drop(held);
        assert_eq!(waiting.join().unwrap(), 1, "only after the other let go");
    });
}
