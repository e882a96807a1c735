//! `belljar serve` as other programs meet it: the real binary, over its standard streams and a
//! socket. Which answers MCP and the API give is tested where they are.

mod client;
mod ending;

use serde_json::{Value, json};

use self::client::{Client, Place, tool_names};
use super::harness::run;
use super::slow::slow_behind;
use crate::guests::built;

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn hash(text: &str) -> Value {
    json!({ "name": "codec_hash", "arguments": { "algorithm": "sha256", "text": text } })
}

#[test]
fn mc01_every_line_of_stdout_is_the_protocols_under_load() {
    let short = "[plugins.loops.limits]\nattempt_deadline = \"200ms\"\n";
    let place = Place::with_guests(&["flood-stdout", "traps", "loops"], short);
    let mut client = Client::start(&place, &[]);
    for number in 0..300 {
        match number % 6 {
            0 => client.call(&json!({ "name": "flood-stdout_four-mebibytes", "arguments": {} })),
            1 => client.call(&json!({ "name": "traps_unreachable", "arguments": {} })),
            2 => client.call(&json!({ "name": "no_such", "arguments": {} })),
            3 if number % 60 == 3 => client.call(&json!({ "name": "loops_spin", "arguments": {} })),
            4 => client.write("{\"jsonrpc\":\"2.0\",\"id\":\"broken\"\n"),
            _ => client.call(&hash("abc")),
        };
    }
    let last = client.call(&hash("abc"));
    let answer = client.answer(last);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(ABC), "{answer}");
    let (exit, lines) = client.end();
    assert_eq!(exit, Some(0));
    assert!(lines.len() >= 250, "{}", lines.len());
    for line in lines {
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
}

#[test]
fn a_plugin_that_has_to_be_compiled_comes_late_is_announced_and_can_be_called() {
    // What is behind it takes seconds, and its list is asked for at once.
    let late = slow_behind(&built::wat("counter"), 8);
    let place = Place::with_components(&[("late", late)], "");
    let mut client = Client::start_cold(&place);
    let has_it = |client: &mut Client| tool_names(client).contains(&"late_count".to_owned());
    assert!(!has_it(&mut client));
    client.until_notified("notifications/tools/list_changed");
    assert!(has_it(&mut client));
    let id = client.call(&json!({ "name": "late_count", "arguments": {} }));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(answer["result"]["content"][0]["text"], "1", "{answer}");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn what_is_not_exposed_is_neither_shown_nor_called() {
    let place = Place::new("[expose.some]\ntools = [\"codec.hash\", \"results.*\"]\n");
    let mut client = Client::start(&place, &["--expose", "some"]);
    assert_eq!(tool_names(&mut client), ["codec_hash", "results_read"]);
    let id = client.call(&json!({
        "name": "codec_encode", "arguments": { "encoding": "hex", "text": "a" },
    }));
    let answer = client.answer(id);
    let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
    assert!(refused, "{answer}");
    client.end();
    let args = ["serve", "--stdio", "--expose", "nothing"];
    run(args).refused(2, &["`nothing` is neither a set"]);
}

#[test]
fn a_request_widens_nothing() {
    let place = Place::new("");
    let folder = place.folder();
    let dir = format!("{}:/out:rw", folder.display());
    let more = ["--dir", &dir, "--level", "READ_ONLY", "--approvals", "deny"];
    let mut client = Client::start(&place, &more);
    let wide = json!({
        "level": "FULL", "permissionLevel": "FULL", "allowedTools": ["*"], "caller": "cli",
        "workspace": "other", "userId": "root", "approvalMode": "client",
    });
    let mut call = json!({
        "name": "files_write", "arguments": { "path": "/out/a", "content": "x" }, "_meta": wide,
    });
    for (name, value) in wide.as_object().unwrap() {
        call[name] = value.clone();
    }
    let id = client.call(&call);
    let answer = client.answer(id);
    let refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
    assert!(refused, "{answer}");
    assert!(!folder.join("a").exists());
    client.end();
}

#[test]
fn a_call_that_waits_for_a_person_is_told_of_on_stderr() {
    let place = Place::new("");
    let mut client = Client::start(&place, &[]);
    let id = client.call(&json!({
        "name": "ask_user_questions", "arguments": { "questions": [{ "question": "why?" }] },
    }));
    let request = place.until_asked();
    let how = format!(
        "`belljar.ask-user` of `mcp`, waits for a person: `belljar approvals answer {request} TEXT`"
    );
    client.until_told(&how);
    place.run(&["approvals", "answer", &request, "because"]).ends_with(0);
    client.answer(id);
    client.end();
}

#[test]
fn what_listens_for_other_machines_says_what_it_lacks() {
    let place = Place::new("");
    let ran = place.run(&["serve", "--http", "0.0.0.0:0"]);
    ran.refused(2, &["isn't an address of this machine alone", "`tokens`", "`serve.hosts`"]);
}

#[test]
fn a_token_is_printed_once_and_only_its_hash_beside_it() {
    let ran = run(["token", "laptop", "--role", "approver"]).ends_with(0);
    let token = ran.stdout.trim_end();
    assert!(token.starts_with("bj_") && token.len() == 46, "{ran:?}");
    assert!(ran.stderr.contains("[tokens.laptop]") && !ran.stderr.contains(token), "{ran:?}");
    let again = run(["token", "laptop", "--role", "approver"]).ends_with(0);
    assert_ne!(again.stdout, ran.stdout);
}
