//! `belljar audit`: what is on record, and that a log that was touched is found out.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::HASH;
use super::place::Place;
use crate::guests::built;
use crate::suites::harness::{folder_with, settled};

/// A place with three calls of `codec.hash` on record, one of which was refused.
fn recorded() -> Place {
    let place = Place::new("");
    place.run(["call", "codec.hash", HASH]).ends_with(0);
    place.run(["call", "codec.hash", "{}"]).ends_with(3);
    place.run(["call", "codec.hash", HASH]).ends_with(0);
    place
}

fn entries(place: &Place, more: &[&str]) -> Vec<Value> {
    let ran = place.run(["audit", "show", "--json"].iter().chain(more)).ends_with(0);
    ran.json().as_array().unwrap().clone()
}

fn segment(place: &Place) -> PathBuf {
    let log = place.path().join("state/audit/log");
    let mut files: Vec<_> = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| fs::metadata(path).unwrap().len() > 1000);
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn every_call_is_on_record_with_who_let_it_through_and_how_it_ended() {
    let place = recorded();
    let all = entries(&place, &[]);
    let kinds: Vec<_> = all.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["CallStarted", "CallFinished", "CallRefused", "CallStarted", "CallFinished"]
    );
    assert_eq!((&all[0]["by"], &all[1]["outcome"]), (&json!("rule"), &json!("success")));
    assert_eq!(all[2]["outcome"], "invalid_arguments");
    let words = place.run(["audit", "show"]).ends_with(0).stdout;
    assert_eq!(words.lines().count(), 5, "{words}");
    let first = words.lines().next().unwrap();
    let (seq, rest) = first.trim_start().split_once("  ").unwrap();
    assert_eq!(seq, "1");
    let (time, rest) = rest.split_once("  ").unwrap();
    assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{first}");
    assert!(rest.starts_with("CallStarted  codec.hash  cli-"), "{first}");
    assert!(rest.contains(": from cli, let through by rule ("), "{first}");
}

#[test]
fn entries_are_chosen_by_number_time_call_and_tool() {
    let place = recorded();
    let all = entries(&place, &[]);
    let call = all[0]["callId"].as_str().unwrap();
    assert_eq!(entries(&place, &["--call", call]).len(), 2);
    assert_eq!(entries(&place, &["--tool", "codec.hash"]).len(), 5);
    assert_eq!(entries(&place, &["--tool", "files.read"]).len(), 0);
    assert_eq!(entries(&place, &["--from", "4"]).len(), 2);
    assert_eq!(entries(&place, &["--last", "2"]), all[3..]);
    assert_eq!(entries(&place, &["--since", "1h"]).len(), 5);
    let later = (all[4]["atUnixMs"].as_u64().unwrap() + 1).to_string();
    assert_eq!(entries(&place, &["--since", &later]).len(), 0);
    let none = place.run(["audit", "show", "--from", "99"]).ends_with(0);
    assert_eq!(none.stdout, "no such entries\n");
    place.run(["audit", "show", "--since", "yesterday"]).refused(2, &["how long ago"]);
}

#[test]
fn one_changed_byte_is_found_and_named() {
    let place = recorded();
    let sound = place.run(["audit", "verify"]).ends_with(0).stdout;
    assert!(sound.starts_with("sound: 5 entries, 1 to 5\nhead: 5:"), "{sound}");
    let path = segment(&place);
    let mut bytes = fs::read(&path).unwrap();
    let at = find(&bytes, b"invalid_arguments");
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    place.run(["audit", "verify"]).refused(1, &["not sound", "entry 3", name]);
    let json = place.run(["audit", "verify", "--json"]).ends_with(1).json();
    assert_eq!(json["sound"], false);
    // What lies before and behind the spoilt place can still be read.
    let shown = place.run(["audit", "show"]).ends_with(1);
    let numbers: Vec<_> =
        shown.stdout.lines().map(|line| line.trim_start().as_bytes()[0]).collect();
    assert_eq!(numbers, b"1245", "{shown:?}");
    assert!(shown.stderr.contains(name) && shown.stderr.contains("entry 4 follows"), "{shown:?}");
    let exported = place.run(["audit", "export"]).ends_with(1);
    assert_eq!(exported.stdout.lines().count(), 4, "{exported:?}");
}

fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|window| window == wanted).unwrap()
}

