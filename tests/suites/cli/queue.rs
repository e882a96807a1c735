//! A call that waits for `belljar approvals`, and two calls on one folder for state.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::suites::harness::{Ran, own_state, settled};

/// Where the configuration is: beside the folder that tools may write in.
const CONFIG: &str = "config/belljar.toml";

/// A belljar that keeps all below `home`, waits for nobody, and may write into `out`.
fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    own_state(&mut command, &home.join("state"));
    command.current_dir(home).args(args);
    command.args(["--config", CONFIG]);
    command
}

fn run(home: &Path, args: &[&str]) -> Ran {
    Ran::of(command(home, args).output().unwrap())
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("out")).unwrap();
    fs::create_dir(home.path().join("config")).unwrap();
    fs::write(home.path().join(CONFIG), "[approvals]\nhand_back = \"0ms\"\n").unwrap();
    home
}

fn write(home: &Path, name: &str) -> Ran {
    let arguments = json!({"path": name, "content": "x", "overwrite": true}).to_string();
    let call = ["call", "files.write", &arguments, "--dir", "out:rw", "--level", "READ_ONLY"];
    let call: Vec<&str> = call.iter().copied().chain(["--approvals", "queue", "--json"]).collect();
    run(home, &call)
}

#[test]
fn a_queued_call_runs_once_after_it_was_approved() {
    let home = home();
    let waiting = write(home.path(), "a").ends_with(3);
    let result = waiting.json();
    assert_eq!(
        (&result["outcome"], &result["executed"]),
        (&"approval_pending".into(), &"no".into())
    );
    let said = result["errorMessage"].as_str().unwrap();
    let id = said.split("belljar approvals approve ").nth(1).unwrap().split('`').next().unwrap();
    assert!(waiting.stderr.contains("belljar approvals list"), "{waiting:?}");
    // Said when it begins to wait, of the call that asks and of one that shares the request.
    let told = format!(
        "note: `files.write` waits up to 0 s for a person: `belljar approvals approve {id}`"
    );
    assert!(waiting.stderr.starts_with(&told), "{waiting:?}");
    assert!(write(home.path(), "a").ends_with(3).stderr.starts_with(&told));
    // The same call shares the request, another one has its own.
    assert!(write(home.path(), "a").ends_with(3).stdout.contains(id));
    assert!(!write(home.path(), "b").ends_with(3).stdout.contains(id));
    run(home.path(), &["approvals", "approve", id]).ends_with(0);
    assert_eq!(write(home.path(), "b").ends_with(3).json()["outcome"], "approval_pending");
    assert_eq!(write(home.path(), "a").ends_with(0).json()["approval"]["by"], "person");
    assert_eq!(write(home.path(), "a").ends_with(3).json()["outcome"], "approval_pending");
}

#[test]
fn a_denied_call_is_declined_with_the_reason() {
    let home = home();
    let said = write(home.path(), "a").ends_with(3).stdout;
    let id = said.split("belljar approvals approve ").nth(1).unwrap().split('`').next().unwrap();
    run(home.path(), &["approvals", "deny", id, "--reason", "not today"]).ends_with(0);
    let result = write(home.path(), "a").ends_with(3).json();
    assert_eq!(result["outcome"], "approval_declined");
    assert!(result["errorMessage"].as_str().unwrap().contains("not today"), "{result}");
    assert!(!home.path().join("out/a").exists());
}

#[test]
fn calls_of_several_processes_share_one_folder_for_state() {
    let home = home();
    let hash = r#"{"algorithm":"sha256","text":"abc"}"#;
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = command(home.path(), &["call", "codec.hash", hash, "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut ids = Vec::new();
    for child in children {
        let ran = Ran::of(child.wait_with_output().unwrap()).ends_with(0);
        assert_eq!(ran.stderr, "");
        ids.push(ran.json()["callId"].as_str().unwrap().to_owned());
    }
    // What has ended is in the log at once, and whole.
    let told = run(home.path(), &["audit", "show", "--json"]).ends_with(0).json();
    let records = told.as_array().unwrap();
    for id in &ids {
        let of = |it: &&Value| it["callId"] == id.as_str();
        assert!(records.iter().filter(of).count() >= 2, "{id}: {told}");
    }
    run(home.path(), &["audit", "verify"]).ends_with(0);
    let lanes = fs::read_dir(home.path().join("state/belljar/audit/lanes")).unwrap();
    assert_eq!(lanes.count(), 0, "a lane was left behind");
}

#[test]
fn a_call_is_made_as_a_caller_of_the_configuration_and_no_higher() {
    let home = home();
    let config = "[callers.ci]\nlevel = \"READ_ONLY\"\ntools = [\"codec.*\"]\n\
                  [callers.writer]\nlevel = \"READ_WRITE\"\n";
    fs::write(home.path().join(CONFIG), config).unwrap();
    let hash = r#"{"algorithm":"sha256","text":"abc"}"#;
    run(home.path(), &["call", "codec.hash", hash, "--as", "ci"]).ends_with(0);
    let arguments = r#"{"path":"a","content":"x"}"#;
    let write = ["call", "files.write", arguments, "--dir", "out:rw"];
    let with = |more: &[&'static str]| {
        run(home.path(), &write.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>())
    };
    with(&["--as", "ci"]).refused(3, &["error[not_allowed]"]);
    with(&["--as", "ci", "--level", "FULL"]).refused(3, &["error[not_allowed]", "both allow"]);
    with(&["--as", "writer", "--level", "READ_ONLY"]).refused(3, &["error[approval_declined]"]);
    with(&["--as", "writre"]).refused(2, &["no caller", "`writer`"]);
    assert!(!home.path().join("out/a").exists());
    with(&["--as", "writer"]).ends_with(0);
}

#[test]
fn a_call_under_one_key_runs_once() {
    let home = home();
    let arguments = r#"{"path":"a","content":"x"}"#;
    let call = ["call", "files.write", arguments, "--dir", "out:rw", "--idempotency-key", "k"];
    let first = run(home.path(), &call).ends_with(0);
    // A second run would find the file there.
    let second = run(home.path(), &call).ends_with(0);
    assert_eq!(first.stdout, second.stdout);
}
