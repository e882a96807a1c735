//! What is torn is made up for, and what is spoilt stays for a person to see.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use super::kit::*;
use crate::events::journal::lane::Room;
use crate::events::journal::lane_file::Faults;
use crate::events::journal::lanes::Lanes;
use crate::events::journal::log::{Log, LogOptions};
use crate::events::journal::*;
use crate::events::journal::{frame, segment};

async fn closed(calls: usize) -> Home {
    let home = Home::new();
    let (journal, _) = home.open();
    for n in 0..calls {
        run(&journal, &format!("c{n}")).await;
    }
    journal.close().await.unwrap();
    home
}

fn ends(bytes: &[u8]) -> Vec<usize> {
    frame::all(bytes, 0).map(|(_, end)| end).collect()
}

pub(super) fn kept(home: &Home) -> Vec<PathBuf> {
    let folder = home.audit().join("damaged");
    if folder.exists() { paths(&folder) } else { Vec::new() }
}

fn header_of_newest(home: &Home) -> segment::Header {
    segment::read_header(&home.segments().pop().unwrap()).unwrap().unwrap()
}

#[tokio::test]
async fn a_changed_last_entry_is_damage_and_stays() {
    let home = closed(2).await;
    let path = home.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let last = ends(&whole)[3];
    // Its length, made shorter, longer or none, its checksum, and what it says.
    for (place, change) in [(0, 1), (1, 0x40), (2, 1), (3, 0x10), (5, 1), (60, 1)] {
        let mut bytes = whole.clone();
        bytes[last + place] ^= change;
        fs::write(&path, &bytes).unwrap();
        let error = verify(&home.audit(), None).unwrap_err();
        assert!(matches!(error, VerifyError::Damaged { seq: 4, .. }), "byte {place}: {error}");
        assert!(matches!(head(&home.audit()), Err(JournalError::Damaged { .. })), "byte {place}");
        assert!(read(&home.audit(), Filter::default()).unwrap().any(|entry| entry.is_err()));
    }
    let spoilt = fs::read(&path).unwrap();
    let (journal, _) = home.open();
    run(&journal, "later").await;
    journal.close().await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), spoilt, "evidence stays");
    let error = verify(&home.audit(), None).unwrap_err();
    assert!(matches!(error, VerifyError::Damaged { seq: 4, .. }), "{error}");
    assert_eq!(home.segments().len(), 2);
}

#[tokio::test]
async fn reading_goes_on_behind_a_spoilt_place_and_says_what_is_left_out() {
    let home = closed(4).await;
    let path = home.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let ends = ends(&whole);
    // In the middle, by its length and by what it says; then the last, behind which nothing is.
    for (spoilt, place, next) in [(3, 1, Some(4)), (3, 60, Some(4)), (8, 60, None)] {
        let mut bytes = whole.clone();
        bytes[ends[spoilt - 1] + place] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let (entries, errors): (Vec<_>, Vec<_>) =
            read(&home.audit(), Filter::default()).unwrap().partition(Result::is_ok);
        let numbers: Vec<_> = entries.into_iter().map(|entry| entry.unwrap().seq).collect();
        let others: Vec<_> = (1..=8).filter(|seq| *seq != spoilt as u64).collect();
        assert_eq!(numbers, others, "{spoilt}");
        let [Err(error)] = &errors[..] else { panic!("{errors:?}") };
        let JournalError::Spoilt { at, left_out, next: found, .. } = error else {
            panic!("{error}")
        };
        let len = ends[spoilt] - ends[spoilt - 1];
        assert_eq!((*at, *left_out, *found), (ends[spoilt - 1], len, next), "{error}");
        let goes_on = next.map_or("up to the end of the file".into(), |it| format!("entry {it}"));
        assert!(error.to_string().contains(&goes_on), "{error}");
        assert!(error.to_string().contains(&format!("{len} bytes are left out")), "{error}");
    }
}

#[tokio::test]
async fn a_living_process_loses_no_synced_entry_to_another_that_opens() {
    let home = Home::new();
    let (journal, _) = home.open();
    for n in 0..5 {
        run(&journal, &format!("c{n}")).await;
    }
    journal.flush().await.unwrap();
    let path = home.segments().pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let ends = ends(&bytes);
    bytes[ends[2]..ends[3]].fill(0);
    fs::write(&path, &bytes).unwrap();
    assert!(verify(&home.audit(), None).is_err(), "its process lives, so no power cut did that");
    let (other, _) = home.open();
    run(&other, "other").await;
    other.close().await.unwrap();
    run(&journal, "later").await;
    journal.close().await.unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes, "nothing is cut off");
    let header = header_of_newest(&home);
    assert_eq!(header.first_seq, 11);
    assert!(header.after_damage.is_some());
    let entries = read(&home.audit(), Filter::default()).unwrap();
    let later: Vec<u64> = entries.filter_map(Result::ok).map(|entry| entry.seq).collect();
    let but_the_spoilt: Vec<u64> = (1..=14).filter(|seq| *seq != 3).collect();
    assert_eq!(later, but_the_spoilt, "nothing is copied twice");
}

