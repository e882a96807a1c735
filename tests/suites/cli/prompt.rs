//! A call that needs a person, on a terminal: what each answer does, and what silence does.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::{Value, json};

use crate::suites::harness::{Ran, own_state, settled};

/// How every question ends, and what comes behind it on the terminal.
const QUESTION: &str = "[n]: ";
const MORE: &str = "(nothing: back): ";

/// A belljar whose stdin and stderr are one terminal.
struct Prompted {
    child: Child,
    terminal: File,
    seen: String,
}

impl Prompted {
    /// Starts it with all that it keeps below `home`, which also holds the granted folder `out`.
    fn start(home: &Path, args: &[&str]) -> Self {
        Self::start_with(home, args, "")
    }

    /// The same, where this has been typed before it begins.
    fn start_with(home: &Path, args: &[&str], typed: &str) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).unwrap();
        unlockpt(&terminal).unwrap();
        let side: OwnedFd = ioctl_tiocgptpeer(&terminal, flags).unwrap();
        let mut command = command(home, args);
        command.stdin(side.try_clone().unwrap()).stderr(side).stdout(Stdio::piped());
        let mut terminal = File::from(terminal);
        terminal.write_all(typed.as_bytes()).unwrap();
        let child = command.spawn().unwrap();
        // The command holds the other side too, and its end shows only when that is gone.
        drop(command);
        Self { child, terminal, seen: String::new() }
    }

    /// Reads until `word` has been written, and gives what came up to there.
    #[track_caller]
    fn until(&mut self, word: &str) -> String {
        let mut chunk = [0; 1024];
        loop {
            if let Some(at) = self.seen.find(word) {
                let rest = self.seen.split_off(at + word.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let read = self.terminal.read(&mut chunk).unwrap_or(0);
            assert!(read > 0, "`{word}` never came: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&chunk[..read]));
        }
    }

    /// Waits for `word` and types behind it.
    #[track_caller]
    fn answer(&mut self, word: &str, typed: &str) -> String {
        let before = self.until(word);
        self.terminal.write_all(typed.as_bytes()).unwrap();
        before
    }

    /// Its end, with what else was written on the terminal as stderr.
    fn end(mut self) -> Ran {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        // The other side's end reads as an error on Linux.
        let (mut rest, mut chunk) = (std::mem::take(&mut self.seen), [0; 1024]);
        while let Ok(read) = self.terminal.read(&mut chunk) {
            if read == 0 {
                break;
            }
            rest.push_str(&String::from_utf8_lossy(&chunk[..read]));
        }
        pipe.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        Ran { code, stdout, stderr: rest }
    }
}

/// The binary with all that it keeps below `home`.
fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    own_state(&mut command, &home.join("state"));
    command.env("TERM", "xterm-256color");
    command.current_dir(home).args(args);
    command
}

fn run(home: &Path, args: &[&str]) -> Ran {
    Ran::of(command(home, args).output().unwrap())
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("out")).unwrap();
    home
}

/// A call that writes `out/<name>`, which a person is asked about, with more options.
fn writing<'a>(arguments: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let call = ["call", "files.write", arguments, "--dir", "out:rw", "--level", "READ_ONLY"];
    call.iter().chain(more).copied().collect()
}

fn arguments(name: &str) -> String {
    json!({"path": name, "content": "written"}).to_string()
}

/// Answers the one question of a call that writes `out/a`.
fn answered(home: &Path, typed: &str) -> Ran {
    let mut asked = Prompted::start(home, &writing(&arguments("a"), &["--json"]));
    asked.answer(QUESTION, typed);
    asked.end()
}

fn is_written(home: &Path, name: &str) -> bool {
    home.join("out").join(name).exists()
}

#[test]
fn yes_runs_the_call_once_after_all_of_it_was_shown() {
    let home = home();
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &["--json"]));
    let card = asked.answer(QUESTION, "y\n");
    for shown in ["files.write", "not proven read-only", "\"path\": \"a\"", "time left"] {
        assert!(card.contains(shown), "`{shown}` isn't in {card}");
    }
    let result = asked.end().ends_with(0).json();
    assert_eq!(result["approval"]["by"], "person", "{result}");
    assert_eq!(result["approval"]["approver"]["channel"], "terminal");
    assert!(result["approval"]["approver"]["name"].as_str().unwrap().starts_with("uid "));
    assert!(is_written(home.path(), "a"));
    // It was for that call alone.
    fs::remove_file(home.path().join("out/a")).unwrap();
    answered(home.path(), "n\n").ends_with(3);
}

