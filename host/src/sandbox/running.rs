//! A guest at work: begun by whoever waits for it, and moved to a task of its own where it doesn't
//! end at once.
//!
//! Knows nothing of what a guest is made of, nor how its end is told.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use wasmtime::Store;

use super::permits::Permit;
use super::reaper::Reaper;
use super::state::HostState;
use super::store::Gathered;
use super::ticker::Awake;
use crate::contract::attempt::{Attempt, End};
use crate::contract::limits::LimitKind;

/// How long an answer waits for an ended guest to be gone; one that is longer goes to the reaper.
const END_PATIENCE: Duration = Duration::from_millis(20);
/// A guest with at most so much memory may begin where it is waited for. One instruction over all of
/// it, which nothing can interrupt, took 0.15 s when it was fresh: by so much an answer may be late.
const HERE_MAX_BYTES: u64 = 256 << 20;

/// What an attempt's future comes to.
pub(super) struct Report {
    pub(super) end: End,
    pub(super) fuel: Option<u64>,
    pub(super) peak_bytes: u64,
    pub(super) note: Option<String>,
    /// The store, where its guest came to its own end without a task.
    pub(super) store: Option<Store<HostState>>,
}

impl Report {
    /// An end that nothing else is known of.
    pub(super) fn of(end: End) -> Self {
        Self { end, fuel: None, peak_bytes: 0, note: None, store: None }
    }

    fn lost() -> Self {
        Self::of(End::Host("belljar itself failed in this call; its log says how".to_owned()))
    }
}

/// A report, and the time in which the guest was really polled; the rest it waited for the host.
type Timed = (Report, Duration);

/// A guest that has begun.
pub(super) enum Guest {
    /// It ended in its first steps.
    Ended(Timed),
    /// It runs as a task of its own: the answer is on time even where the guest holds its thread, in
    /// one long instruction or in the conversion of its result.
    Runs(JoinHandle<Timed>),
}

impl Guest {
    /// Takes the first steps of `guest`. Most calls end in them, before the clock of running wasm has
    /// ticked twice, and a task and two changes of it would be a good part of what they cost.
    pub(super) async fn begin<F>(guest: F, attempt: &Attempt) -> Self
    where
        F: Future<Output = Report> + Send + 'static,
    {
        // Its state is large: boxed it is moved once, not at every step on its way into the task.
        let mut guest = Measured { guest: Box::pin(guest), polled: Duration::ZERO };
        if !may_begin_here(attempt) {
            return Self::in_a_task(guest);
        }
        let stepped = std::future::poll_fn(|context| {
            Poll::Ready(catch_unwind(AssertUnwindSafe(|| Pin::new(&mut guest).poll(context))))
        });
        match stepped.await {
            Ok(Poll::Ready(timed)) => Self::Ended(timed),
            Ok(Poll::Pending) => Self::in_a_task(guest),
            // What it says is for the log, where the hook of panics has written it.
            Err(_panic) => Self::Ended((Report::lost(), guest.polled)),
        }
    }

    fn in_a_task<F>(guest: Measured<F>) -> Self
    where
        F: Future<Output = Report> + Send + 'static,
    {
        Self::Runs(tokio::spawn(async move {
            let (mut report, polled) = guest.await;
            // It may be large to tear down: nobody should wait for it who has a task of its own.
            drop(report.store.take());
            (report, polled)
        }))
    }
}

/// Whether nobody else has to wait while a guest takes its first steps.
fn may_begin_here(attempt: &Attempt) -> bool {
    !attempt.shares_task && attempt.limits.get(LimitKind::Memory).value <= HERE_MAX_BYTES
}

/// A guest that is waited for. Dropped before its end, it is ended, and keeps its permit with the
/// reaper until it really has.
pub(super) struct Running {
    guest: Option<Guest>,
    held: Option<(Permit, Awake)>,
    gathered: Arc<Gathered>,
    reaper: Reaper,
}

impl Running {
    /// Joins a guest and what it holds until it has ended.
    pub(super) fn new(
        guest: Guest,
        held: (Permit, Awake),
        gathered: &Arc<Gathered>,
        reaper: &Reaper,
    ) -> Self {
        let (gathered, reaper) = (Arc::clone(gathered), reaper.clone());
        Self { guest: Some(guest), held: Some(held), gathered, reaper }
    }

