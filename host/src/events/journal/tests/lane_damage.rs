//! What a process left that is gone, changed after it was written: told, kept, and gone around.

use std::fs;
use std::path::{Path, PathBuf};

use super::crash::{ids, put, start_json, undrained};
use super::damage::{kept, left_behind};
use super::kit::*;
use crate::events::journal::frame;
use crate::events::journal::lane::Room;
use crate::events::journal::lanes::Lanes;
use crate::events::journal::log::{Log, LogOptions};
use crate::events::journal::*;

fn lane_file(home: &Home) -> PathBuf {
    paths(&home.lanes()[0]).pop().unwrap()
}

/// Changes one letter of the record with this number, from 1; the file as it is then.
fn spoil(path: &Path, number: usize) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    let end = frame::all(&bytes, 0).map(|(_, end)| end).nth(number).unwrap();
    bytes[end - 3] ^= 1;
    fs::write(path, &bytes).unwrap();
    bytes
}

fn recovered(home: &Home) -> Recovered {
    recover(&home.audit(), || 9, &CutOffListener::default()).unwrap()
}

#[tokio::test]
async fn a_changed_record_is_damage_and_the_others_reach_the_log() {
    for (spoilt, reached) in [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])] {
        let home = Home::new();
        let (journal, _) = home.open();
        journal.close().await.unwrap();
        left_behind(&home, 0);
        let bytes = spoil(&lane_file(&home), spoilt);
        let error = verify(&home.audit(), None).unwrap_err();
        assert!(matches!(error, VerifyError::DamagedLane(_)), "{spoilt}: {error}");
        let found = recovered(&home);
        assert_eq!((found.damaged.len(), found.torn_bytes), (1, 0), "record {spoilt}");
        let numbers = home.entries().into_iter().map(|entry| entry.fields["number"].clone());
        assert_eq!(numbers.collect::<Vec<_>>(), reached, "record {spoilt}");
        let [lane] = &kept(&home)[..] else { panic!("{:?}", kept(&home)) };
        assert_eq!(fs::read(paths(lane).pop().unwrap()).unwrap(), bytes, "evidence stays");
        assert_eq!(home.verified().set_aside, 1, "verifying goes on telling it");
    }
}

#[test]
fn a_call_whose_end_is_spoilt_is_ended_and_the_lane_stays_as_it_was() {
    let home = undrained(|lane| {
        put(lane, Room::Start, &start_json("a"));
        put(lane, Room::End, r#"{"atUnixMs":6,"type":"CallFinished","start":1,"callId":"a"}"#);
    });
    let bytes = spoil(&lane_file(&home), 2);
    let found = recovered(&home);
    assert_eq!((found.interrupted.len(), found.damaged.len(), found.torn_bytes), (1, 1, 0));
    assert_eq!(
        (ids(&home, "CallStarted"), ids(&home, "CallFinished")),
        (vec!["a".into()], vec!["a".into()])
    );
    let [lane] = &kept(&home)[..] else { panic!("{:?}", kept(&home)) };
    assert_eq!(fs::read(&paths(lane)[0]).unwrap(), bytes, "nothing is wiped");
    assert_eq!(recovered(&home), Recovered::default(), "once is enough");
}

#[test]
fn a_call_whose_beginning_is_spoilt_is_ended_where_the_log_has_it() {
    let start = start_json("a");
    let home = undrained(|lane| {
        put(lane, Room::Start, &start);
        put(lane, Room::Note, r#"{"atUnixMs":6,"type":"T"}"#);
    });
    let id = home.lanes()[0].file_name().unwrap().to_str().unwrap().to_owned();
    let lanes = Lanes::in_folder(&home.audit());
    let mut log = Log::open(&home.audit(), lanes, LogOptions::default()).unwrap();
    log.lock().unwrap().append(&id, std::iter::once((1, start.as_bytes())), 1).unwrap();
    spoil(&lane_file(&home), 1);
    let found = recovered(&home);
    assert_eq!((found.interrupted.len(), found.damaged.len()), (1, 1));
    assert_eq!(ids(&home, "CallFinished"), ["a"]);
}

#[test]
fn a_header_that_is_spoilt_is_damage_too() {
    let home = undrained(|lane| {
        put(lane, Room::Note, r#"{"atUnixMs":6,"type":"T"}"#);
    });
    spoil(&lane_file(&home), 0);
    assert!(matches!(verify(&home.audit(), None), Err(VerifyError::DamagedLane(_))));
    assert_eq!(recovered(&home).damaged.len(), 1);
}

#[test]
fn a_lane_whose_process_lives_is_not_judged() {
    let home = undrained(|_| {});
    let lanes = Lanes::in_folder(&home.audit());
    let living = lanes.create(2, Default::default()).unwrap();
    put(&living, Room::Note, r#"{"atUnixMs":6,"type":"T"}"#);
    spoil(&paths(living.folder())[0], 1);
    assert!(verify(&home.audit(), None).is_ok(), "it may be in the middle of a write");
    drop(living);
    assert!(verify(&home.audit(), None).is_err());
}
