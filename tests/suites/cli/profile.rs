//! `belljar call --profile`: what is in the file, and when there is none.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{HASH, HASHED, call_wat};
use crate::guests::built;
use crate::suites::harness::{Ran, belljar, folder_with, run, settled};

/// The file as JSON, which must have one thread; its samples that are in the guest; and the names
/// of the functions that they are in themselves.
fn read(file: &Path) -> (Value, Vec<String>) {
    let json: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let [thread] = json["threads"].as_array().unwrap().as_slice() else { panic!("{json}") };
    let at = |table: &str, column: &str, row: &Value| {
        thread[table][column][usize::try_from(row.as_u64().unwrap()).unwrap()].clone()
    };
    let stacks = thread["samples"]["stack"].as_array().unwrap().iter().filter(|it| !it.is_null());
    let names = stacks.map(|stack| {
        let name =
            at("funcTable", "name", &at("frameTable", "func", &at("stackTable", "frame", stack)));
        thread["stringArray"][usize::try_from(name.as_u64().unwrap()).unwrap()].clone()
    });
    let names = names.map(|name| name.as_str().unwrap().to_owned()).collect();
    (json, names)
}

fn no_file(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_tool_that_its_deadline_ends_is_seen_where_it_spins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let path = file.to_str().unwrap();
    let more = ["--timeout", "300ms", "--json", "--profile", path];
    let ran = call_wat("loops", "spin", &more).ends_with(4);
    assert_eq!(ran.json()["outcome"], "timed_out");
    assert_eq!(ran.stderr, "");
    let (json, names) = read(&file);
    assert_eq!(json["meta"]["product"], "guest.spin");
    assert!(!names.is_empty() && names.iter().all(|name| name == "spins"), "{names:?}");
    // Again, in the place of what is there.
    fs::write(&file, "old").unwrap();
    call_wat("loops", "spin", &["--fuel", "1e6", "--profile", path]).ends_with(4);
    read(&file);
}

/// `guest.spin` for longer than a test waits, at work.
fn spinning(guests: &Path, profile: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
    settled(&mut command);
    command.args(["call", "guest.spin", "--trace", "--timeout", "100s", "--fuel", "1e12"]);
    command.arg("--plugin").arg(guests.join("guest.wasm")).arg("--profile").arg(profile);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Processor time of a process in user mode, in hundredths of a second (`proc_pid_stat(5)`).
fn clock_ticks(pid: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The program's name may hold anything, and ends at the last parenthesis.
    let fields = stat.rsplit_once(") ").unwrap().1;
    fields.split(' ').nth(11).unwrap().parse().unwrap()
}

/// Waits until it runs, does that, interrupts it, and gives what it says from then on.
fn interrupted(mut child: Child, meanwhile: impl FnOnce()) -> Ran {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("AttemptStarted")), "the call never started");
    let pid = child.id().to_string();
    // From here on nothing but the guest uses processor time, so this much of it is the guest's.
    let before = clock_ticks(&pid);
    while clock_ticks(&pid) < before + 10 {}
    meanwhile();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let stderr = lines.collect::<Vec<_>>().join("\n");
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    Ran { code: child.wait().unwrap().code(), stdout, stderr }
}

#[test]
fn a_call_that_ctrl_c_ends_leaves_its_profile() {
    let (guests, folder) =
        (folder_with(&[("guest", &built::wat("loops"))]), tempfile::tempdir().unwrap());
    let file = folder.path().join("profile.json");
    interrupted(spinning(guests.path(), &file), || {}).ends_with(130);
    let (_, names) = read(&file);
    assert!(!names.is_empty() && names.iter().all(|name| name == "spins"), "{names:?}");
}

#[test]
fn a_profile_that_cannot_be_kept_any_more_changes_nothing_of_the_result() {
    let (guests, folder) =
        (folder_with(&[("guest", &built::wat("loops"))]), tempfile::tempdir().unwrap());
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let child = spinning(guests.path(), &inner.join("profile.json"));
    let ran = interrupted(child, || fs::remove_dir(&inner).unwrap()).ends_with(130);
    assert!(ran.stderr.contains("error[interrupted]"), "{ran:?}");
    assert!(ran.stderr.contains("warning: the profile is lost: "), "{ran:?}");
    assert!(!ran.stderr.contains("at path"), "{ran:?}");
}

