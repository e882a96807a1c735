//! A kill while a person is awaited: the request outlives it, and admits the repeat once.

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::{Value, json};

use crate::suites::harness::Ran;
use crate::suites::home::{Home, values, write};

/// Waits far longer than any test.
const PATIENT: &str = "[approvals]\nhand_back = \"10m\"\n";
/// Waits for nobody.
const BUSY: &str = "[approvals]\nhand_back = \"0ms\"\n";
const QUEUE: [&str; 2] = ["--approvals", "queue"];

fn keyed(id: &str) -> Value {
    let mut call = write(id);
    call["idempotencyKey"] = format!("key of {id}").into();
    call
}

/// Three calls, of which a person is asked about the second.
fn calls() -> Vec<Value> {
    let mut asked = keyed("b");
    asked["permissionLevel"] = "READ_ONLY".into();
    vec![keyed("a"), asked, keyed("c")]
}

fn listed(home: &Home, state: &str) -> Vec<String> {
    let ran = home.run(["approvals", "list", "--state", state, "--json"]).ends_with(0);
    let id = |it: &Value| it["id"].as_str().unwrap().to_owned();
    ran.json().as_array().unwrap().iter().map(id).collect()
}

/// Looks until there is one request of that state: another process makes or ends it.
fn awaited(home: &Home, state: &str) -> String {
    loop {
        if let Some(id) = listed(home, state).pop() {
            return id;
        }
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn outcomes(ran: &Ran) -> Vec<Value> {
    values(&ran.stdout).into_iter().map(|result| result["outcome"].clone()).collect()
}

#[test]
fn t38_a_batch_that_is_killed_while_it_waits_goes_on_after_the_answer_and_repeats_nothing() {
    let home = Home::new(PATIENT);
    let mut child = home.batch("calls.jsonl", &calls(), &QUEUE).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    let id = awaited(&home, "pending");
    kill(child);
    assert!(home.has("a") && !home.has("b"));
    assert_eq!(listed(&home, "pending"), [id.as_str()], "it is still there");
    home.is_sound();

    home.run(["approvals", "approve", &id]).ends_with(0);
    home.configure(BUSY);
    let again = Ran::of(home.batch("calls.jsonl", &calls(), &QUEUE).output().unwrap());
    assert_eq!(outcomes(&again.ends_with(0)), ["success"; 3]);
    assert!(home.has("b") && home.has("c"));
    let started = |id: &str| {
        let entries = home.entries(1);
        entries.iter().filter(|it| it["type"] == "CallStarted" && it["callId"] == id).count()
    };
    assert_eq!((started("a"), started("b"), started("c")), (1, 1, 1));
    // The approval was for one run, and the key for one result: other keys must ask again.
    let third = Ran::of(home.batch("calls.jsonl", &calls(), &QUEUE).output().unwrap());
    assert_eq!(outcomes(&third.ends_with(0)), ["success"; 3]);
    let mut other = calls().remove(1);
    other["idempotencyKey"] = "another".into();
    let ran = Ran::of(home.batch("other.jsonl", &[other], &QUEUE).output().unwrap());
    assert_eq!(outcomes(&ran.ends_with(3)), ["approval_pending"]);
    assert_eq!(started("b"), 1);
    home.is_sound();
}

#[test]
fn t38_a_request_whose_process_was_killed_ends_as_expired() {
    let home = Home::new("[approvals]\nhand_back = \"10m\"\nexpires = \"1s\"\n");
    // Without the third: where the request has expired before the kill, that would be cut off.
    let calls = &calls()[..2];
    let mut child = home.batch("calls.jsonl", calls, &QUEUE).spawn().unwrap();
    // The first has ended then: the two run beside each other.
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    // On a slow machine it may have expired before it is seen.
    let id = loop {
        if let Some(id) = listed(&home, "pending").pop().or_else(|| listed(&home, "expired").pop())
        {
            break id;
        }
    };
    kill(child);
    assert_eq!(awaited(&home, "expired"), id);
    home.run(["approvals", "approve", &id]).refused(3, &["has expired"]);
    home.configure(BUSY);
    let again = Ran::of(home.batch("calls.jsonl", calls, &QUEUE).output().unwrap());
    assert_eq!(outcomes(&again.ends_with(3)), ["success", "approval_pending"]);
    assert!(!home.has("b"));
    assert_ne!(awaited(&home, "pending"), id, "it is asked about anew");
    home.is_sound();
}

#[test]
fn t38_an_answer_to_a_prompt_that_was_killed_is_for_that_call_alone() {
    let home = Home::new("");
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).unwrap();
    unlockpt(&terminal).unwrap();
    let side: OwnedFd = ioctl_tiocgptpeer(&terminal, flags).unwrap();
    let arguments = r#"{"path":"b","content":"x"}"#;
    let call = ["call", "files.write", arguments, "--level", "READ_ONLY"];
    let mut command = home.command();
    command.args(call).stdin(side.try_clone().unwrap()).stderr(side).stdout(Stdio::null());
    let child = command.spawn().unwrap();
    let id = awaited(&home, "pending");
    kill(child);
    assert_eq!(listed(&home, "pending"), [id.as_str()], "it is still there, and can be ended");
    home.run(["approvals", "approve", &id]).ends_with(0);
    home.configure(BUSY);
    let repeat: Vec<&str> = call.iter().chain(&QUEUE).chain(&["--json"]).copied().collect();
    let asked = home.run(&repeat).ends_with(3).json();
    assert_eq!(asked["outcome"], json!("approval_pending"), "{asked}");
    let asked = asked["approval"]["approval"].as_str().unwrap();
    assert_ne!(asked, id);
    home.run(["approvals", "approve", asked]).ends_with(0);
    home.run(&repeat).ends_with(0);
    assert!(home.has("b"));
    home.run(&repeat).ends_with(3);
    home.is_sound();
}
