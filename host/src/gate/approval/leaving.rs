//! The guard of a call that waits: whoever stops waiting withdraws what was asked.
//!
//! Works where the call is dropped, so it spawns nothing; it waits at most as long as the store
//! waits for another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::queue::ApprovalQueue;
use crate::contract::approval::ApprovalState;
use crate::contract::ids::ApprovalId;

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
    /// The guard of one call, from before its request is kept.
    pub(super) fn new(queue: &ApprovalQueue, id: &ApprovalId, armed: bool) -> Self {
        Self { queue: queue.clone(), id: id.clone(), armed, gone: Arc::default() }
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        self.gone.store(true, Ordering::SeqCst);
        match self.queue.0.store.withdraw(&self.id, CALL_GONE, self.queue.now()) {
            Ok(true) => {
                self.queue.tell_ended(std::slice::from_ref(&self.id), ApprovalState::Withdrawn);
            }
            Ok(false) => {}
            // It ends by its expiry all the same.
            Err(error) => tracing::warn!("a request wasn't withdrawn: {error}"),
        }
    }
}
