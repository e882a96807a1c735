//! Several processes on one store and one log.

use std::collections::HashMap;

use serde_json::Value;

use crate::suites::harness::Ran;
use crate::suites::home::{Home, hash, values, write};

const CALLS: usize = 200;

#[test]
fn two_batches_at_once_share_one_log_in_which_no_record_is_lost() {
    let home = Home::new("");
    let batch = |name: &str| -> Vec<Value> {
        let id = |number: usize| format!("{name}{number}");
        let call = |number| if number % 4 == 3 { write(&id(number)) } else { hash(&id(number)) };
        (0..CALLS).map(call).collect()
    };
    let [one, two] = ["one", "two"].map(|name| {
        let mut command = home.batch(&format!("{name}.jsonl"), &batch(name), &[]);
        std::thread::spawn(move || Ran::of(command.output().unwrap()))
    });
    let results = [one, two].map(|ran| values(&ran.join().unwrap().ends_with(0).stdout)).concat();
    assert_eq!(results.len(), 2 * CALLS);
    home.is_sound();
    let entries = home.entries(1);
    let numbers: Vec<_> = entries.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=4 * CALLS as u64).collect::<Vec<_>>());
    let mut kinds: HashMap<&str, Vec<&str>> = HashMap::new();
    for entry in &entries {
        let kind = entry["type"].as_str().unwrap();
        kinds.entry(entry["callId"].as_str().unwrap()).or_default().push(kind);
    }
    for result in &results {
        let id = result["callId"].as_str().unwrap();
        assert_eq!(kinds[id], ["CallStarted", "CallFinished"], "{id}");
    }
}

#[test]
fn of_two_batches_under_the_same_keys_each_key_runs_once() {
    let home = Home::new("");
    let keyed = |number: usize| {
        let mut call = write(&format!("w{number}"));
        call["idempotencyKey"] = format!("k{number}").into();
        call
    };
    let calls: Vec<Value> = (0..40).map(keyed).collect();
    let both = [(), ()].map(|()| {
        let mut command = home.batch("calls.jsonl", &calls, &[]);
        std::thread::spawn(move || Ran::of(command.output().unwrap()))
    });
    let both = both.map(|ran| values(&ran.join().unwrap().stdout));
    for (one, two) in both[0].iter().zip(&both[1]) {
        // One ran; the other was told its result, or that it was still running.
        let ends = [one, two].map(|it| (it["outcome"].as_str().unwrap(), it["attempts"].as_u64()));
        let ran = ends.iter().filter(|end| **end == ("success", Some(1))).count();
        assert_eq!(ran, 1, "{one} {two}");
        let told = ends.iter().find(|end| end.1 == Some(0)).unwrap().0;
        assert!(["success", "unavailable"].contains(&told), "{one} {two}");
    }
    home.is_sound();
}
