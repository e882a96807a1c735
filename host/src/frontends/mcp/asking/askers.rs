//! Which requests for approval calls of this server wait for, so that a call that is called off takes
//! no question away from an identical one.
//!
//! Knows no call and no answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::contract::ids::ApprovalId;

/// How many calls wait for each request. As many as there are such calls, which have bounds.
#[derive(Debug, Default)]
pub(in super::super) struct Askers(Mutex<HashMap<ApprovalId, usize>>);

/// A call that waits. It does until this is dropped.
#[derive(Debug)]
pub(super) struct Asks<'a> {
    askers: &'a Askers,
    id: ApprovalId,
    waits: bool,
    is_first: bool,
}

impl Askers {
    /// One more waits for this request.
    pub(super) fn join(&self, id: &ApprovalId) -> Asks<'_> {
        let mut all = self.lock();
        let count = all.entry(id.clone()).or_default();
        *count += 1;
        Asks { askers: self, id: id.clone(), waits: true, is_first: *count == 1 }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(in super::super) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl Asks<'_> {
    /// Whether no other waited when this began to.
    pub(super) fn is_first(&self) -> bool {
        self.is_first
    }

    /// Waits no longer. Whether it was the last.
    pub(super) fn leave(mut self) -> bool {
        self.go()
    }

    fn go(&mut self) -> bool {
        if !std::mem::take(&mut self.waits) {
            return false;
        }
        let mut all = self.askers.lock();
        let left = all.get_mut(&self.id).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left == 0 {
            all.remove(&self.id);
        }
        left == 0
    }
}

impl Drop for Asks<'_> {
    fn drop(&mut self) {
        self.go();
    }
}
