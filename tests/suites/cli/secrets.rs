//! Declared secrets: hidden from people wherever a request is shown, and nothing else is changed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use belljar::contract::ids::Digest;
use serde_json::{Value, json};

use super::place::Place;
use crate::suites::harness::{Ran, settled};

/// Reads otherwise within JSON.
const SECRET: &str = "s3cret \"value\"";
/// The same within JSON.
const IN_JSON: &str = "s3cret \\\"value\\\"";
const HIDDEN: &str = "[redacted:token]";

/// Where writes are asked about for a reason that holds the secret.
fn place() -> Place {
    let place = Place::new(
        "[approvals]\nhand_back = \"1ms\"\n[secrets.token]\nfrom = \"file:token\"\n\
         [[policy.rules]]\naction = \"ask\"\ntool = \"files.write\"\n\
         reason = 's3cret \"value\" may be written'\n",
    );
    fs::write(place.path().join("token"), SECRET).unwrap();
    place
}

#[track_caller]
fn is_hidden(ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(SECRET) && !text.contains(IN_JSON), "{text}");
    }
    assert!(ran.stdout.contains(HIDDEN), "{ran:?}");
}

#[test]
fn lists_and_cards_hide_a_secret_and_the_call_still_gets_it() {
    let place = place();
    let content = format!("x {SECRET} y");
    let id = place.asked("a", &content);
    for args in [
        &["approvals", "list"][..],
        &["approvals", "list", "--json"],
        &["approvals", "show", &id],
        &["approvals", "show", &id, "--json"],
    ] {
        is_hidden(&place.run(args).ends_with(0));
    }
    let entry = place.run(["approvals", "show", &id, "--json"]).ends_with(0).json();
    assert_eq!(entry["request"]["arguments"]["content"], "x [redacted:token] y");
    assert_eq!(entry["request"]["reason"], "rule 1: [redacted:token] may be written");
    // What a person compares with the log is of what runs.
    let card = place.run(["approvals", "show", &id]).ends_with(0).stdout;
    let canonical = json!({"content": content, "path": "a"}).to_string();
    let hash = Digest::of(canonical.as_bytes());
    let line = format!("{} bytes, SHA-256 {hash} (of what runs;", canonical.len());
    assert!(card.contains(&line), "`{line}` isn't in {card}");

    place.run(["approvals", "approve", &id]).ends_with(0);
    place.write("a", &content, &[]).ends_with(0);
    assert_eq!(fs::read_to_string(place.workspace().join("a")).unwrap(), content);
}

#[test]
fn what_is_remembered_and_what_was_answered_hide_a_secret() {
    let place = place();
    let id = place.asked("a", SECRET);
    let glob = format!("content={SECRET}*");
    place.run(["approvals", "approve", &id, "--match", &glob]).ends_with(0);
    for args in [&["approvals", "remembered"][..], &["approvals", "remembered", "--json"]] {
        is_hidden(&place.run(args).ends_with(0));
    }
    let id = place.asked("b", "x");
    let edit = json!({"path": "b", "content": SECRET}).to_string();
    place.run(["approvals", "approve", &id, "--edit", &edit]).ends_with(0);
    is_hidden(&place.run(["approvals", "show", &id, "--json"]).ends_with(0));
}

#[test]
fn a_watch_hides_a_secret() {
    let place = place();
    place.asked("a", SECRET);
    // The binary itself, so that it is what is killed.
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.arg("--config").arg(place.path().join("belljar.toml"));
    command.args(["approvals", "watch", "--json"]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let news: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(news["reason"], "rule 1: [redacted:token] may be written");
    assert_eq!(news["argumentsHead"], r#"{"content":"[redacted:token]","path":"a"}"#);
}

#[test]
fn a_trace_hides_a_secret_and_the_answer_keeps_it() {
    let place = place();
    let arguments = json!({"algorithm": "sha256", "text": SECRET}).to_string();
    let ran = place.run(["call", "codec.hash", &arguments, "--trace"]).ends_with(0);
    assert!(ran.stderr.contains(HIDDEN), "{ran:?}");
    assert!(!ran.stderr.contains(SECRET) && !ran.stderr.contains(IN_JSON), "{ran:?}");
    fs::write(place.workspace().join("a"), SECRET).unwrap();
    let grant = format!("{}:/ws", place.workspace().display());
    let read = ["call", "files.read", r#"{"path":"a"}"#, "--trace", "--dir", &grant];
    let ran = place.run(read).ends_with(0);
    assert!(ran.stdout.contains(IN_JSON), "{ran:?}");
}

#[test]
fn a_secret_that_cannot_be_hidden_is_told() {
    let place = place();
    fs::write(place.path().join("token"), "short").unwrap();
    let told = "the secret `token` isn't hidden anywhere: it is shorter than 6 bytes";
    for args in [&["config", "check"][..], &["call", "codec.hash", super::HASH]] {
        let ran = place.run(args).ends_with(0);
        assert!(ran.stderr.contains(told), "{ran:?}");
    }
    let json = place.run(["config", "check", "--json"]).ends_with(0).json();
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["text"] == told), "{json}");
    fs::remove_file(place.path().join("token")).unwrap();
    let ran = place.run(["config", "check"]).ends_with(0);
    assert!(ran.stderr.contains("the secret `token` has no value"), "{ran:?}");
}

#[test]
fn an_export_is_for_its_user_alone() {
    let place = place();
    place.run(["call", "codec.hash", super::HASH]).ends_with(0);
    let out = place.path().join("audit.jsonl");
    place.run(["audit", "export", "-o", out.to_str().unwrap()]).ends_with(0);
    assert_eq!(fs::metadata(out).unwrap().permissions().mode() & 0o777, 0o600);
}
