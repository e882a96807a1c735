//! The first call of a builtin: the program's start and end are in it, and its code comes from the
//! store.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::bench::{Bench, FEW_ROUNDS, Lane, p50, rounds};
use super::figures::Times;
use super::hosts::{BELLJAR, NO_BELLJAR, cache, code_key};

const PART: &str = "starting";
const STARTS: usize = 20;
const LANE: &str = "`belljar call codec.hash`, start of the process to its end";
/// crc32 of `abc`.
const ANSWER: &str = "352441c2";

/// The goal's.
pub(crate) fn first_call() -> String {
    p50(LANE)
}

/// A folder for what the program keeps, with the key of the code that all hosts share.
pub(crate) fn home(bench: &Bench, name: &str) -> PathBuf {
    let home = bench.folder(name);
    let state = home.join("state/belljar");
    DirBuilder::new().recursive(true).mode(0o700).create(&state).expect("a folder");
    // A copy has the mode of what it is of.
    std::fs::copy(code_key(), state.join("code.key")).expect("a key");
    home
}

/// The program, with everything but compiled code in this folder.
pub(crate) fn belljar(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("XDG_CACHE_HOME", cache())
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env_remove("BELLJAR_CONFIG")
        .env_remove("BELLJAR_LOG")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Measures it.
pub(crate) fn measure(bench: &mut Bench) {
    let Some(program) = BELLJAR else {
        return bench.figures.miss(first_call(), NO_BELLJAR);
    };
    let home = home(bench, "starting");
    let once = || {
        let mut command = belljar(program, &home);
        command.args(["call", "codec.hash", r#"{"algorithm":"crc32","text":"abc"}"#]);
        let began = Instant::now();
        let output = command.output().expect("belljar starts");
        let took = began.elapsed();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains(ANSWER), "{output:?}");
        took
    };
    // Fills the store of code.
    once();
    let mut lanes: Vec<Lane<'_>> = vec![Box::new(|round| {
        let times = std::iter::repeat_with(once).take(STARTS).collect();
        round.add(first_call(), "ms", Times::new(times).us(500) / 1e3);
    })];
    rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
}
