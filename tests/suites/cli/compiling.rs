//! The process that compiles: what it may have, what ends it, and what several of them share.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, code_in, settled};
use crate::suites::slow::slow;

/// What every answer of the process begins with; then one letter says what it is.
const MARK: &[u8] = b"\0belljar";
/// Longer than a process takes to appear or to go on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A cache of its own with a plugin to inspect.
struct Place(tempfile::TempDir);

impl Place {
    fn with(plugin: &[u8]) -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("plugin.wasm"), plugin).unwrap();
        Self(place)
    }

    fn command(&self, mut command: Command) -> Command {
        command.env("XDG_CACHE_HOME", self.0.path()).env("XDG_STATE_HOME", self.0.path().join("s"));
        command.arg("inspect").arg(self.0.path().join("plugin.wasm"));
        command
    }

    fn inspect(&self) -> Ran {
        Ran::of(self.command(belljar()).output().unwrap())
    }

    /// The binary itself, so that its process id is the one that compiles are children of.
    fn started(&self) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belljar"));
        settled(&mut command);
        let mut command = self.command(command);
        command.env("A_SECRET", "x").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let code = code_in(self.0.path());
        fs::read_dir(code).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn key(&self) -> PathBuf {
        self.0.path().join("s/belljar/code.key")
    }
}

/// Runs the hidden command on a component, through `before` (a program and its arguments).
fn compile(before: &[&str], engine: &str, component: &[u8]) -> Output {
    let mut words = before.to_vec();
    words.extend([env!("CARGO_BIN_EXE_belljar"), "compile", engine]);
    let mut child = Command::new(words[0])
        .args(&words[1..])
        // As many threads on every machine: each has memory of its own.
        .env("RAYON_NUM_THREADS", "2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end before it has read everything.
    drop(child.stdin.take().unwrap().write_all(component));
    child.wait_with_output().unwrap()
}

/// The hash of this build's engine, as the hidden command tells it.
fn engine() -> String {
    let answer = compile(&[], "0", &built::wat("counter")).stdout;
    let words = answer.strip_prefix(MARK).unwrap().strip_prefix(b"e").unwrap();
    String::from_utf8(words.to_vec()).unwrap()
}

/// Waits until `found` gives something.
#[track_caller]
fn wait<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} never came");
        std::thread::yield_now();
    }
}

/// The process that compiles for another, once it has bounded itself.
fn compiler_of(parent: &Child) -> u32 {
    wait("a bounded compiler", || {
        let children = format!("/proc/{0}/task/{0}/children", parent.id());
        let child = fs::read_to_string(children).ok()?.split_whitespace().next()?.parse().ok()?;
        (soft_limit(child, "Max open files")? == "16").then_some(child)
    })
}

fn soft_limit(process: u32, name: &str) -> Option<String> {
    let limits = fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.to_owned())
}

/// Whether it runs: one that ended and wasn't waited for doesn't.
fn runs(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/status"))
        .is_ok_and(|status| !status.contains("State:\tZ") && !status.contains("State:\tX"))
}

