//! The thread that lets the wall clock reach running wasm.
//!
//! An OS thread, since a busy runtime would starve a task. It ticks while anything runs and a little
//! longer, and is parked otherwise. It holds its engines weakly. A tick decides nothing: each
//! store compares its own deadline.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// How late a running guest may notice its deadline, besides scheduling.
pub(super) const TICK: Duration = Duration::from_millis(1);
/// Ticks without anything to run before the thread is parked: to wake it costs a call as much as
/// the rest of its way into the sandbox.
const IDLE_TICKS: u32 = 50;

#[derive(Default)]
struct Shared {
    engines: Mutex<Vec<EngineWeak>>,
    running: AtomicUsize,
    stop: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("running", &self.running).finish_non_exhaustive()
    }
}

/// The ticker of a host's engines.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread. Where none can be had, guests still end by fuel and by the outer time
    /// out, only later; that is said in the log.
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("belljar-ticker".into())
            .spawn(move || tick(&seen))
            .inspect_err(|error| tracing::error!("no ticker thread: {error}"))
            .ok();
        Self { shared, thread }
    }

    /// Has one more engine tick.
    pub(crate) fn add(&self, engine: EngineWeak) {
        self.shared.engines.lock().unwrap_or_else(PoisonError::into_inner).push(engine);
    }

    /// Keeps the ticker awake until the guard is dropped.
    pub(crate) fn keep_awake(self: &Arc<Self>) -> Awake {
        let first = self.shared.running.fetch_add(1, Ordering::AcqRel) == 0;
        if first && let Some(thread) = self.thread() {
            thread.unpark();
        }
        Awake(Arc::clone(self))
    }

    fn thread(&self) -> Option<&Thread> {
        self.thread.as_ref().map(JoinHandle::thread)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread() {
            thread.unpark();
        }
    }
}

/// While one lives, the ticker ticks.
#[derive(Debug)]
pub(crate) struct Awake(Arc<Ticker>);

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.shared.running.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tick(shared: &Shared) {
    let mut idle = 0;
    while !shared.stop.load(Ordering::Acquire) {
        idle = if shared.running.load(Ordering::Acquire) == 0 { idle + 1 } else { 0 };
        if idle > IDLE_TICKS {
            // An unpark that comes between the load and here makes this return at once.
            std::thread::park();
            idle = 0;
            continue;
        }
        std::thread::sleep(TICK);
        let engines = shared.engines.lock().unwrap_or_else(PoisonError::into_inner);
        for engine in engines.iter().filter_map(EngineWeak::upgrade) {
            engine.increment_epoch();
        }
    }
}
