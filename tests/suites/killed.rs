//! `kill -9` in the middle of it: nothing that was told or done is missing from the audit log, and
//! nothing that ran is run again.

mod keys;
mod waiting;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use super::home::{Home, hash, values, write};

const CALLS: usize = 1000;
/// After how many results the process is killed, each time in a batch of [`CALLS`].
const MOMENTS: [usize; 20] =
    [0, 1, 2, 3, 5, 7, 11, 17, 25, 35, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600];

/// Kills the process of a batch after it has printed so many results, and gives all that it
/// printed: lines that are whole were told.
fn killed_after(home: &Home, calls: &[Value], results: usize) -> Vec<Value> {
    let mut child = home.batch("calls.jsonl", calls, &[]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut told = String::new();
    for _ in 0..results {
        assert!(stdout.read_line(&mut told).unwrap() > 0, "it ended after {told}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    while stdout.read_line(&mut told).unwrap() > 0 {}
    let whole = told.rfind('\n').map_or(0, |end| end + 1);
    values(&told[..whole])
}

/// The entries of one kind by the call that they are of, of which each call has at most one.
fn by_call<'a>(entries: &'a [Value], kind: &str) -> HashMap<&'a str, &'a Value> {
    let mut found = HashMap::new();
    for entry in entries.iter().filter(|entry| entry["type"] == kind) {
        let twice = found.insert(entry["callId"].as_str().unwrap(), entry);
        assert!(twice.is_none(), "two of {entry}");
    }
    found
}

/// Checks what the log says of a batch that was cut off, and how many of its calls that hit.
fn check(home: &Home, entries: &[Value], printed: &[Value]) -> usize {
    let started = by_call(entries, "CallStarted");
    let finished = by_call(entries, "CallFinished");
    assert_eq!(entries.len(), started.len() + finished.len(), "there is nothing else to tell");
    let mut cut_off = 0;
    for (id, start) in &started {
        let end = finished.get(id).unwrap_or_else(|| panic!("no end of {start}"));
        assert_eq!((&end["lane"], &end["start"]), (&start["lane"], &start["number"]));
        assert!(end["seq"].as_u64() > start["seq"].as_u64(), "{end}");
        if end.get("recovered").is_some() {
            cut_off += 1;
            let said = (&end["recovered"], &end["outcome"], &end["executed"]);
            assert_eq!(said, (&json!(true), &json!("interrupted"), &json!("maybe")), "{end}");
        } else {
            assert_eq!(end["outcome"], "success", "{end}");
        }
        let wrote = start["toolName"] == "files.write" && end["outcome"] == "success";
        assert!(!wrote || home.has(id), "{id} is said to have been written");
    }
    assert!(finished.keys().all(|id| started.contains_key(id)), "an end without a beginning");
    for result in printed {
        let end = finished[result["callId"].as_str().unwrap()];
        assert_eq!((&end["outcome"], &end["executed"]), (&result["outcome"], &result["executed"]));
    }
    cut_off
}

#[test]
fn killed_at_any_moment_of_a_thousand_calls_each_has_its_beginning_and_one_end() {
    let home = Home::new("");
    let (mut seq, mut cut_off) = (0, 0);
    let mut written: Vec<String> = Vec::new();
    for (round, results) in MOMENTS.into_iter().enumerate() {
        let id = |number: usize| format!("r{round}-{number}");
        // One in four writes, and so runs alone and waits for the disk.
        let call = |number| if number % 4 == 3 { write(&id(number)) } else { hash(&id(number)) };
        let printed = killed_after(&home, &(0..CALLS).map(call).collect::<Vec<_>>(), results);
        assert!(printed.len() >= results, "{printed:?}");
        // Who comes next takes it in: once a host that starts, once who reads the log.
        if round % 2 == 0 {
            home.run(["call", "codec.hash", r#"{"algorithm":"crc32","text":"a"}"#]).ends_with(0);
        }
        let mut entries = home.entries(seq + 1);
        home.is_sound();
        for entry in &entries {
            seq += 1;
            assert_eq!(entry["seq"], seq, "the chain goes on without a gap");
        }
        entries.retain(|entry| !entry["callId"].as_str().unwrap().starts_with("cli-"));
        cut_off += check(&home, &entries, &printed);
        let started = by_call(&entries, "CallStarted");
        for file in fs::read_dir(home.path("ws")).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            // What a write that was cut off leaves beside its file.
            if name.starts_with(".belljar-") {
                continue;
            }
            let known = started.contains_key(name.as_str()) || written.contains(&name);
            assert!(known, "{name} was written by a call that isn't on record");
        }
        written.extend(started.into_keys().map(str::to_owned));
    }
    assert!(cut_off > 0, "no kill hit a call as it ran");
}
