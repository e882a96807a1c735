//! How `belljar serve` ends: by its input, by signals, and what becomes of calls that run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Place};
use super::hash;

const HOUR: &str = r#"{"name":"sleeps_hour","arguments":{}}"#;

#[test]
fn the_end_of_stdin_ends_it_and_every_call_is_answered() {
    let place = Place::new("");
    let mut client = Client::start(&place, &[]);
    let ids: Vec<_> = (0..20).map(|_| client.call(&hash("abc"))).collect();
    let (exit, lines) = client.end();
    assert_eq!(exit, Some(0));
    for id in ids {
        let answers = |line: &&String| {
            let message: Value = serde_json::from_str(line).unwrap();
            message["id"] == id
        };
        assert_eq!(lines.iter().filter(answers).count(), 1, "{id}");
    }
}

#[test]
fn a_call_that_outlives_the_drain_is_interrupted_on_record() {
    let place = Place::with_guests(&["sleeps"], "[serve]\ndrain = \"300ms\"\n");
    let mut client = Client::start(&place, &["--timeout", "2m"]);
    client.call(&serde_json::from_str(HOUR).unwrap());
    place.until_recorded("sleeps.hour");
    client.signal("-TERM");
    assert_eq!(client.ended(), Some(0));
    let shown = place.run(&["audit", "show", "--json"]).ends_with(0).stdout;
    let ends: Vec<_> = shown.lines().filter(|line| line.contains("\"interrupted\"")).collect();
    assert_eq!(ends.len(), 1, "{shown}");
    place.run(&["audit", "verify"]).ends_with(0);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = Place::with_guests(&["sleeps"], "[serve]\ndrain = \"10m\"\n");
    let mut client = Client::start(&place, &["--timeout", "2m"]);
    client.call(&serde_json::from_str(HOUR).unwrap());
    place.until_recorded("sleeps.hour");
    client.signal("-TERM");
    client.until_told("a second signal ends all at once");
    let before = Instant::now();
    client.signal("-INT");
    assert_eq!(client.ended(), Some(130));
    assert!(before.elapsed() < Duration::from_secs(60), "it waited for the call");
}

#[test]
fn a_first_signal_lets_a_call_that_runs_end() {
    let place = Place::new("[approvals]\nhand_back = \"10m\"\n[serve]\ndrain = \"10m\"\n");
    let mut client = Client::start(&place, &[]);
    let id = client.call(&json!({
        "name": "ask_user_questions", "arguments": { "questions": [{ "question": "why?" }] },
    }));
    let request = place.until_asked();
    client.signal("-TERM");
    client.until_told("ending");
    place.run(&["approvals", "answer", &request, "because"]).ends_with(0);
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["answers"], json!(["because"]), "{answer}");
    assert_eq!(client.ended(), Some(0));
}
