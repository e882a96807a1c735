//! Who in this process waits for which request.
//!
//! A wake-up says only that there may be news; what they are is in the store.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::contract::ids::ApprovalId;

/// Requests that nobody waits for and whose answer is known to have been announced. Of those
/// before, the answer may be announced once more.
const ANNOUNCED_MAX: usize = 1_000;

/// The requests that are waited for. One waiter each, or several for identical calls.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    waited: HashMap<ApprovalId, Waited>,
    /// Announced while nobody waited, or before the last went: a repeat may come. Oldest first.
    announced: VecDeque<ApprovalId>,
}

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
        let All { waited, announced } = &mut *self.lock();
        let fresh = || Waited { wake: watch::Sender::new(()), announced: announced.contains(id) };
        let news = waited.entry(id.clone()).or_insert_with(fresh).wake.subscribe();
        Waiter { waiting: Arc::clone(self), id: id.clone(), news }
    }

    /// Wakes all who wait for a request.
    pub(super) fn wake(&self, id: &ApprovalId) {
        if let Some(waited) = self.lock().waited.get(id) {
            waited.wake.send_replace(());
        }
    }

    /// Whether nobody here has told watchers of the answer yet; says so once.
    pub(super) fn first_to_announce(&self, id: &ApprovalId) -> bool {
        let mut all = self.lock();
        match all.waited.get_mut(id) {
            Some(waited) => !std::mem::replace(&mut waited.announced, true),
            None => all.is_first(id),
        }
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().waited.len()
    }

    /// How many wait in all.
    #[cfg(test)]
    pub(super) fn calls(&self) -> usize {
        self.lock().waited.values().map(|waited| waited.wake.receiver_count()).sum()
    }

    #[cfg(test)]
    pub(super) fn announced_len(&self) -> usize {
        self.lock().announced.len()
    }
}

impl All {
    /// Whether this isn't known to have been announced; it is from now on.
    fn is_first(&mut self, id: &ApprovalId) -> bool {
        if self.announced.contains(id) {
            return false;
        }
        if self.announced.len() == ANNOUNCED_MAX {
            self.announced.pop_front();
        }
        self.announced.push_back(id.clone());
        true
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
        if all.waited.get(&self.id).is_some_and(|waited| waited.wake.receiver_count() <= 1)
            && all.waited.remove(&self.id).is_some_and(|waited| waited.announced)
        {
            all.is_first(&self.id);
        }
    }
}