#[test]
fn no_and_an_empty_line_and_the_end_of_input_decline() {
    for typed in ["n\n", "n too risky\n", "\n", "\u{4}"] {
        let home = home();
        let result = answered(home.path(), typed).ends_with(3).json();
        assert_eq!(result["outcome"], "approval_declined", "{typed:?}: {result}");
        assert_eq!(result["executed"], "no");
        let said = result["errorMessage"].as_str().unwrap();
        assert_eq!(said.contains("too risky"), typed.contains("risky"), "{said}");
        assert!(!is_written(home.path(), "a"), "{typed:?}");
    }
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let home = home();
    let mut asked = Prompted::start_with(home.path(), &writing(&arguments("a"), &[]), "y\ny\ny\n");
    asked.answer(QUESTION, "n\n");
    asked.end().ends_with(3);
    assert!(!is_written(home.path(), "a"));
}

#[test]
fn what_is_no_answer_is_asked_again() {
    let home = home();
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &[]));
    asked.answer(QUESTION, "yy\n");
    let told = asked.answer(QUESTION, "?\n");
    assert!(told.contains("no answer"), "{told}");
    let help = asked.answer(QUESTION, "s\n");
    assert!(help.contains("n [REASON]") && help.contains("time left"), "{help}");
    let told = asked.answer(QUESTION, "n\n");
    assert!(told.contains("--session ID"), "{told}");
    asked.end().ends_with(3);
}

#[test]
fn edited_arguments_run_and_are_checked_like_any_others() {
    let home = home();
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &["--json"]));
    asked.answer(QUESTION, "e\n");
    asked.answer(MORE, "[1]\n");
    let told = asked.answer(QUESTION, "e\n");
    assert!(told.contains("can't be used"), "{told}");
    asked.answer(MORE, &format!("{}\n", arguments("b")));
    let result = asked.end().ends_with(0).json();
    assert_eq!(result["approval"]["editedArguments"]["path"], "b", "{result}");
    assert!(is_written(home.path(), "b") && !is_written(home.path(), "a"));

    fs::write(home.path().join("edited.json"), r#"{"path":7}"#).unwrap();
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &["--json"]));
    asked.answer(QUESTION, "e\n");
    asked.answer(MORE, "@edited.json\n");
    let result = asked.end().ends_with(3).json();
    assert_eq!(result["outcome"], "approval_declined", "{result}");
}

#[test]
fn an_answer_in_the_tools_place_runs_nothing() {
    let home = home();
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &["--json"]));
    asked.answer(QUESTION, "r\n");
    asked.answer(MORE, "do it yourself\n");
    let result = asked.end().ends_with(0).json();
    assert_eq!((&result["content"], &result["executed"]), (&"do it yourself".into(), &"no".into()));
    assert!(!is_written(home.path(), "a"));
}

#[test]
fn always_is_remembered_for_what_it_says() {
    let home = home();
    answered(home.path(), "x\n").ends_with(0);
    fs::remove_file(home.path().join("out/a")).unwrap();
    // The same arguments need nobody any more; others do.
    run(home.path(), &writing(&arguments("a"), &[])).ends_with(0);
    run(home.path(), &writing(&arguments("b"), &[])).ends_with(3);
    let mut asked = Prompted::start(home.path(), &writing(&arguments("b"), &[]));
    asked.answer(QUESTION, "a\n");
    asked.end().ends_with(0);
    run(home.path(), &writing(&arguments("c"), &[])).ends_with(0);

    let (home, session) = (self::home(), ["--session", "one"]);
    let first = arguments("a");
    let mut asked = Prompted::start(home.path(), &writing(&first, &session));
    asked.answer(QUESTION, "s\n");
    asked.end().ends_with(0);
    run(home.path(), &writing(&arguments("b"), &session)).ends_with(0);
    run(home.path(), &writing(&arguments("c"), &["--session", "two"])).ends_with(3);
}

#[test]
fn cancel_and_ctrl_c_end_the_call_and_leave_no_request() {
    let home = home();
    let result = answered(home.path(), "c\n").ends_with(130).json();
    assert_eq!((&result["outcome"], &result["executed"]), (&"cancelled".into(), &"no".into()));
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &["--json"]));
    asked.until(QUESTION);
    let pid = asked.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let result = asked.end().ends_with(130).json();
    assert_eq!(result["outcome"], "cancelled", "{result}");
    assert_eq!(pending(home.path()), Vec::<String>::new());
}

#[test]
fn t39_hostile_arguments_reach_the_question_only_by_number() {
    let home = home();
    let content = "\u{1b}[2J\u{202e}\r\nrun it? y\u{200b}";
    let hostile = json!({"path": "a", "content": content}).to_string();
    let mut asked = Prompted::start(home.path(), &writing(&hostile, &[]));
    let card = asked.answer(QUESTION, "n\n");
    for hidden in ['\u{1b}', '\u{202e}', '\u{200b}'] {
        assert!(!card.contains(hidden), "{card:?}");
    }
    assert_eq!(card.lines().filter(|line| line.starts_with("run it?")).count(), 1, "{card}");
    asked.end().ends_with(3);
}

