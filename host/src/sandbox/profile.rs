//! Where the guests of a process were at each tick of the clock that interrupts them, and how that is
//! written for the Firefox Profiler.
//!
//! Decides nothing about a call: what is sampled is read and kept, within bounds. wasmtime's own
//! `GuestProfiler` writes the same format, but demangles the names of all functions at once, of which
//! 200 bytes can come to megabytes, and keeps stacks of any depth: a plugin could use up the host's
//! memory by either.

mod json;
mod names;
mod samples;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::{AsContext, FrameInfo, Module, WasmBacktrace};

use self::names::shown;
use self::samples::{Bounds, Called, Samples};

/// Frames of a sample that are kept, from the innermost on.
pub(super) const FRAMES_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
/// Attempts that are sampled: more than one call may have.
const ATTEMPTS_MAX: usize = 16;
/// What is kept of one attempt. The samples are one a millisecond for as long as a call may take by
/// default.
const BOUNDS: Bounds = Bounds { samples: 1 << 15, paths: 1 << 16, functions: 1 << 13 };

/// The profile of a process: where its guests were, attempt by attempt. All clones are one profile.
///
/// A sandbox that has one samples each attempt in it, about once a millisecond while the guest runs.
#[derive(Debug, Clone)]
pub struct Profile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    made: Instant,
    made_unix_ms: u64,
    /// When its first attempt began: compiling the plugin is no part of the picture.
    started: OnceLock<Instant>,
    bounds: Bounds,
    attempts: Mutex<Vec<Recording>>,
}

/// What a profile has seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Attempts that began in the sandbox.
    pub attempts: usize,
    /// Samples that are kept of them.
    pub samples: usize,
}

impl Profile {
    /// An empty one. Now is `now_unix_ms` in milliseconds since 1970.
    pub fn new(now_unix_ms: u64) -> Self {
        Self::within(now_unix_ms, BOUNDS)
    }

    fn within(made_unix_ms: u64, bounds: Bounds) -> Self {
        let (made, started) = (Instant::now(), OnceLock::new());
        let attempts = Mutex::default();
        Self(Arc::new(Shared { made, made_unix_ms, started, bounds, attempts }))
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        let attempts = held(&self.0.attempts);
        let samples = attempts.iter().map(|it| held(&it.0).samples.taken().len()).sum();
        Seen { attempts: attempts.len(), samples }
    }

    /// Writes what was seen until now, under the name of what was called, as JSON of the Firefox
    /// Profiler's processed format.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&self, name: &str, to: impl Write) -> io::Result<()> {
        let shared = &self.0;
        let started = shared.started.get().copied().unwrap_or(shared.made);
        let since_1970 =
            Duration::from_millis(shared.made_unix_ms).saturating_add(started - shared.made);
        let (mut written, now) = (json::Written::new(name, since_1970), started.elapsed());
        for recording in held(&self.0.attempts).iter() {
            written.add(&held(&recording.0), now);
        }
        written.write(to)
    }

    /// Begins with an attempt; `None` where there have been too many.
    pub(super) fn begin(&self, number: u32) -> Option<Recording> {
        let mut attempts = held(&self.0.attempts);
        if attempts.len() >= ATTEMPTS_MAX {
            return None;
        }
        let started = *self.0.started.get_or_init(Instant::now);
        let recording = Recording(Arc::new(Mutex::new(Attempted {
            number,
            started,
            began: started.elapsed(),
            called: None,
            ended: None,
            modules: Vec::new(),
            samples: Samples::new(self.0.bounds),
        })));
        attempts.push(recording.clone());
        Some(recording)
    }
}

/// What one attempt did. Times are since the profile's start.
#[derive(Debug)]
struct Attempted {
    number: u32,
    started: Instant,
    began: Duration,
    /// When its export was called, where it came so far.
    called: Option<Duration>,
    /// When its store was gone, where it is.
    ended: Option<Duration>,
    modules: Vec<Module>,
    samples: Samples,
}

/// The part of a profile that is one attempt's.
#[derive(Debug, Clone)]
pub(super) struct Recording(Arc<Mutex<Attempted>>);

impl Recording {
    /// The instance is there, and its export is called.
    pub(super) fn calling(&self) {
        let mut attempted = held(&self.0);
        attempted.called = Some(attempted.started.elapsed());
    }

    /// What samples the store that it is dropped with.
    pub(super) fn sampler(&self) -> Sampler {
        Sampler(self.clone())
    }
}

/// Samples one store, from inside the guest's own stack.
#[derive(Debug)]
pub(super) struct Sampler(Recording);

impl Sampler {
    /// Takes a sample, where one is due at this tick.
    pub(super) fn sample(&self, store: impl AsContext) {
        let mut attempted = held(&self.0.0);
        if !attempted.samples.is_due() {
            return;
        }
        let at = attempted.started.elapsed();
        let trace = WasmBacktrace::force_capture(store);
        let frames = trace.frames();
        let Attempted { modules, samples, .. } = &mut *attempted;
        let called: Vec<_> = frames.iter().map(|frame| called(modules, frame)).collect();
        samples.add(at, &called, frames.len() < FRAMES_MAX.get());
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let mut attempted = held(&self.0.0);
        attempted.ended = Some(attempted.started.elapsed());
    }
}

/// A frame by numbers, and the plugin's own name of it.
fn called<'a>(modules: &mut Vec<Module>, frame: &'a FrameInfo) -> Called<'a> {
    let known = modules.iter().position(|module| Module::same(module, frame.module()));
    let module = known.unwrap_or_else(|| {
        modules.push(frame.module().clone());
        modules.len() - 1
    });
    let module = u32::try_from(module).unwrap_or(u32::MAX);
    Called { module, function: frame.func_index(), name: frame.func_name() }
}

/// A panic while it was held leaves at worst a sample out.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
