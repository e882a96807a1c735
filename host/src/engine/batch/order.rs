//! Says which call of a run may begin next: the earliest whose keys no earlier call still needs.
//!
//! Without it, calls that wait for a key would fill the run's slots, and the order in which two
//! calls change one thing would depend on timing.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::BatchCall;
use crate::contract::invocation::ToolInvocation;
use crate::engine::locks::LockKey;

/// The calls of one run that have not ended.
pub(super) struct Order {
    open: BTreeMap<usize, Open>,
    /// Calls that may begin, by place.
    ready: BTreeSet<usize>,
    /// For each key, the calls that need it, in their order. The first of them has it.
    lines: HashMap<LockKey, VecDeque<usize>>,
}

struct Open {
    /// Taken when the call begins.
    invocation: Option<ToolInvocation>,
    locks: BTreeSet<LockKey>,
    /// How many of its keys an earlier call has.
    missing: usize,
}

impl Order {
    /// Takes calls with their places, in rising order.
    pub(super) fn new(calls: impl Iterator<Item = (usize, BatchCall)>) -> Self {
        let mut order =
            Self { open: BTreeMap::new(), ready: BTreeSet::new(), lines: HashMap::new() };
        for (place, BatchCall { invocation, locks, .. }) in calls {
            let mut missing = 0;
            for key in &locks {
                let line = order.lines.entry(key.clone()).or_default();
                missing += usize::from(!line.is_empty());
                line.push_back(place);
            }
            if missing == 0 {
                order.ready.insert(place);
            }
            order.open.insert(place, Open { invocation: Some(invocation), locks, missing });
        }
        order
    }

    /// Whether a call may begin now.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next call that may begin, if one may now.
    pub(super) fn begin(&mut self) -> Option<(usize, ToolInvocation)> {
        let place = self.ready.pop_first()?;
        let invocation = self.open.get_mut(&place)?.invocation.take()?;
        Some((place, invocation))
    }

    /// Gives on the keys of a call that began and has ended.
    pub(super) fn end(&mut self, place: usize) {
        let Some(ended) = self.open.remove(&place) else { return };
        for key in &ended.locks {
            let Some(line) = self.lines.get_mut(key) else { continue };
            line.pop_front();
            let Some(&next) = line.front() else {
                self.lines.remove(key);
                continue;
            };
            let Some(open) = self.open.get_mut(&next) else { continue };
            open.missing -= 1;
            if open.missing == 0 {
                self.ready.insert(next);
            }
        }
    }
}