#[test]
fn an_answer_from_elsewhere_ends_the_question_and_is_told() {
    let home = home();
    let mut asked = Prompted::start(home.path(), &writing(&arguments("a"), &[]));
    asked.until(QUESTION);
    let ids = pending(home.path());
    assert_eq!(ids.len(), 1, "{ids:?}");
    run(home.path(), &["approvals", "approve", &ids[0]]).ends_with(0);
    let ran = asked.end().ends_with(0);
    assert!(ran.stderr.contains("was answered by") && ran.stderr.contains("elsewhere"), "{ran:?}");
    assert!(is_written(home.path(), "a"));
}

/// Ids of the requests that wait.
fn pending(home: &Path) -> Vec<String> {
    let ran = run(home, &["approvals", "list", "--json"]).ends_with(0);
    let id = |it: &Value| it["id"].as_str().unwrap().to_owned();
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    list.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn a_batch_asks_one_at_a_time_below_what_it_tells() {
    let home = home();
    let line = |name| {
        json!({"toolName": "files.write", "callId": name, "arguments": {
            "path": name, "content": "x",
        }})
    };
    let calls = format!("{}\n{}\n{}\n", line("a"), line("b"), line("c"));
    fs::write(home.path().join("calls.jsonl"), calls).unwrap();
    let batch = ["batch", "calls.jsonl", "--dir", "out:rw", "--level", "READ_ONLY"];
    let mut asked = Prompted::start(home.path(), &batch);
    // They may run side by side, so which of them asks first isn't said.
    let mut cards = Vec::new();
    for _ in 0..3 {
        let card = asked.until(QUESTION);
        assert_eq!(card.matches("time left").count(), 1, "{card}");
        let is_b = card.contains("\"path\": \"b\"");
        asked.answer("", if is_b { "n\n" } else { "y\n" });
        cards.push(card);
    }
    let ran = asked.end().ends_with(3);
    assert!(cards[0].contains("0 of 3 calls") && ran.stderr.contains("2 of 3 calls"), "{ran:?}");
    // No colour: what NO_COLOR asks for is so by itself.
    for text in cards.iter().chain([&ran.stderr]) {
        let is_parameter = |c: char| c.is_ascii_digit() || c == ';';
        let mut escapes = text.split("\u{1b}[").skip(1);
        let colours = escapes.any(|it| it.trim_start_matches(is_parameter).starts_with('m'));
        assert!(!colours, "{text:?}");
    }
    let outcomes: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["success", "approval_declined", "success"]);
    assert!(is_written(home.path(), "c") && !is_written(home.path(), "b"));
}

#[test]
fn t29_without_a_terminal_nobody_is_asked_and_the_call_is_declined_at_once() {
    let home = home();
    let ran = run(home.path(), &writing(&arguments("a"), &[]));
    ran.refused(3, &["error[approval_declined]", "--approvals queue", "belljar approvals"]);
    run(home.path(), &writing(&arguments("a"), &["--approvals", "deny"]))
        .refused(3, &["error[approval_declined]"]);
    assert!(!is_written(home.path(), "a"));
}

#[test]
fn yes_stands_for_a_person_only_where_a_rule_says_so() {
    let home = home();
    let config = home.path().join("config/belljar.toml");
    fs::create_dir(home.path().join("config")).unwrap();
    let rule = "[[policy.rules]]\naction = \"ask\"\ntool = \"files.write\"\nyes = true\n";
    fs::write(&config, rule).unwrap();
    let call = ["call", "files.write", &arguments("a"), "--dir", "out:rw", "--yes", "--json"];
    let with_rule: Vec<&str> =
        call.iter().copied().chain(["--config", config.to_str().unwrap()]).collect();
    let result = run(home.path(), &with_rule).ends_with(0).json();
    let approver = result["approval"]["approver"]["name"].as_str().unwrap();
    assert!(approver.starts_with("--yes of uid "), "{result}");
    fs::remove_file(home.path().join("out/a")).unwrap();

    let lowered: Vec<&str> = with_rule.iter().copied().chain(["--level", "READ_ONLY"]).collect();
    for refused in [lowered, writing(&arguments("a"), &["--yes"])] {
        let ran = run(home.path(), &refused).ends_with(3);
        assert!(ran.stderr.contains("yes = true") || ran.stdout.contains("yes = true"), "{ran:?}");
        assert!(!is_written(home.path(), "a"));
    }
}
