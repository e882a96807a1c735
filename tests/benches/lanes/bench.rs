//! What every part works with: the guests, the engine of the bare lanes, a folder, a runtime, and
//! the rounds in which lanes take turns.
//!
//! Knows no lane.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use belljar::sandbox::Sandbox;
use tokio::runtime::{Builder, Runtime};
use wasmtime::Engine;

use super::figures::{Figures, Times};
use super::guests::Guests;
use super::machine::load;

/// Rounds of a part, where its lanes are quick.
pub(crate) const ROUNDS: usize = 10;
/// Rounds of a part whose lanes take long.
pub(crate) const FEW_ROUNDS: usize = 5;

/// What every part works with.
pub(crate) struct Bench {
    pub(crate) began: Instant,
    /// Every part was asked for.
    pub(crate) is_whole: bool,
    /// The kernel's averages of load when it began.
    pub(crate) load: String,
    pub(crate) figures: Figures,
    pub(crate) guests: Guests,
    /// One thread: a call that goes to another has that in its time, and latency lanes are about
    /// what a call itself costs.
    pub(crate) runtime: Rc<Runtime>,
    folder: tempfile::TempDir,
    engine: OnceCell<Engine>,
    heavy_engine: OnceCell<Engine>,
}

impl Bench {
    /// With nothing measured yet.
    pub(crate) fn new(is_whole: bool) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self {
            began: Instant::now(),
            is_whole,
            load: load(),
            figures: Figures::default(),
            guests: Guests::default(),
            runtime: Rc::new(runtime),
            folder: folder(),
            engine: OnceCell::new(),
            heavy_engine: OnceCell::new(),
        }
    }

    /// A folder of this run by its name, on the disk that the build is on.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The Rust guest as a file.
    pub(crate) fn rust_file(&self) -> PathBuf {
        let path = self.folder("bench.wasm");
        if !path.exists() {
            std::fs::write(&path, self.guests.rust()).expect("a file");
        }
        path
    }

    /// The engine of the bare lanes: the sandbox's settings, with a compiler.
    pub(crate) fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| Engine::new(&Sandbox::engine_config()).expect("an engine"))
    }

    /// The like for JavaScript and Python.
    pub(crate) fn heavy_engine(&self) -> &Engine {
        let make = || Engine::new(&Sandbox::heavy_engine_config()).expect("an engine");
        self.heavy_engine.get_or_init(make)
    }
}

/// A folder that is gone with its value. Not the system's for temporary things, which may be memory:
/// the audit log belongs on a disk.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// The folder that cargo builds in.
pub(crate) fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in a folder")
}

/// Threads to work with, as guests and clients find them on a machine of so many cores.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// A runtime of two worker threads, for lanes with several calls at once.
pub(crate) fn two_workers() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// What a lane adds its figures to.
pub(crate) struct Round<'a> {
    pub(crate) part: &'static str,
    pub(crate) figures: &'a mut Figures,
}

impl Round<'_> {
    /// Takes one value.
    pub(crate) fn add(&mut self, name: impl Into<String>, unit: &'static str, value: f64) {
        self.figures.add(self.part, name, unit, value);
    }

    /// Takes the median and the tail of a lane's calls.
    pub(crate) fn times(&mut self, lane: &str, times: &Times) {
        self.add(p50(lane), "µs", times.us(500));
        self.add(p99(lane), "µs", times.us(990));
    }
}

/// The name of a lane's median.
pub(crate) fn p50(lane: &str) -> String {
    format!("{lane}: p50")
}

/// The name of a lane's tail.
pub(crate) fn p99(lane: &str) -> String {
    format!("{lane}: p99")
}

/// One thing that is measured, a round at a time.
pub(crate) type Lane<'a> = Box<dyn FnMut(&mut Round<'_>) + 'a>;

/// Runs every lane once without keeping what it measures, then as [`rounds`] does.
pub(crate) fn warm_rounds(
    part: &'static str,
    count: usize,
    figures: &mut Figures,
    lanes: &mut [Lane<'_>],
) {
    rounds(part, 1, &mut Figures::default(), lanes);
    rounds(part, count, figures, lanes);
}

/// Runs every lane once a round. Each round begins with another lane, so that none is always the one
/// that comes after the heaviest.
pub(crate) fn rounds(
    part: &'static str,
    count: usize,
    figures: &mut Figures,
    lanes: &mut [Lane<'_>],
) {
    for round in 0..count {
        for turn in 0..lanes.len() {
            let lane = (turn + round) % lanes.len();
            lanes[lane](&mut Round { part, figures });
        }
    }
}

/// Calls so often, one after another, each of which says how long it took.
pub(crate) fn times(
    runtime: &Runtime,
    count: usize,
    mut call: impl AsyncFnMut(usize) -> Duration,
) -> Times {
    runtime.block_on(async {
        let mut times = Vec::with_capacity(count);
        for number in 0..count {
            times.push(call(number).await);
        }
        Times::new(times)
    })
}
