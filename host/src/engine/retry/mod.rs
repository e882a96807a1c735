//! Whether a call is tried again, and when: the policy, the pause and what may be spent on it.
//!
//! Runs nothing and reads no clock; it sleeps only where it is asked to.

pub(crate) mod backoff;
pub(crate) mod budget;
pub(crate) mod policy;

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::backoff::{Randomness, pause_before};
use self::budget::HostBudget;
use self::policy::{Stop, attempts_allowed, may_repeat};
use super::settings::EngineSettings;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::result::ToolResult;

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another attempt, after this pause.
    Again(Duration),
    /// The result stands.
    Stop(Stop),
}

/// The retries of a whole host.
#[derive(Debug)]
pub(crate) struct Retries {
    retries: Option<u32>,
    delay: Duration,
    randomness: Randomness,
    host: HostBudget,
}

impl Retries {
    /// Retries as the settings say.
    pub(crate) fn new(settings: &EngineSettings) -> Self {
        Self {
            retries: settings.retries,
            delay: Duration::from_millis(settings.retry_delay_ms),
            randomness: Randomness::new(),
            host: HostBudget::new(),
        }
    }

    /// Notes that a call begins: each adds a little to what the host may spend on retries.
    pub(crate) fn call_begins(&self) {
        self.host.earn();
    }

    /// What follows the attempt that ended in `result`, the `attempts`th of the call. A retry that
    /// could not begin before `deadline`, the whole call's, is not begun. `Again` has been paid for.
    pub(crate) fn next(
        &self,
        result: &ToolResult,
        tool: &ToolDescriptor,
        attempts: u32,
        now: impl FnOnce() -> Instant,
        deadline: Instant,
    ) -> Next {
        if let Err(stop) = may_repeat(result, tool, self.retries) {
            return Next::Stop(stop);
        }
        if attempts >= attempts_allowed(self.retries, tool) {
            return Next::Stop(Stop::AttemptsUsed(attempts));
        }
        let pause = pause_before(attempts, self.delay, self.randomness.next());
        if deadline.saturating_duration_since(now()) <= pause {
            return Next::Stop(Stop::Deadline);
        }
        if !self.host.spend() {
            return Next::Stop(Stop::HostBudget);
        }
        Next::Again(pause)
    }
}

/// Waits before a retry. False where the call was cancelled meanwhile: then at once.
pub(crate) async fn pause(length: Duration, cancel: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = cancel.cancelled() => false,
        () = tokio::time::sleep(length) => true,
    }
}

#[cfg(test)]
mod tests;