#[test]
fn what_did_not_run_writes_no_profile() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let path = file.to_str().unwrap();
    let remark = "isn't written: nothing of this call ran in the sandbox";
    for (args, said) in [
        (["codec.hash", "{}"], "error[invalid_arguments]"),
        (["no.such", "{}"], "error[not_found]"),
    ] {
        let ran = run(["call", args[0], args[1], "--profile", path]).refused(3, &[said, remark]);
        assert!(no_file(folder.path()), "{ran:?}");
    }
    let key = format!("profile-{}", std::process::id());
    let repeated = ["call", "codec.hash", HASH, "--idempotency-key", &key];
    run(repeated).ends_with(0);
    let ran = run(repeated.into_iter().chain(["--profile", path])).ends_with(0);
    assert!(ran.stdout.contains(HASHED) && ran.stderr.contains(remark), "{ran:?}");
    assert!(no_file(folder.path()), "{ran:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_the_tool_runs() {
    let folder = tempfile::tempdir().unwrap();
    let grant = format!("{}:rw", folder.path().display());
    let write = r#"{"path":"written.txt","content":"x"}"#;
    let missing = folder.path().join("no/such.json");
    for bad in [missing.to_str().unwrap(), folder.path().to_str().unwrap(), "/dev/null", "-"] {
        let mut command = belljar();
        command.args(["call", "files.write", write, "--dir", &grant, "--profile", bad]);
        let ran = Ran::of(command.output().unwrap()).refused(2, &["error: "]);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        assert!(no_file(folder.path()), "{ran:?}");
    }
}

#[test]
fn a_link_that_the_tool_puts_in_the_files_place_leads_nowhere() {
    let plugin = folder_with(&[("hostile", built::rust("hostile"))]);
    let (granted, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let victim = other.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let up = format!("../{}/victim", other.path().file_name().unwrap().to_str().unwrap());
    let (grant, file) =
        (format!("{}:/d:rw", granted.path().display()), granted.path().join("profile.json"));
    let link = serde_json::json!({"link": "/d/profile.json", "target": up}).to_string();
    let call = || {
        let mut command = belljar();
        command.args(["call", "hostile.symbolic-link", &link, "--dir", &grant, "--plugin"]);
        command.arg(format!("hostile={}", plugin.path().join("hostile.wasm").display()));
        command.arg("--profile").arg(&file);
        Ran::of(command.output().unwrap())
    };
    call().ends_with(0);
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    read(&file);
    // One that was there before is refused.
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&victim, &file).unwrap();
    call().refused(2, &["it is a link"]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn the_file_that_the_answer_goes_to_is_not_replaced_below_it() {
    let folder = tempfile::tempdir().unwrap();
    let same = folder.path().join("same");
    for to in ["1", "2"] {
        let mut shell = Command::new("sh");
        settled(&mut shell);
        // Whatever is said goes to this test, but for what goes to the file.
        shell.args([
            "-c",
            &format!(r#"exec "$0" "$@" {to}>"$FILE""#),
            env!("CARGO_BIN_EXE_belljar"),
        ]);
        shell.args(["call", "codec.hash", HASH, "--profile"]).arg(&same).env("FILE", &same);
        let ran = Ran::of(shell.output().unwrap()).ends_with(2);
        let said = fs::read_to_string(&same).unwrap() + &ran.stderr;
        assert!(said.contains("it is where stdout or stderr goes"), "{said}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_granted_folder_that_the_profile_goes_into_shows_nothing_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    let (grant, path) = (format!("{}:rw", folder.path().display()), file.to_str().unwrap());
    let ran = run(["call", "files.list", "{}", "--dir", &grant, "--profile", path]).ends_with(0);
    assert_eq!(ran.json()["entries"], serde_json::json!([]), "{ran:?}");
    read(&file);
}
