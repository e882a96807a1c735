//! The real binary: its exit codes, and what it prints where.

mod approvals;
mod audit;
mod batch;
mod compiling;
mod config;
mod escaping;
mod inputs;
mod kept_code;
mod packing;
mod place;
mod policy;
mod profile;
mod prompt;
mod queue;
mod secrets;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::harness::{Ran, belljar, folder_with, run, settled};
use crate::guests::built;

const HASH: &str = r#"{"algorithm":"sha256","text":"abc"}"#;
/// The first digits of SHA-256 of `abc` (FIPS 180-2, appendix B.1).
const HASHED: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// Members that a `ToolResult` may have: the source's names, and belljar's beside them.
const MEMBERS: &[&str] = &[
    "callId",
    "status",
    "content",
    "errorMessage",
    "durationMs",
    "outcome",
    "executed",
    "retryable",
    "structured",
    "attachments",
    "truncated",
    "attempts",
    "approval",
    "missingGrants",
    "usage",
];

/// Calls a tool of component text.
fn call_wat(guest: &str, tool: &str, more: &[&str]) -> Ran {
    let folder = folder_with(&[("guest", &built::wat(guest))]);
    let file = folder.path().join("guest.wasm");
    let mut command = belljar();
    command.args(["call", &format!("guest.{tool}"), "--plugin"]).arg(file).args(more);
    Ran::of(command.output().unwrap())
}

#[test]
fn success_is_0_and_gives_the_content_alone_on_stdout() {
    let ran = run(["call", "codec.hash", HASH]).ends_with(0);
    assert!(ran.stdout.contains(HASHED), "{ran:?}");
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_tool_that_says_no_is_1() {
    let bad = r#"{"encoding":"hex","text":"zz"}"#;
    let ran = run(["call", "codec.decode", bad]).refused(1, &["error[tool_error]"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
}

#[test]
fn wrong_usage_is_2() {
    for args in [&["call"][..], &["nonsense"], &[], &["call", "codec.hash", "{}", "--no-such"]] {
        run(args).refused(2, &["Usage"]);
    }
}

#[test]
fn what_is_refused_is_3() {
    run(["call", "codec.hash", "{}"]).refused(3, &["error[invalid_arguments]", "algorithm"]);
    run(["call", "codec.hsah", HASH]).refused(3, &["error[not_found]", "`codec.hash`"]);
    let folder = folder_with(&[("broken", b"no component")]);
    let broken = folder.path().join("broken.wasm");
    run(["inspect".as_ref(), broken.as_os_str()]).refused(3, &["can't be loaded"]);
}

#[test]
fn a_met_limit_is_4() {
    let late = call_wat("loops", "spin", &["--timeout", "200ms"]);
    late.refused(4, &["error[timed_out]", "200 ms", "--timeout"]);
    let spent = call_wat("loops", "spin", &["--fuel", "1e6"]);
    spent.refused(4, &["error[out_of_fuel]", "1000000", "--fuel"]);
    let full = call_wat("memory-growth", "grow-and-die", &["--memory", "2MiB"]);
    full.refused(4, &["error[out_of_memory]", "2 MiB", "--memory"]);
    call_wat("big-results", "long-string", &[]).refused(4, &["error[output_too_large]"]);
}

#[test]
fn a_crash_is_5() {
    call_wat("traps", "unreachable", &[]).refused(5, &["error[crashed]"]);
}

#[test]
fn a_full_disk_behind_stdout_is_6() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran = Ran::of(belljar().arg("tools").stdout(full).output().unwrap());
    ran.refused(6, &["error: stdout can't be written"]);
}

#[test]
fn ctrl_c_ends_a_running_call_with_130() {
    let folder = folder_with(&[("guest", &built::wat("sleeps"))]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.args(["call", "guest.hour", "--json", "--trace", "--timeout", "2m", "--plugin"]);
    command.arg(folder.path().join("guest.wasm")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("AttemptStarted")), "the call never started");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    // Nobody reading would hold up what is told meanwhile.
    lines.for_each(drop);
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stdout}");
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&result["outcome"], &result["status"]), (&"interrupted".into(), &"error".into()));
}

#[test]
fn help_and_the_readme_have_the_same_exit_codes() {
    let help = run(["--help"]).ends_with(0).stdout;
    let told = help.lines().skip_while(|line| *line != "Exit codes:").skip(1);
    let told = told.take_while(|line| !line.is_empty()).map(|line| {
        let (code, means) = line.trim_start().split_once("  ").unwrap();
        format!("| {code} | {means} |")
    });
    let readme = std::fs::read_to_string(built::root().join("README.md")).unwrap();
    let table = readme.lines().skip_while(|line| *line != "| code | means |").skip(2);
    let table: Vec<_> = table.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(told.collect::<Vec<_>>(), table);
    assert_eq!(table.len(), 8);
}

