//! What was last seen of the store: how far it had come, and what is remembered.
//!
//! Whether anything has changed is looked up where calls run. What then has to be read, and a store
//! that has to be opened, is waited for beside them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::queue::ApprovalQueue;
use super::remembered::RememberedSet;
use crate::storage::{RememberedMark, Revision, StorageError};

/// How old what is known of the store may be when a call asks for remembered answers. What another
/// process revokes is still used for so long.
const REMEMBERED_MAX_AGE: Duration = Duration::from_millis(50);

/// What was last known of the store.
#[derive(Debug, Default)]
pub(super) struct Seen {
    last: Mutex<Last>,
    /// Held while what is remembered is read, so that one call reads for all that come meanwhile.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Last {
    revision: Option<(Instant, Revision)>,
    remembered: Option<Known>,
}

/// What is remembered, as far as it was read.
#[derive(Debug, Clone)]
struct Known {
    /// From before it was read, so that a change meanwhile has it read again.
    revision: Revision,
    mark: RememberedMark,
    set: Arc<RememberedSet>,
}

impl Last {
    fn fresh(&self, max_age: Duration) -> Option<Revision> {
        let young = self.revision.filter(|(at, _)| at.elapsed() < max_age);
        young.map(|(_, revision)| revision)
    }
}

impl ApprovalQueue {
    /// What is remembered, as of at most 50 ms ago. Cheap enough for every call.
    ///
    /// # Errors
    /// A store at fault: nothing may be let through by what can't be read.
    pub async fn remembered(&self) -> Result<Arc<RememberedSet>, StorageError> {
        if let Some(set) = self.still_remembered()? {
            return Ok(set);
        }
        let _reading = self.0.seen.reading.lock().await;
        match self.still_remembered()? {
            Some(set) => Ok(set),
            None => self.blocking(Self::read_remembered).await,
        }
    }

    /// What is remembered, where nothing has been written since it was read.
    pub(super) fn still_remembered(&self) -> Result<Option<Arc<RememberedSet>>, StorageError> {
        let mut last = self.last();
        // What was looked up just now is known without the store, which may have to ask the disk.
        let is_known = last.remembered.is_some();
        let fresh = last.fresh(REMEMBERED_MAX_AGE);
        if !is_known || (fresh.is_none() && !self.0.store.looks_at_once()) {
            return Ok(None);
        }
        let revision = match fresh {
            Some(revision) => revision,
            None => self.look(&mut last, Duration::ZERO)?,
        };
        let known = last.remembered.as_ref().filter(|known| known.revision == revision);
        Ok(known.map(|known| Arc::clone(&known.set)))
    }

    /// Reads what is remembered, where that may be waited for. Holds up nobody who looks meanwhile.
    pub(super) fn read_remembered(&self) -> Result<Arc<RememberedSet>, StorageError> {
        let revision = self.0.store.revision()?;
        let mark = self.0.store.remembered_mark()?;
        // Most of what is written is requests, which change nothing here.
        let known = self.last().remembered.clone().filter(|known| known.mark == mark);
        let set = match known {
            Some(known) => known.set,
            None => Arc::new(RememberedSet::new(self.0.store.remembered(self.now())?)),
        };
        self.last().remembered = Some(Known { revision, mark, set: Arc::clone(&set) });
        Ok(set)
    }

    /// The store's revision, looked up again where it is older than `max_age`.
    pub(super) fn revision(&self, max_age: Duration) -> Result<Revision, StorageError> {
        let mut last = self.last();
        self.look(&mut last, max_age)
    }

    fn look(&self, last: &mut Last, max_age: Duration) -> Result<Revision, StorageError> {
        if let Some(revision) = last.fresh(max_age) {
            return Ok(revision);
        }
        let now = Instant::now();
        let revision = self.0.store.revision()?;
        last.revision = Some((now, revision));
        Ok(revision)
    }

    /// Makes the next look see what was just written here.
    pub(super) fn forget_seen(&self) {
        self.last().revision = None;
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.seen.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
