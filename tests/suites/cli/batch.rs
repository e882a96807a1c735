//! `belljar batch`: one result for each line, in order, whatever the lines hold.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, folder_with, run, settled};

/// Runs a batch over stdin.
fn batch(lines: &str, more: &[&str]) -> Ran {
    let mut command = belljar();
    command.args(["batch", "-"]).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    Ran::of(child.wait_with_output().unwrap())
}

fn hash(text: &str) -> Value {
    json!({"toolName": "codec.hash", "arguments": {"algorithm": "sha256", "text": text}})
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn results(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn outcomes(ran: &Ran) -> Vec<String> {
    results(ran).iter().map(|it| it["outcome"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_line_has_its_result_in_the_order_of_the_lines() {
    let came: Vec<Value> = (0..50)
        .map(|number| {
            let mut line = hash(&"x".repeat(if number % 7 == 0 { 200_000 } else { number }));
            line["callId"] = format!("c{number}").into();
            line
        })
        .collect();
    let ran = batch(&lines(&came), &["--concurrency", "8"]).ends_with(0);
    assert_eq!(ran.stderr, "");
    let ids: Vec<_> = results(&ran).iter().map(|it| it["callId"].clone()).collect();
    assert_eq!(ids, came.iter().map(|it| it["callId"].clone()).collect::<Vec<_>>());
}

#[test]
fn a_file_is_read_and_every_form_of_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calls.jsonl");
    let text = r#"{"toolName":"codec_hash","argumentsJson":"{\"algorithm\":\"sha256\",\"text\":\"abc\"}"}"#;
    fs::write(&file, format!("\n{}\r\n\n{text}", hash("abc"))).unwrap();
    let ran = run(["batch".as_ref(), file.as_os_str()]).ends_with(0);
    let contents: Vec<_> = results(&ran).iter().map(|it| it["content"].clone()).collect();
    assert_eq!(contents.len(), 2);
    assert_eq!(contents[0], contents[1]);
}

#[test]
fn a_line_that_is_no_invocation_has_a_result_and_leaves_the_others_alone() {
    let text = format!(
        "{}\nnonsense\n\n{}\n{}\n{}\n",
        hash("a"),
        json!({"toolName": "codec.hash", "workspace": "w"}),
        json!({"toolName": "no.such"}),
        hash("b"),
    );
    let ran = batch(&text, &[]).ends_with(3);
    let expected = ["success", "invalid_arguments", "invalid_arguments", "not_found", "success"];
    assert_eq!(outcomes(&ran), expected);
    let said: Vec<_> = results(&ran).iter().map(|it| it["errorMessage"].to_string()).collect();
    assert!(said[1].contains("line 2 is not JSON"), "{said:?}");
    assert!(said[2].contains("line 4") && said[2].contains("may only narrow"), "{said:?}");
}

#[test]
fn t5_ids_become_unique_and_that_is_told() {
    let named = |id: &str| {
        let mut line = hash(id);
        line["callId"] = id.into();
        line
    };
    let text = format!("{}{}", lines(&[named("c"), named("c"), hash("x")]), "{\"callId\":\"c\"}\n");
    let ran = batch(&text, &[]).ends_with(3);
    let ids: Vec<_> = results(&ran).iter().map(|it| it["callId"].clone()).collect();
    assert_eq!(ids, ["c", "c~2", "call-3", "c~3"]);
    let told: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(told.len(), 2, "{ran:?}");
    assert!(told[0].contains("line 2 is the call `c~2`"), "{ran:?}");
}

#[test]
fn an_empty_batch_is_done_at_once() {
    for text in ["", "\n \n\t\r\n"] {
        let ran = batch(text, &[]).ends_with(0);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    }
}

#[test]
fn the_code_is_the_highest_of_the_calls_own() {
    let no = json!({"toolName": "codec.decode", "arguments": {"encoding": "hex", "text": "zz"}});
    batch(&lines(&[hash("a"), no.clone()]), &[]).ends_with(1);
    let unknown = json!({"toolName": "no.such"});
    batch(&lines(&[no, unknown, hash("a")]), &[]).ends_with(3);
}

#[test]
fn what_a_batch_has_too_much_of_is_refused_before_any_call() {
    let ran = batch(&lines(&vec![hash("a"); 10_001]), &[]);
    ran.refused(3, &["10000 lines", "no call was made"]);
    run(["batch", "no/such.jsonl"]).refused(2, &["no/such.jsonl"]);
    run(["batch", "."]).refused(2, &["can't be read"]);
}

#[test]
fn a_line_of_too_many_bytes_has_its_own_result() {
    let long = hash(&"x".repeat(17 << 20));
    let ran = batch(&lines(&[long, hash("a")]), &[]).ends_with(3);
    assert_eq!(outcomes(&ran), ["invalid_arguments", "success"]);
    assert!(results(&ran)[0]["content"].as_str().unwrap().contains("17825792 bytes"));
}

#[test]
fn a_line_can_only_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let out = format!("{}:rw", folder.path().display());
    let write = json!({"toolName": "files.write", "arguments": {"path": "a", "content": "x"}});
    let with = |name: &str, value: Value| {
        let mut line = write.clone();
        line[name] = value;
        line
    };
    let narrowed =
        [with("permissionLevel", "READ_ONLY".into()), with("allowedTools", json!(["codec.hash"]))];
    let ran = batch(&lines(&narrowed), &["--dir", &out]).ends_with(3);
    assert_eq!(outcomes(&ran), ["approval_declined", "not_allowed"]);
    let raised = [with("permissionLevel", "FULL".into())];
    let ran = batch(&lines(&raised), &["--dir", &out, "--level", "READ_ONLY"]).ends_with(3);
    assert_eq!(outcomes(&ran), ["approval_declined"]);
    assert!(ran.stderr.contains("--approvals queue"), "{ran:?}");
    assert!(!folder.path().join("a").exists());
    let allowed = [with("allowedTools", json!(["files_write"]))];
    let ran = batch(&lines(&allowed), &["--dir", &out]).ends_with(0);
    assert_eq!(outcomes(&ran), ["success"]);
}

#[test]
fn lines_of_guests_bear_the_name_of_their_call() {
    let folder = folder_with(&[("guest", &built::wat("sleeps"))]);
    let plugin = folder.path().join("guest.wasm").display().to_string();
    let text = lines(&[json!({"toolName": "guest.hour", "callId": "h", "timeoutMs": 1})]);
    let ran = batch(&text, &["--plugin", &plugin]).ends_with(4);
    assert_eq!(outcomes(&ran), ["timed_out"]);
}

#[test]
fn ctrl_c_cancels_what_is_left_and_every_line_has_a_result() {
    let folder = folder_with(&[("guest", &built::wat("sleeps"))]);
    let calls = folder.path().join("calls.jsonl");
    let sleep = json!({"toolName": "guest.hour"});
    fs::write(&calls, lines(&[hash("a"), sleep.clone(), sleep, hash("b")])).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.args(["batch", "--concurrency", "1", "--timeout", "2m", "--plugin"]);
    command.arg(folder.path().join("guest.wasm")).arg(&calls);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The first result is there before the others have ended.
    let first: Value = serde_json::from_str(&told.next().unwrap()).unwrap();
    assert_eq!(first["outcome"], "success");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<Value> = told.map(|line| serde_json::from_str(&line).unwrap()).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert_eq!(rest.len(), 3);
    for result in &rest {
        let outcome = result["outcome"].as_str().unwrap();
        assert!(["cancelled", "interrupted"].contains(&outcome), "{result}");
    }
    assert_eq!(rest[2]["executed"], "no");
}

#[test]
fn a_second_ctrl_c_leaves_a_batch_that_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls.jsonl");
    // Their results are more than a pipe holds.
    fs::write(&calls, lines(&vec![hash("a"); 1000])).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.arg("batch").arg(&calls).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::with_capacity(16, child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    let pid = child.id().to_string();
    for _ in 0..10_000 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            return;
        }
        Command::new("kill").args(["-INT", &pid]).status().unwrap();
    }
    child.kill().unwrap();
    panic!("it still waits for its reader");
}

#[test]
fn a_reader_that_has_gone_ends_the_batch_and_is_no_fault() {
    let mut command = belljar();
    command.args(["batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(&vec![hash("a"); 100]).as_bytes()).unwrap();
    drop(stdin);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(matches!(ran.code, Some(0 | 130)), "{ran:?}");
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_full_disk_behind_stdout_is_6_for_a_batch_too() {
    let full = fs::File::options().write(true).open(Path::new("/dev/full")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls.jsonl");
    fs::write(&calls, lines(&[hash("a"), hash("b")])).unwrap();
    let ran = Ran::of(belljar().arg("batch").arg(calls).stdout(full).output().unwrap());
    ran.refused(6, &["error: stdout can't be written"]);
}

#[test]
fn a_thousand_calls_are_told_without_a_word_more() {
    let came: Vec<Value> = (0..1000).map(|number| hash(&number.to_string())).collect();
    let ran = batch(&lines(&came), &[]).ends_with(0);
    assert_eq!(results(&ran).len(), 1000);
    // A busy machine may be too slow to watch all of them.
    let quiet = |line: &str| line.contains("events went by too fast");
    assert!(ran.stderr.lines().all(quiet), "{}", ran.stderr);
}
