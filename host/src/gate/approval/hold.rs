//! What a call holds of the request it waits for: the last that goes takes the request along, so
//! that nobody answers what no call would run.
//!
//! Counts the calls of this process alone. Those of others are known by a mark in the store, and a
//! request with that mark stays open until it is answered or expires: whether a call of another
//! process still waits can't be told, and its request must not end with a call of ours.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::queue::ApprovalQueue;
use crate::contract::approval::ApprovalState;
use crate::contract::ids::ApprovalId;
use crate::storage::StorageError;

/// Why a request is withdrawn whose call is gone.
pub(super) const CALL_GONE: &str = "the call ended before it was answered";

/// The requests that calls of this process made and hold.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<HashMap<ApprovalId, Shared>>);

#[derive(Debug)]
struct Shared {
    /// How many calls hold it.
    calls: usize,
    marks: Arc<Marks>,
}

/// What has become of a request so far, by any of its calls.
#[derive(Debug, Default)]
struct Marks {
    /// Held while a call puts it on record: the next finds that done, or does it where that call
    /// went meanwhile.
    telling: tokio::sync::Mutex<()>,
    /// It is on record, and watchers have been told.
    told: AtomicBool,
    /// Whoever runs this process has been told.
    noticed: AtomicBool,
    /// A call was handed it, or its answer, and may come back for it.
    promised: AtomicBool,
}

/// One call's part in a request. Dropping it lets go of the request.
#[derive(Debug)]
pub(super) struct Hold {
    queue: ApprovalQueue,
    id: ApprovalId,
    /// `None`: the request isn't this process's to end.
    marks: Option<Arc<Marks>>,
}

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalId, Shared>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back that a call was handed this request. Whether others hold it.
    pub(super) fn take_back(&self, id: &ApprovalId) -> bool {
        let held = self.lock();
        let shared = held.get(id);
        if let Some(shared) = shared {
            shared.marks.promised.store(false, Ordering::SeqCst);
        }
        shared.is_some()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl Hold {
    /// Holds a request that is about to be kept.
    pub(super) fn first(queue: &ApprovalQueue, id: &ApprovalId) -> Self {
        let marks = Arc::<Marks>::default();
        let shared = Shared { calls: 1, marks: Arc::clone(&marks) };
        queue.0.held.lock().insert(id.clone(), shared);
        Self { queue: queue.clone(), id: id.clone(), marks: Some(marks) }
    }

    /// Holds a request that other calls of this process made and still hold; `None` where none do.
    pub(super) fn beside(queue: &ApprovalQueue, id: &ApprovalId) -> Option<Self> {
        let mut held = queue.0.held.lock();
        let shared = held.get_mut(id)?;
        shared.calls += 1;
        let marks = Some(Arc::clone(&shared.marks));
        Some(Self { queue: queue.clone(), id: id.clone(), marks })
    }

    /// Waits for a request of another process, or one that an earlier call was handed.
    pub(super) fn of_others(queue: &ApprovalQueue, id: &ApprovalId) -> Self {
        Self { queue: queue.clone(), id: id.clone(), marks: None }
    }

    /// Puts the request on record and then shows it, unless another of its calls has.
    pub(super) async fn tell<E>(
        &self,
        record: impl Future<Output = Result<(), E>>,
        show: impl FnOnce(),
    ) -> Result<(), E> {
        let Some(marks) = &self.marks else { return Ok(()) };
        let _telling = marks.telling.lock().await;
        if !marks.told.load(Ordering::SeqCst) {
            record.await?;
            marks.told.store(true, Ordering::SeqCst);
            show();
        }
        Ok(())
    }

    /// Whether whoever runs this process is still to be told, which this has done. Of a request of
    /// another process that process has told.
    pub(super) fn is_first_notice(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| !marks.noticed.swap(true, Ordering::SeqCst))
    }

    /// The call was handed the request or its answer: it stays, whoever else goes.
    pub(super) fn promise(&self) {
        if let Some(marks) = &self.marks {
            marks.promised.store(true, Ordering::SeqCst);
        }
    }

    /// Forgets a request that wasn't kept.
    pub(super) fn was_not_kept(mut self) {
        if self.marks.take().is_some() {
            self.queue.0.held.lock().remove(&self.id);
        }
    }

    /// Lets go as the call returns, where the store may be waited for.
    pub(super) async fn let_go(self) {
        let queue = self.queue.clone();
        let gone = queue.blocking(move |_queue| {
            drop(self);
            Ok::<(), StorageError>(())
        });
        // Whether it ran or was dropped unrun, what it held has been let go.
        drop(gone.await);
    }

    /// Goes from the count; what becomes of the request is the last one's to say.
    fn go(&mut self) -> Option<Arc<Marks>> {
        let marks = self.marks.take()?;
        let mut held = self.queue.0.held.lock();
        let shared = held.get_mut(&self.id)?;
        shared.calls -= 1;
        if shared.calls > 0 {
            return None;
        }
        held.remove(&self.id);
        Some(marks)
    }

    fn end(&self, marks: &Marks) -> Result<(), StorageError> {
        let (store, now) = (&self.queue.0.store, self.queue.now());
        // What isn't on record is nobody's to answer, whoever else has found it.
        let ended = if !marks.told.load(Ordering::SeqCst) {
            store.withdraw(&self.id, CALL_GONE, now)?
        } else if !marks.promised.load(Ordering::SeqCst) {
            store.let_go(&self.id, CALL_GONE, now)?
        } else {
            false
        };
        if ended {
            let (id, state) = (std::slice::from_ref(&self.id), ApprovalState::Withdrawn);
            self.queue.tell_ended(id, state, CALL_GONE);
        }
        Ok(())
    }
}

impl Drop for Hold {
    /// A call that is dropped can't wait: it withdraws then and there, and takes at most as long as
    /// the store waits for another process.
    fn drop(&mut self) {
        let Some(marks) = self.go() else { return };
        if let Err(error) = self.end(&marks) {
            // The request ends by its expiry all the same.
            tracing::warn!("a request wasn't withdrawn: {error}");
        }
    }
}
