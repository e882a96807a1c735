//! The guard of a call that waits: whoever stops waiting withdraws what was asked.
//!
//! A call that returns does so beside the others. One that is dropped can't wait: it withdraws then
//! and there, and takes at most as long as the store waits for another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::queue::ApprovalQueue;
use crate::contract::approval::ApprovalState;
use crate::contract::ids::ApprovalId;
use crate::storage::StorageError;

/// Why a request is withdrawn whose call is gone.
pub(super) const CALL_GONE: &str = "the call ended before it was answered";

/// Withdraws the request of a call that goes while it waits.
#[derive(Debug)]
pub(super) struct Leaving {
    queue: ApprovalQueue,
    id: ApprovalId,
    /// Whether its end withdraws anything.
    pub(super) armed: bool,
    /// Told to an insertion that is still on its way.
    pub(super) gone: Arc<AtomicBool>,
}

impl Leaving {
    /// The guard of one call, armed from before its request is kept.
    pub(super) fn new(queue: &ApprovalQueue, id: &ApprovalId) -> Self {
        Self { queue: queue.clone(), id: id.clone(), armed: true, gone: Arc::default() }
    }

    /// Ends it as its call returns.
    pub(super) async fn leave(mut self) {
        // What is on its way from here on needs no second withdrawal, whoever is dropped.
        if std::mem::take(&mut self.armed) {
            let id = self.id.clone();
            told(self.queue.blocking(move |queue| withdraw(queue, &id)).await);
        }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.armed {
            self.gone.store(true, Ordering::SeqCst);
            told(withdraw(&self.queue, &self.id));
        }
    }
}

fn withdraw(queue: &ApprovalQueue, id: &ApprovalId) -> Result<(), StorageError> {
    if queue.0.store.withdraw(id, CALL_GONE, queue.now())? {
        queue.tell_ended(std::slice::from_ref(id), ApprovalState::Withdrawn, CALL_GONE);
    }
    Ok(())
}

/// Where it fails, the request ends by its expiry all the same.
fn told(withdrawn: Result<(), StorageError>) {
    if let Err(error) = withdrawn {
        tracing::warn!("a request wasn't withdrawn: {error}");
    }
}