#[test]
fn belljar_takes_as_many_open_files_as_the_machine_gives_it() {
    let belljar = env!("CARGO_BIN_EXE_belljar");
    let mut shell = Command::new("sh");
    settled(&mut shell);
    shell.args(["-c", r#"ulimit -Sn 256; ulimit -Hn 1000; exec "$0" doctor"#, belljar]);
    let ran = Ran::of(shell.output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("open files: 1000 "), "{ran:?}");
}

#[test]
fn doctor_finds_nothing_wrong_where_the_tests_run() {
    let ran = run(["doctor"]).ends_with(0);
    for checked in ["engine", "code folder", "builtins", "call"] {
        let fine = |line: &str| line.starts_with(&format!("ok      {checked}: "));
        assert!(ran.stdout.lines().any(fine), "{checked}: {ran:?}");
    }
}

#[test]
fn json_is_one_line_with_one_result_whatever_the_end() {
    let cases: [(&[&str], i32, &str); 5] = [
        (&["codec.hash", HASH], 0, "success"),
        (&["codec.decode", r#"{"encoding":"hex","text":"zz"}"#], 1, "tool_error"),
        (&["codec.hash", "[]"], 3, "invalid_arguments"),
        (&["no.such", "{}"], 3, "not_found"),
        (
            &["search.glob", r#"{"pattern":"**/*"}"#, "--dir", ".", "--fuel", "1e5"],
            4,
            "out_of_fuel",
        ),
    ];
    for (args, code, outcome) in cases {
        let ran = run(["call"].iter().chain(args).chain(&["--json"])).ends_with(code);
        assert_eq!(ran.stdout.matches('\n').count(), 1, "{ran:?}");
        let json = ran.json();
        for (member, _) in json.as_object().unwrap() {
            assert!(MEMBERS.contains(&member.as_str()), "`{member}` in {ran:?}");
        }
        assert_eq!(json["outcome"], outcome, "{ran:?}");
        assert_eq!(json["status"], if code == 0 { "success" } else { "error" });
        assert!(json["callId"].is_string() && json["durationMs"].is_u64(), "{ran:?}");
        assert!(json["content"].is_string() && json["errorMessage"].is_string() == (code != 0));
    }
}

#[test]
fn t14_a_tools_error_is_one_in_result_event_json_and_exit() {
    let bad = r#"{"encoding":"hex","text":"zz"}"#;
    let ran = run(["call", "codec.decode", bad, "--json", "--trace"]).ends_with(1);
    let result = ran.json();
    let mark = " ToolCallInvoke ";
    let event = ran.stderr.lines().find_map(|line| line.split_once(mark)).unwrap().1;
    let event: Value = serde_json::from_str(event).unwrap();
    for (told, said) in [("result", &result), ("event", &event)] {
        assert_eq!((&said["status"], &said["outcome"]), (&"error".into(), &"tool_error".into()));
        // It ran, and said no: what it said is the message, not a success that reads like one.
        assert_eq!(said["executed"], "yes", "{told}: {ran:?}");
        assert!(said["errorMessage"].as_str().unwrap().contains("hex"), "{told}: {ran:?}");
    }
    assert_eq!((&result["attempts"], &event["attempts"]), (&1.into(), &1.into()));
}

#[test]
fn the_issues_own_line_prints_matches() {
    let line = ["call", "search.grep", r#"{"pattern":"fn main","path":"."}"#, "--dir", "."];
    let ran = Ran::of(belljar().args(line).current_dir(built::root()).output().unwrap());
    let matches = ran.ends_with(0).json();
    let found = matches["matches"].as_array().unwrap().iter();
    let main = found.filter(|it| it["path"] == "host/src/main.rs").collect::<Vec<_>>();
    assert_eq!(main.len(), 1, "{matches}");
    assert!(main[0]["text"].as_str().unwrap().starts_with("fn main()"));
}

#[test]
fn a_reader_that_has_gone_is_no_fault() {
    for args in [&["tools", "--json"][..], &["call", "codec.hash", HASH, "--json"]] {
        let mut child =
            belljar().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap()).ends_with(0);
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn sec14_a_guest_sees_no_environment_no_arguments_and_no_input() {
    let folder = folder_with(&[("hostile", built::rust("hostile"))]);
    let plugin = format!("hostile={}", folder.path().join("hostile.wasm").display());
    for tool in ["environment", "arguments", "standard-input"] {
        let mut command = belljar();
        command.env("SECRET_TOKEN", "hunter2").args(["call", &format!("hostile.{tool}"), "{}"]);
        command.args(["--plugin", &plugin]);
        let ran = Ran::of(command.output().unwrap()).refused(1, &["nothing there"]);
        assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
    }
    let granted = run(["call", "hostile.environment", "{}", "--plugin", &plugin, "--env", "A=b"]);
    assert_eq!(granted.ends_with(0).stdout, "[(\"A\", \"b\")]\n");
}

#[test]
fn results_and_descriptors_hold_no_path_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let host = folder.path().to_str().unwrap();
    let grant = format!("{host}:/w:rw");
    let runs = [
        run(["call", "files.list", "{}", "--json", "--trace", "--dir", &grant]),
        run(["call", "files.read", r#"{"path":"gone"}"#, "--json", "--dir", &grant]),
        run(["call", "files.read", r#"{"path":"/etc/hosts"}"#, "--json", "--dir", &grant]),
        run(["tools", "--json", "--dir", &grant]),
        run(["inspect", "files", "--json", "--dir", &grant]),
        run(["inspect", "files", "--dir", &grant]),
    ];
    for ran in runs {
        assert!(!ran.stdout.contains(host) && !ran.stderr.contains(host), "{ran:?}");
    }
    assert!(Path::new(host).is_dir());
}