#[test]
fn a_log_that_was_cut_or_rewritten_is_found_by_a_head_that_was_kept() {
    let place = recorded();
    let head = place.run(["audit", "head"]).ends_with(0).stdout;
    let head = head.trim_end();
    assert!(head.starts_with("5:") && head.len() == 66, "{head}");
    let json = place.run(["audit", "head", "--json"]).ends_with(0).json();
    assert_eq!(head, format!("5:{}", json["hash"].as_str().unwrap()));
    place.run(["call", "codec.hash", HASH]).ends_with(0);
    let grown = place.run(["audit", "verify", "--head", head]).ends_with(0);
    assert!(grown.stdout.contains("it holds the head that was given"), "{grown:?}");

    let other = format!("5:{}", "0".repeat(64));
    place.run(["audit", "verify", "--head", &other]).refused(1, &["rewritten"]);
    for bad in ["5", "5:00", "x:y", ":"] {
        place.run(["audit", "verify", "--head", bad]).refused(2, &["SEQ:HASH"]);
    }
    let head = place.run(["audit", "head"]).ends_with(0).stdout;
    let head = head.trim_end();
    let file = fs::File::options().write(true).open(segment(&place)).unwrap();
    file.set_len(file.metadata().unwrap().len() - 10).unwrap();
    // By itself it looks like a log whose last entry is being written.
    let cut = place.run(["audit", "verify"]).ends_with(0).stdout;
    assert!(cut.starts_with("sound: 6 entries") && cut.contains("isn't whole yet"), "{cut}");
    place.run(["audit", "verify", "--head", head]).refused(1, &["entry 7 was there: it was cut"]);
    fs::remove_dir_all(place.path().join("state/audit/log")).unwrap();
    place.run(["audit", "verify", "--head", head]).refused(1, &["entry 7 was there: it was cut"]);
}

#[test]
fn an_export_has_every_entry_to_the_byte() {
    let place = recorded();
    let out = place.path().join("audit.jsonl");
    let out = out.to_str().unwrap();
    place.run(["audit", "export", "-o", out]).ends_with(0);
    let text = fs::read_to_string(out).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, entries(&place, &[]));
    let head = place.run(["audit", "head"]).ends_with(0).stdout;
    let hash = belljar::contract::ids::Digest::of(text.lines().last().unwrap().as_bytes());
    assert_eq!(head.trim_end(), format!("5:{hash}"));
    let stdout = place.run(["audit", "export", "--from", "5"]).ends_with(0).stdout;
    assert_eq!(stdout.lines().collect::<Vec<_>>(), [text.lines().last().unwrap()]);
    place.run(["audit", "export", "-o", "/dev/full"]).refused(2, &["no regular file"]);
}

#[test]
fn where_nothing_was_recorded_that_is_said() {
    let place = Place::new("");
    let none = place.run(["audit", "show"]).ends_with(0);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("no such entries\n", ""));
    let sound = place.run(["audit", "verify"]).ends_with(0).stdout;
    assert_eq!(sound, "sound: nothing has been recorded yet\n");
    place.run(["audit", "head"]).refused(3, &["nothing has been recorded yet"]);
    assert!(!place.path().join("state").exists(), "looking makes nothing");
    place.configure("[audit]\nenabled = false\n");
    place.run(["audit", "show"]).refused(2, &["`audit.enabled` is `false`"]);
    place.run(["call", "codec.hash", HASH]).ends_with(0);
    assert!(!place.path().join("state/audit").exists());
}

#[test]
fn looking_and_explaining_leave_no_record() {
    let place = recorded();
    place.run(["tools"]).ends_with(0);
    place.run(["inspect", "codec"]).ends_with(0);
    place.run(["policy", "explain", "codec.hash", HASH]).ends_with(0);
    assert_eq!(entries(&place, &[]).len(), 5);
}

#[test]
fn a_log_whose_folder_takes_no_writes_is_read_as_it_is_and_that_is_said() {
    let place = recorded();
    let audit = place.path().join("state/audit");
    // A lane to take in, and a lock that can't be: so also root can't write.
    fs::create_dir_all(audit.join("lanes/gone")).unwrap();
    fs::remove_file(audit.join("log.lock")).unwrap();
    fs::create_dir(audit.join("log.lock")).unwrap();
    for command in ["show", "verify", "head", "export"] {
        let ran = place.run(["audit", command]).ends_with(0);
        assert!(ran.stderr.starts_with("note: the log is read as it is"), "{ran:?}");
        assert!(!ran.stdout.is_empty() && ran.stderr.lines().count() == 1, "{ran:?}");
    }
}

#[test]
fn a_log_that_is_not_sound_is_left_as_it_is_by_who_checks_it() {
    let place = recorded();
    let gone = place.path().join("state/audit/lanes/gone");
    fs::create_dir_all(&gone).unwrap();
    let path = segment(&place);
    let mut bytes = fs::read(&path).unwrap();
    let at = find(&bytes, b"invalid_arguments");
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    for command in ["verify", "head"] {
        place.run(["audit", command]).refused(1, &["not sound", "entry 3"]);
        assert!(gone.is_dir() && fs::read(&path).unwrap() == bytes, "{command}");
    }
    // Nothing is wrong with this one, so the lane is taken in.
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    place.run(["audit", "head"]).ends_with(0);
    assert!(!gone.exists());
}

#[test]
fn what_a_killed_process_left_is_taken_in_before_the_log_is_read() {
    let place = recorded();
    let folder = folder_with(&[("guest", &built::wat("sleeps"))]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.arg("--config").arg(place.path().join("belljar.toml"));
    command.args(["call", "guest.hour", "--trace", "--timeout", "2m", "--plugin"]);
    command.arg(folder.path().join("guest.wasm")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("AttemptStarted")), "the call never started");
    child.kill().unwrap();
    child.wait().unwrap();
    let last = entries(&place, &[]).pop().unwrap();
    assert_eq!(
        (&last["toolName"], &last["outcome"]),
        (&json!("guest.hour"), &json!("interrupted"))
    );
    place.run(["audit", "verify"]).ends_with(0);
}