#[test]
fn a_plugin_is_compiled_by_a_process_that_has_bounds_and_nothing_of_its_parent() {
    let place = Place::with(&slow());
    let mut parent = place.started();
    let child = compiler_of(&parent);
    let limit = |name: &str| soft_limit(child, name).unwrap();
    assert_eq!(limit("Max address space"), (4_u64 << 30).to_string());
    assert_eq!(limit("Max cpu time"), "300");
    // One byte: at 0 the kernel would hand a core to a program that cores are piped to.
    assert_eq!([limit("Max file size"), limit("Max core file size")], ["0", "1"]);
    let environment = fs::read(format!("/proc/{child}/environ")).unwrap();
    assert!(environment.starts_with(b"RAYON_NUM_THREADS="), "{environment:?}");
    assert_eq!(environment.iter().filter(|byte| **byte == b'=').count(), 1);
    let mut open: Vec<_> = fs::read_dir(format!("/proc/{child}/fd"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    parent.kill().unwrap();
    parent.wait().unwrap();
}

#[test]
fn the_process_that_compiles_goes_with_the_one_that_asked_for_it() {
    let place = Place::with(&slow());
    let mut parent = place.started();
    let child = compiler_of(&parent);
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait("its end", || (!runs(child)).then_some(()));
    assert!(place.entries().is_empty());
}

#[test]
fn a_compiler_that_is_ended_from_outside_is_told_and_leaves_nothing() {
    let place = Place::with(&slow());
    let parent = place.started();
    let child = compiler_of(&parent);
    let killed = Command::new("kill").args(["-9", &child.to_string()]).status().unwrap();
    assert!(killed.success());
    let ran = Ran::of(parent.wait_with_output().unwrap());
    ran.refused(3, &["its compiler ended without an answer", "signal 9"]);
    assert!(place.entries().is_empty());
}

#[test]
fn a_compile_bomb_meets_the_bound_on_processor_time() {
    let engine = engine();
    let ended = compile(&["prlimit", "--cpu=1"], &engine, &slow());
    // `SIGXCPU`, or `SIGKILL` where the hard bound is as low: by nothing else.
    assert!(matches!(ended.status.signal(), Some(24 | 9)), "{:?}", ended.status);
    assert!(ended.stdout.is_empty(), "it answered");
    let honest = compile(&["prlimit", "--cpu=1"], &engine, &built::wat("counter"));
    assert!(honest.stdout.starts_with(b"\0belljarc\x7fELF"), "{:?}", honest.status);
}

#[test]
fn a_compile_bomb_meets_the_bound_on_memory() {
    let engine = engine();
    let bounded = ["prlimit", "--as=400000000"];
    let ended = compile(&bounded, &engine, &slow());
    // A failed allocation aborts: it began, and wanted more.
    assert_eq!(ended.status.signal(), Some(6), "{:?}", ended.status);
    assert!(ended.stdout.is_empty(), "it answered");
    let honest = compile(&bounded, &engine, &built::wat("counter"));
    assert!(honest.stdout.starts_with(b"\0belljarc\x7fELF"), "{:?}", honest.status);
}

#[test]
fn a_component_beyond_the_caps_is_refused_before_any_compiler_sees_it() {
    let many = wat::parse_str(format!("(component {})", "(core module)".repeat(600))).unwrap();
    let place = Place::with(&many);
    place.inspect().refused(3, &["more modules and components than the 512"]);
    assert!(place.entries().is_empty());
}

#[test]
fn the_hidden_command_answers_for_its_own_engine_only_and_is_hidden() {
    let counter = built::wat("counter");
    assert!(compile(&[], "0", &counter).stdout.starts_with(b"\0belljare"));
    assert!(compile(&[], &engine(), &counter).stdout.starts_with(b"\0belljarc\x7fELF"));
    assert!(compile(&[], &engine(), b"no component").stdout.starts_with(b"\0belljari"));
    let help = Ran::of(belljar().arg("--help").output().unwrap());
    assert!(!help.stdout.contains("  compile"), "{help:?}");
    assert_eq!(belljar().arg("compile").output().unwrap().status.code(), Some(2));
}

#[test]
fn processes_that_compile_one_plugin_at_once_share_one_entry() {
    let place = Place::with(built::rust("stock"));
    let started: Vec<_> = (0..6).map(|_| place.started()).collect();
    let ran: Vec<_> = started
        .into_iter()
        .map(|child| Ran::of(child.wait_with_output().unwrap()).ends_with(0))
        .collect();
    for one in &ran {
        assert_eq!((&one.stdout, one.stderr.as_str()), (&ran[0].stdout, ""));
    }
    let entries = place.entries();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let before = fs::read(&entries[0]).unwrap();
    assert_eq!(place.inspect().ends_with(0).stdout, ran[0].stdout);
    assert!(fs::read(&entries[0]).unwrap() == before);
}

#[test]
fn by_another_key_a_plugin_is_compiled_anew_and_that_is_told_once() {
    let place = Place::with(&built::wat("counter"));
    // Off a terminal nothing is shown of compiling.
    assert_eq!(place.inspect().ends_with(0).stderr, "");
    let entry = place.entries().remove(0);
    let before = fs::read(&entry).unwrap();
    fs::remove_file(place.key()).unwrap();
    let ran = place.inspect().ends_with(0);
    assert!(ran.stderr.contains("compiled anew"), "{ran:?}");
    assert!(fs::read(&entry).unwrap() != before, "it has the MAC of the lost key");
    assert_eq!(place.inspect().ends_with(0).stderr, "");
}

#[test]
fn a_key_that_others_can_read_is_not_used_and_the_work_is_done_all_the_same() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&built::wat("counter"));
    place.inspect().ends_with(0);
    let entry = place.entries().remove(0);
    fs::remove_file(&entry).unwrap();
    fs::set_permissions(place.key(), fs::Permissions::from_mode(0o644)).unwrap();
    let ran = place.inspect().ends_with(0);
    assert!(ran.stderr.contains("mode 0644"), "{ran:?}");
    assert!(!Path::exists(&entry));
}