#[tokio::test]
async fn what_a_kill_left_is_cut_off_and_kept_aside() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    run(&journal, "c2").await;
    journal.flush().await.unwrap();
    let crashed = home.crashed();
    let path = crashed.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let last = ends(&whole)[3];
    let torn = &whole[last..whole.len() - 20];
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    assert_eq!(crashed.verified().unfinished_bytes, torn.len() as u64);
    assert_eq!(head(&crashed.audit()).unwrap().unwrap().seq, 3);
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(crashed.verified().entries, 4);
    let [cut] = &kept(&crashed)[..] else { panic!("{:?}", kept(&crashed)) };
    assert_eq!(fs::read(cut).unwrap(), torn);
    assert_eq!(fs::read(&path).unwrap(), whole, "the lane makes up for it to the byte");
    journal.close().await.unwrap();
}

#[tokio::test]
async fn a_last_entry_that_a_power_cut_spoilt_is_unfinished_while_its_lane_holds_it() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    run(&journal, "c2").await;
    journal.flush().await.unwrap();
    let crashed = home.crashed();
    let path = crashed.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let last = ends(&whole)[3];
    let mut holed = whole.clone();
    holed[last + 40..last + 120].fill(0);
    fs::write(&path, &holed).unwrap();
    let verified = crashed.verified();
    assert_eq!(verified.unfinished_bytes, (whole.len() - last) as u64);
    let without_lane = crashed.crashed();
    for lane in without_lane.lanes() {
        fs::remove_dir_all(lane).unwrap();
    }
    let error = verify(&without_lane.audit(), None).unwrap_err();
    assert!(matches!(error, VerifyError::Damaged { seq: 4, .. }), "{error}");
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert_eq!(kept(&crashed).len(), 1);
    journal.close().await.unwrap();
}

#[tokio::test]
async fn a_log_that_is_emptied_or_cut_under_a_process_goes_on_where_it_knows_it_was() {
    for how in ["emptied", "cut", "replaced"] {
        let home = Home::new();
        let (journal, _) = home.open();
        run(&journal, "c1").await;
        run(&journal, "c2").await;
        journal.flush().await.unwrap();
        let last = home.entries().pop().unwrap();
        let path = home.segments().pop().unwrap();
        let bytes = fs::read(&path).unwrap();
        match how {
            "emptied" => fs::remove_file(&path).unwrap(),
            "cut" => {
                let file = OpenOptions::new().write(true).open(&path).unwrap();
                file.set_len(ends(&bytes)[2] as u64).unwrap();
            }
            _ => {
                fs::write(path.with_extension("new"), &bytes).unwrap();
                fs::rename(path.with_extension("new"), &path).unwrap();
            }
        }
        let crashed = home.crashed();
        run(&journal, "later").await;
        journal.close().await.unwrap();
        let header = header_of_newest(&home);
        assert_eq!((header.first_seq, header.previous), (5, last.hash), "{how}");
        let after: Vec<_> = home.entries().into_iter().filter(|entry| entry.seq > 4).collect();
        assert_eq!(after.len(), 2, "{how}");
        if how != "replaced" {
            let error = verify(&home.audit(), None).unwrap_err();
            let is_named =
                matches!(error, VerifyError::Missing { .. } | VerifyError::NoBeginning(_));
            assert!(is_named, "{how}: {error}");
        }
        assert_eq!(crashed.lanes().len(), 1);
    }
}

#[tokio::test]
async fn a_lane_stays_where_its_entries_are_gone_from_the_log() {
    let home = Home::new();
    let (journal, _) = home.open();
    run(&journal, "c1").await;
    journal.flush().await.unwrap();
    fs::remove_file(home.segments().pop().unwrap()).unwrap();
    let error = journal.close().await.unwrap_err();
    assert!(error.to_string().contains("entries up to 2 were in the log and are gone"), "{error}");
    assert_eq!(home.lanes().len(), 1);
    let crashed = home.crashed();
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(crashed.told().len(), 2, "the lane brings them back");
}

