//! The thread that lets the wall clock reach running wasm.
//!
//! An OS thread, since a busy runtime would starve a task. It ticks while anything runs and is
//! parked otherwise. It holds the engine weakly and ends with it. A tick decides nothing: each
//! store compares its own deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// How late a running guest may notice its deadline, besides scheduling.
pub(super) const TICK: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
struct Shared {
    running: AtomicUsize,
    stop: AtomicBool,
}

/// The ticker of one engine.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts the thread. Where none can be had, guests still end by fuel and by the outer time
    /// out, only later; that is said in the log.
    pub(crate) fn start(engine: EngineWeak) -> Self {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("belljar-ticker".into())
            .spawn(move || tick(&seen, &engine))
            .inspect_err(|error| tracing::error!("no ticker thread: {error}"))
            .ok();
        Self { shared, thread }
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

fn tick(shared: &Shared, engine: &EngineWeak) {
    while !shared.stop.load(Ordering::Acquire) {
        if shared.running.load(Ordering::Acquire) == 0 {
            // An unpark that comes between the load and here makes this return at once.
            std::thread::park();
            continue;
        }
        std::thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
    }
}
