//! A disk that takes no more, by the bound on the size of a file that a process may have: nothing
//! runs that can't be recorded.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::suites::harness::Ran;
use crate::suites::home::{Home, hash, values, write};

/// The binary, under which no file grows past so many blocks of 512 bytes. What would is an error
/// to it, as a full disk is, and no signal.
fn bounded(home: &Home, blocks: u32, args: &[&str]) -> Command {
    // Compiles what isn't kept yet, for which the bound is too small. It records nothing.
    home.run(["tools"]).ends_with(0);
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = home.program(Path::new("sh"));
    command.args(["-c", &script, env!("CARGO_BIN_EXE_belljar")]).args(args);
    command
}

fn calls() -> Vec<Value> {
    (0..400)
        .map(|number| if number % 4 == 3 { write(&format!("w{number}")) } else { hash("h") })
        .collect()
}

/// Checks that each call ran and is recorded, or neither.
fn check(home: &Home, results: &[Value]) {
    let (mut ran, mut refused) = (0, 0);
    for (result, call) in results.iter().zip(calls()) {
        let (outcome, executed) = (&result["outcome"], &result["executed"]);
        let is_write = call["toolName"] == "files.write";
        if outcome == "success" {
            ran += 1;
        } else {
            refused += 1;
            assert_eq!((outcome, executed), (&"host_fault".into(), &"no".into()), "{result}");
            let said = result["errorMessage"].as_str().unwrap();
            assert!(said.starts_with("the audit log can't be written, so the call was not run"));
        }
        if is_write {
            let id = call["callId"].as_str().unwrap();
            assert_eq!(home.has(id), outcome == "success", "{result}");
        }
    }
    assert!(ran > 0 && refused > 0, "{ran} ran, {refused} didn't");
    home.is_sound();
    let entries = home.entries(1);
    let of = |kind: &str| entries.iter().filter(|entry| entry["type"] == kind).count();
    assert_eq!((of("CallStarted"), of("CallFinished")), (ran, ran));
    assert!(entries.iter().all(|entry| entry.get("recovered").is_none()), "each end was told");
    home.run(["call", "files.write", r#"{"path":"after","content":"x"}"#]).ends_with(0);
    home.is_sound();
}

#[test]
fn where_the_log_cannot_grow_calls_are_not_run_and_those_that_ran_are_on_record() {
    let home = Home::new("");
    home.batch("calls.jsonl", &calls(), &[]);
    // What a lane takes at once fits, and not a byte more.
    let ran = bounded(&home, 128, &["batch", "calls.jsonl"]).output().unwrap();
    let ran = Ran::of(ran).ends_with(6);
    let results = values(&ran.stdout);
    assert_eq!(results.len(), calls().len());
    assert!(ran.stderr.contains("the audit log can't be written"), "{}", ran.stderr);
    check(&home, &results);
}

#[test]
fn a_stderr_that_takes_no_more_costs_no_result() {
    let home = Home::new("");
    home.batch("calls.jsonl", &calls(), &[]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran = bounded(&home, 128, &["batch", "calls.jsonl"]).stderr(full).output().unwrap();
    let results = values(&Ran::of(ran).ends_with(6).stdout);
    assert_eq!(results.len(), calls().len());
    check(&home, &results);
}

#[test]
fn where_there_is_no_room_for_a_start_no_host_starts() {
    let home = Home::new("");
    let call = ["call", "files.write", r#"{"path":"a","content":"x"}"#];
    let ran = bounded(&home, 64, &call).output().unwrap();
    let ran = Ran::of(ran).refused(6, &["audit/lanes"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert!(!home.has("a"));
    home.run(call).ends_with(0);
    home.is_sound();
}

/// Keeps no log, so that the store of approvals is the first that can't grow.
const NO_LOG: &str = "[audit]\nenabled = false\n[approvals]\nhand_back = \"0ms\"\n";
const WRITE: [&str; 3] = ["call", "files.write", r#"{"path":"a","content":"x"}"#];

#[test]
fn a_question_that_cannot_be_kept_is_not_asked_and_its_call_declined() {
    let home = Home::new(NO_LOG);
    let asking = ["--level", "READ_ONLY", "--approvals", "queue"];
    let call: Vec<&str> = WRITE.into_iter().chain(asking).collect();
    let ran = bounded(&home, 8, &call).output().unwrap();
    let said = ["error[approval_declined]", "nobody could be asked", "the store of approvals"];
    Ran::of(ran).refused(3, &said);
    assert!(!home.has("a"));
    home.run(&call).refused(3, &["error[approval_pending]"]);
}

#[test]
fn a_call_whose_key_cannot_be_kept_is_not_run() {
    let home = Home::new(NO_LOG);
    let call: Vec<&str> = WRITE.into_iter().chain(["--idempotency-key", "k"]).collect();
    let ran = bounded(&home, 8, &call).output().unwrap();
    let said = "the idempotency key can't be kept, so the call was not run";
    Ran::of(ran).refused(6, &[said, "the store of approvals"]);
    assert!(!home.has("a"));
    home.run(&call).ends_with(0);
    assert!(home.has("a"));
}
