//! Who in this process waits for which request.
//!
//! A wake-up says only that there may be news; what they are is in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::contract::ids::ApprovalId;

/// The requests that are waited for. One waiter each, or several for identical calls.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<HashMap<ApprovalId, Waited>>);

#[derive(Debug)]
struct Waited {
    wake: watch::Sender<()>,
    /// Watchers have been told of the answer.
    announced: bool,
}

/// One who waits, from before the request can be seen until dropped.
#[derive(Debug)]
pub(super) struct Waiter {
    waiting: Arc<Waiting>,
    id: ApprovalId,
    news: watch::Receiver<()>,
}

impl Waiting {
    /// Waits for a request from now on: no wake-up after this is lost.
    pub(super) fn register(self: &Arc<Self>, id: &ApprovalId) -> Waiter {
        let fresh = || Waited { wake: watch::Sender::new(()), announced: false };
        let news = self.lock().entry(id.clone()).or_insert_with(fresh).wake.subscribe();
        Waiter { waiting: Arc::clone(self), id: id.clone(), news }
    }

    /// Wakes all who wait for a request.
    pub(super) fn wake(&self, id: &ApprovalId) {
        if let Some(waited) = self.lock().get(id) {
            waited.wake.send_replace(());
        }
    }

    /// Whether nobody here has told watchers of the answer yet; says so once.
    pub(super) fn first_to_announce(&self, id: &ApprovalId) -> bool {
        match self.lock().get_mut(id) {
            Some(waited) => !std::mem::replace(&mut waited.announced, true),
            None => true,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalId, Waited>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl Waiter {
    /// Waits for news.
    pub(super) async fn news(&mut self) {
        if self.news.changed().await.is_err() {
            // Without a sender there are none, and who waits has other ends.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut all = self.waiting.lock();
        if all.get(&self.id).is_some_and(|waited| waited.wake.receiver_count() <= 1) {
            all.remove(&self.id);
        }
    }
}
