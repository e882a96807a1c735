//! A call's place among those of its run that may work at once, which it gives up while it waits
//! for a person.
//!
//! Knows neither whom the call waits for nor what it does.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Held by a call for as long as it works.
#[derive(Debug)]
pub(crate) struct Slot(Option<Shared>);

/// One of several places.
#[derive(Debug)]
struct Shared {
    places: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
    cancel: CancellationToken,
}

impl Slot {
    /// Of a call that takes nobody's place by waiting: one in no batch, or in a sequential run,
    /// where the next must not begin before this one has ended.
    pub(crate) fn alone() -> Self {
        Self(None)
    }

    /// Whether no other call of its batch works while it does.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Awaits something outside of belljar, without the slot, and takes a slot again: then those
    /// that work come first, unless the call was cancelled and has no more to do.
    pub(crate) async fn aside<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        let Some(shared) = &mut self.0 else { return waiting.await };
        shared.held = None;
        let came = waiting.await;
        tokio::select! {
            biased;
            () = shared.cancel.cancelled() => {}
            held = Arc::clone(&shared.places).acquire_owned() => shared.held = held.ok(),
        }
        came
    }
}

/// The slots of one run.
pub(super) struct Slots {
    places: Option<Arc<Semaphore>>,
    cancel: CancellationToken,
}

impl Slots {
    /// So many at once.
    pub(super) fn shared(at_once: usize, cancel: &CancellationToken) -> Self {
        let at_once = at_once.min(Semaphore::MAX_PERMITS);
        Self { places: Some(Arc::new(Semaphore::new(at_once))), cancel: cancel.clone() }
    }

    /// One, which is never given up.
    pub(super) fn single(cancel: &CancellationToken) -> Self {
        Self { places: None, cancel: cancel.clone() }
    }

    /// A slot as soon as there is one. `open`: how many calls have begun and not ended.
    pub(super) async fn take(&self, open: usize) -> Slot {
        match &self.places {
            Some(places) => {
                let held = Arc::clone(places).acquire_owned().await.ok();
                let (places, cancel) = (Arc::clone(places), self.cancel.clone());
                Slot(Some(Shared { places, held, cancel }))
            }
            None if open == 0 => Slot::alone(),
            None => std::future::pending().await,
        }
    }
}
