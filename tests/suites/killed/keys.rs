//! Calls with an idempotency key that a kill cut off: what ran isn't run again, what didn't is.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use super::killed_after;
use crate::guests::built;
use crate::suites::harness::folder_with;
use crate::suites::home::{Home, values, write};

const CALLS: usize = 60;

/// The same lines each time: the same ids, and the same keys.
fn keyed() -> Vec<Value> {
    let key = |number: usize| {
        let mut call = write(&format!("w{number}"));
        call["idempotencyKey"] = format!("k{number}").into();
        call
    };
    (0..CALLS).map(key).collect()
}

#[test]
fn t38_what_a_killed_batch_did_is_not_done_again_under_its_keys() {
    for results in [0, 1, 5, 12, 30] {
        let home = Home::new("");
        let printed = killed_after(&home, &keyed(), results);
        let there: Vec<bool> = (0..CALLS).map(|number| home.has(&format!("w{number}"))).collect();
        let again = home.batch("calls.jsonl", &keyed(), &[]).output().unwrap();
        let again = values(std::str::from_utf8(&again.stdout).unwrap());
        assert_eq!(again.len(), CALLS);
        for (number, result) in again.iter().enumerate() {
            // A second run would say that the file is there.
            let outcome = result["outcome"].as_str().unwrap();
            assert!(["success", "interrupted"].contains(&outcome), "{number}: {result}");
            let reason = result["approval"]["reason"].as_str().unwrap();
            let known = reason.starts_with("not run again");
            if outcome == "interrupted" {
                assert!(known && result["executed"] == "maybe", "{result}");
                assert!(result["errorMessage"].as_str().unwrap().contains("is not known"));
            } else {
                assert!(home.has(&format!("w{number}")), "{result}");
            }
            assert!(known || !there[number], "{number} ran twice: {result}");
            if let Some(first) = printed.get(number) {
                assert!(known && first["content"] == result["content"], "{result}");
            }
        }
        let third = home.batch("calls.jsonl", &keyed(), &[]).output().unwrap();
        let third = values(std::str::from_utf8(&third.stdout).unwrap());
        for (second, third) in again.iter().zip(&third) {
            assert_eq!(second["outcome"], third["outcome"], "{third}");
        }
        home.is_sound();
    }
}

/// A call that sleeps for an hour, under a key.
struct Sleeper {
    home: Home,
    plugin: String,
    _folder: tempfile::TempDir,
}

impl Sleeper {
    /// Has one killed as it ran.
    fn killed() -> Self {
        let folder = folder_with(&[("guest", &built::wat("sleeps"))]);
        let plugin = folder.path().join("guest.wasm").display().to_string();
        let sleeper = Self { home: Home::new(""), plugin, _folder: folder };
        let mut command = sleeper.home.command();
        command.args(sleeper.call()).args(["--trace", "--timeout", "2m"]).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(told.any(|line| line.contains("AttemptStarted")), "the call never started");
        child.kill().unwrap();
        child.wait().unwrap();
        sleeper
    }

    fn call(&self) -> [&str; 6] {
        ["call", "guest.hour", "--idempotency-key", "k", "--plugin", &self.plugin]
    }

    /// Checks that its repeat isn't run, and says why.
    fn repeat_is_told(&self) {
        let again = self.home.run(self.call().iter().chain(&["--json"])).ends_with(130).json();
        let ended = (&again["outcome"], &again["executed"]);
        assert_eq!(ended, (&json!("interrupted"), &json!("maybe")));
        let reason = again["approval"]["reason"].as_str().unwrap();
        assert!(reason.contains("not run again") && reason.contains("same idempotency key"));
        let entries = self.home.entries(1);
        assert_eq!(entries.iter().filter(|entry| entry["type"] == "CallStarted").count(), 1);
        self.home.is_sound();
    }
}

#[test]
fn t38_a_call_that_was_killed_as_it_ran_says_so_to_its_repeat() {
    let sleeper = Sleeper::killed();
    sleeper.repeat_is_told();
    let sleeper = Sleeper::killed();
    // Reading the log is enough: who recovers tells the store.
    assert_eq!(sleeper.home.entries(1).last().unwrap()["recovered"], json!(true));
    sleeper.repeat_is_told();
}

#[test]
fn a_store_that_cannot_be_told_of_a_killed_call_stops_the_start_and_is_told_later() {
    let sleeper = Sleeper::killed();
    // What a killed process has kept is in the files beside it as well.
    let place = |end: &str| sleeper.home.path(&format!("state/belljar/approvals.sqlite{end}"));
    let files = ["", "-wal", "-shm"].map(place);
    let aside =
        files.each_ref().map(|path| sleeper.home.path(path.file_name().unwrap().to_str().unwrap()));
    for (path, aside) in files.iter().zip(&aside) {
        fs::rename(path, aside).unwrap();
    }
    fs::write(&files[0], [b'x'; 8192]).unwrap();
    fs::set_permissions(&files[0], fs::metadata(&aside[0]).unwrap().permissions()).unwrap();
    let said = ["calls that a crash cut off can't be ended", "is damaged"];
    sleeper.home.run(["call", "codec.hash", "{}"]).refused(6, &said);
    // The log can be read all the same.
    let shown = sleeper.home.run(["audit", "show"]).ends_with(0);
    assert!(shown.stderr.starts_with("note: the log is read as it is"), "{shown:?}");
    for (path, aside) in files.iter().zip(&aside) {
        fs::rename(aside, path).unwrap();
    }
    sleeper.repeat_is_told();
}