    /// The report of a guest that needed no task.
    pub(super) fn ended_in_first_steps(&mut self) -> Option<Timed> {
        match self.guest.take_if(|guest| matches!(guest, Guest::Ended(_))) {
            Some(Guest::Ended(timed)) => Some(timed),
            _ => None,
        }
    }

    /// The report of a guest with a task, and the time it really took.
    pub(super) async fn join(&mut self) -> Timed {
        let Some(Guest::Runs(guest)) = self.guest.as_mut() else {
            return std::future::pending().await;
        };
        let joined = guest.await;
        self.guest = None;
        joined.unwrap_or_else(|failed| {
            tracing::error!("a sandbox task failed: {failed}");
            (Report::lost(), Duration::ZERO)
        })
    }

    /// What it held, where nothing of it goes on.
    pub(super) fn release(&mut self) -> Option<Permit> {
        if self.guest.is_some() || self.gathered.files.is_busy() {
            return None;
        }
        self.held.take().map(|(permit, _awake)| permit)
    }

    /// Ends the guest and gives it a moment, so that mostly nothing of it is left with the answer.
    pub(super) async fn end(&mut self) {
        self.gathered.end();
        self.gathered.files.close();
        if self.gathered.files.is_busy() {
            return;
        }
        let Some(Guest::Runs(guest)) = self.guest.as_mut() else { return };
        guest.abort();
        if tokio::time::timeout(END_PATIENCE, guest).await.is_ok() {
            self.guest = None;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.gathered.end();
        let files = self.gathered.files.clone();
        files.close();
        let guest = match self.guest.take() {
            Some(Guest::Runs(guest)) if !guest.is_finished() => Some(guest),
            _ => None,
        };
        if guest.is_none() && !files.is_busy() {
            return;
        }
        let held = self.held.take();
        self.reaper.take(Box::pin(async move {
            files.idle().await;
            if let Some(guest) = guest {
                guest.abort();
                // Ended either way: cancelled, or with a report that nobody waits for.
                drop(guest.await);
            }
            files.idle().await;
            drop(held);
        }));
    }
}

/// Sums the time in which a guest is really polled.
struct Measured<F> {
    guest: Pin<Box<F>>,
    polled: Duration,
}

impl<F: Future<Output = Report>> Future for Measured<F> {
    type Output = Timed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Timed> {
        let began = Instant::now();
        let state = self.guest.as_mut().poll(context);
        self.polled += began.elapsed();
        state.map(|report| (report, self.polled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::limits::Limits;
    use crate::sandbox::store::nobodys;

    fn attempt(memory: u64, shares_task: bool) -> Attempt {
        let mut limits = Limits::default();
        limits.set(LimitKind::Memory, memory).unwrap();
        let deadline = Instant::now() + Duration::from_secs(1);
        Attempt { shares_task, ..nobodys(Arc::new(limits), deadline).unwrap() }
    }

    fn crashed() -> Report {
        Report::of(End::Host("x".to_owned()))
    }

    async fn ends_here(guest: impl Future<Output = Report> + Send + 'static, of: &Attempt) -> bool {
        matches!(Guest::begin(guest, of).await, Guest::Ended(_))
    }

    #[tokio::test]
    async fn a_guest_that_ends_in_its_first_steps_needs_no_task() {
        assert!(ends_here(async { crashed() }, &attempt(HERE_MAX_BYTES, false)).await);
        let waits = async {
            tokio::task::yield_now().await;
            crashed()
        };
        assert!(!ends_here(waits, &attempt(HERE_MAX_BYTES, false)).await);
    }

    #[tokio::test]
    async fn a_guest_that_others_would_wait_for_begins_in_a_task() {
        assert!(!ends_here(async { crashed() }, &attempt(HERE_MAX_BYTES, true)).await);
        assert!(!ends_here(async { crashed() }, &attempt(HERE_MAX_BYTES + 1, false)).await);
    }

    #[tokio::test]
    async fn a_panic_in_the_first_steps_ends_that_attempt_alone() {
        let panics = async { panic!("by a test") };
        let Guest::Ended((report, _)) = Guest::begin(panics, &attempt(1 << 20, false)).await else {
            panic!("it has no task");
        };
        assert!(matches!(report.end, End::Host(_)), "{:?}", report.end);
    }
}
