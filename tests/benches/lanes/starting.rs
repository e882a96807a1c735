//! The first call of a builtin: the program's start and end are in it, and its code comes from the
//! store.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::bench::{Bench, FEW_ROUNDS, Lane, p50, rounds};
use super::figures::Times;
use super::hosts::{BELLJAR, NO_BELLJAR};

const PART: &str = "starting";
const STARTS: usize = 20;
const LANE: &str = "`belljar call codec.hash`, start of the process to its end";
/// crc32 of `abc`.
const ANSWER: &str = "352441c2";

/// The goal's.
pub(crate) fn first_call() -> String {
    p50(LANE)
}

/// The program, with everything that it keeps in this folder.
pub(crate) fn belljar(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("XDG_STATE_HOME", folder.join("state"))
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
    let folder = bench.folder("starting");
    std::fs::create_dir(&folder).expect("a folder");
    let once = || {
        let mut command = belljar(program, &folder);
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