#[tokio::test]
async fn a_spoilt_header_hides_no_entry_and_copies_none_twice() {
    let home = Home::new();
    let options = JournalOptions { segment_max_len: 2048, ..JournalOptions::default() };
    let (journal, _) = home.open_with(options);
    for n in 0..6 {
        run(&journal, &format!("c{n}")).await;
    }
    journal.flush().await.unwrap();
    let path = home.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let header_end = ends(&whole)[0];
    // A power cut takes its page: the lane has all that lies there.
    let crashed = home.crashed();
    let mut bytes = whole.clone();
    bytes[..header_end].fill(0);
    fs::write(crashed.segments().pop().unwrap(), &bytes).unwrap();
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(crashed.verified().entries, 12);
    // A change to it is damage.
    let crashed = home.crashed();
    let mut bytes = whole.clone();
    bytes[header_end - 1] ^= 1;
    fs::write(crashed.segments().pop().unwrap(), &bytes).unwrap();
    recover(&crashed.audit(), || 9, &CutOffListener::default()).unwrap();
    assert!(matches!(verify(&crashed.audit(), None), Err(VerifyError::Damaged { .. })));
    let entries = read(&crashed.audit(), Filter::default()).unwrap().filter_map(Result::ok);
    let numbers: Vec<_> = entries.map(|entry| entry.seq).collect();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>(), "none is hidden, or there a second time");
    assert_eq!(
        fs::read(crashed.audit().join("log").join(path.file_name().unwrap())).unwrap(),
        bytes
    );
    journal.close().await.unwrap();
}

#[tokio::test]
async fn the_head_of_a_log_whose_next_segment_is_being_made_is_the_one_before() {
    let home = closed(1).await;
    let known = head(&home.audit()).unwrap();
    let next = home.audit().join("log").join("00000000000000000003.log");
    fs::write(&next, b"").unwrap();
    assert_eq!(head(&home.audit()).unwrap(), known);
    fs::write(&next, b"\x20\0\0\0half").unwrap();
    assert_eq!(head(&home.audit()).unwrap(), known);
}

/// Has a process that is gone leave three records in its lane, of which `copied` are in the log.
pub(super) fn left_behind(home: &Home, copied: usize) {
    let lanes = Lanes::in_folder(&home.audit());
    let lane = lanes.create(7, Faults::default()).unwrap();
    let records: Vec<(u64, Vec<u8>)> = (1..=3)
        .map(|number| (number, format!(r#"{{"atUnixMs":{number},"type":"T"}}"#).into_bytes()))
        .collect();
    for (_, json) in &records {
        let write = |buffer: &mut Vec<u8>| {
            buffer.extend_from_slice(json);
            Ok(())
        };
        lane.append(Room::Note, write).unwrap();
    }
    let mut log = Log::open(&home.audit(), lanes, LogOptions::default()).unwrap();
    let records = records[..copied].iter().map(|(number, json)| (*number, &**json));
    log.lock().unwrap().append(lane.id(), records, 1).unwrap();
}

#[tokio::test]
async fn a_changed_entry_is_no_torn_one_because_of_what_another_lane_holds() {
    let home = closed(2).await;
    left_behind(&home, 0);
    let path = home.segments().pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 9] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = verify(&home.audit(), None).unwrap_err();
    assert!(matches!(error, VerifyError::Damaged { seq: 4, .. }), "{error}");
    recover(&home.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert_eq!(header_of_newest(&home).first_seq, 4);
}

#[tokio::test]
async fn a_hole_that_took_more_than_lanes_hold_is_damage() {
    let home = closed(2).await;
    left_behind(&home, 3);
    let path = home.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let ends = ends(&whole);
    for (from, is_torn) in [(4, true), (3, false)] {
        let mut bytes = whole.clone();
        bytes[ends[from]..ends[5]].fill(0);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(verify(&home.audit(), None).is_ok(), is_torn, "from entry {}", from + 1);
    }
    let bytes = fs::read(&path).unwrap();
    let recovered = recover(&home.audit(), || 9, &CutOffListener::default()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes, "nothing is cut off");
    assert!(home.lanes().is_empty());
    let [lane] = &kept(&home)[..] else { panic!("{:?}", kept(&home)) };
    assert!(
        lane.ends_with(&recovered.damaged[0]),
        "the lane may hold what is spoilt, so it is kept"
    );
}

#[tokio::test]
async fn what_older_segments_hold_is_known_behind_a_spoilt_header() {
    let home = closed(1).await;
    left_behind(&home, 3);
    let small = LogOptions { segment_max_len: 1, ..LogOptions::default() };
    let mut log = Log::open(&home.audit(), Lanes::in_folder(&home.audit()), small).unwrap();
    let record = [(1, &b"{\"atUnixMs\":1,\"type\":\"T\"}"[..])];
    log.lock().unwrap().append("gone", record.into_iter(), 1).unwrap();
    assert_eq!(home.segments().len(), 2);
    let path = home.segments().pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    recover(&home.audit(), || 9, &CutOffListener::default()).unwrap();
    let entries = read(&home.audit(), Filter::default()).unwrap().filter_map(Result::ok);
    let told: Vec<_> = entries
        .filter(|entry| entry.kind == "T")
        .map(|entry| (entry.text("lane") == Some("gone"), entry.fields["number"].clone()))
        .collect();
    let each = [(false, 1.into()), (false, 2.into()), (false, 3.into()), (true, 1.into())];
    assert_eq!(told, each, "none a second time");
    assert!(home.lanes().is_empty());
}
