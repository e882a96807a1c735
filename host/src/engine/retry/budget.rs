//! What the whole host may spend on retries, so that what fails isn't hammered while it is down.
//!
//! Knows no call: only how many have begun and how many retries they were allowed.

use std::sync::atomic::{AtomicU32, Ordering};

/// What a retry costs, in tenths.
const RETRY: u32 = 10;
/// What a call earns: a tenth of a retry, so that retries add at most 10 % to the calls of a host
/// on which everything fails.
const CALL: u32 = 1;
/// The most that is kept: a burst of 20 retries.
const FULL: u32 = 20 * RETRY;

/// A bucket of retries that calls fill.
#[derive(Debug)]
pub(crate) struct HostBudget {
    tenths: AtomicU32,
}

impl HostBudget {
    /// Full.
    pub(crate) fn new() -> Self {
        Self { tenths: AtomicU32::new(FULL) }
    }

    /// Adds what a call earns.
    pub(crate) fn earn(&self) {
        // Most of the time it is full, and then the cores needn't fight over it.
        if self.tenths.load(Ordering::Relaxed) < FULL {
            self.change(|tenths| Some((tenths + CALL).min(FULL)));
        }
    }

    /// Takes what a retry costs; false where there isn't enough.
    #[must_use]
    pub(crate) fn spend(&self) -> bool {
        self.change(|tenths| tenths.checked_sub(RETRY))
    }

    fn change(&self, to: impl FnMut(u32) -> Option<u32>) -> bool {
        self.tenths.fetch_update(Ordering::Relaxed, Ordering::Relaxed, to).is_ok()
    }
}

impl Default for HostBudget {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(budget: &HostBudget) -> usize {
        (0..1_000).take_while(|_| budget.spend()).count()
    }

    #[test]
    fn a_host_may_retry_twenty_calls_at_once_and_then_one_in_ten() {
        let budget = HostBudget::new();
        assert_eq!(spent(&budget), 20);
        for _ in 0..9 {
            budget.earn();
        }
        assert!(!budget.spend());
        budget.earn();
        assert_eq!(spent(&budget), 1);
    }

    #[test]
    fn calls_fill_it_no_further_than_the_burst() {
        let budget = HostBudget::new();
        assert_eq!(spent(&budget), 20);
        for _ in 0..10_000 {
            budget.earn();
        }
        assert_eq!(spent(&budget), 20);
    }
}
