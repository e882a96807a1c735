//! Refuses a call that has just failed the same way many times in a row (T15).
//!
//! A model that repeats itself is told to change something instead of being let run on. Reads no
//! clock: the time is handed in, as what tells it, for it is seldom asked.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::settings::BreakerSettings;
use crate::contract::ids::{Digest, ToolId};
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Outcome;

/// Callers' tools whose failures are remembered; beyond, the one that failed longest ago goes.
const STREAKS_MAX: usize = 4_096;

/// Counts failures in a row, by caller and tool.
#[derive(Debug)]
pub(crate) struct FailureBreaker {
    after: usize,
    window: Duration,
    /// Keyed at random, so that nobody can choose a caller's name that collides with another's.
    hasher: RandomState,
    streaks: Mutex<Streaks>,
}

#[derive(Debug, Default)]
struct Streaks {
    by_caller: HashMap<u64, Streak>,
    /// Number of a streak's latest failure → its key, the oldest first.
    by_age: BTreeMap<u64, u64>,
    failures: u64,
}

/// One caller's failures with one tool, all with the same arguments and outcome.
#[derive(Debug)]
struct Streak {
    arguments: Digest,
    outcome: Outcome,
    /// The latest, no more than the breaker waits for.
    times: VecDeque<Instant>,
    age: u64,
}

impl FailureBreaker {
    /// A breaker that has seen nothing.
    pub(crate) fn new(settings: BreakerSettings) -> Self {
        Self {
            after: usize::try_from(settings.after).unwrap_or(usize::MAX),
            window: Duration::from_millis(settings.window_ms),
            hasher: RandomState::new(),
            streaks: Mutex::default(),
        }
    }

    /// Why this call is refused, if it is. `arguments` is the hash of the canonical arguments, or
    /// of the raw ones where those can't be read.
    ///
    /// Once enough of the failures lie outside the window, the call is let through again; should it
    /// fail once more, the next is refused.
    pub(crate) fn refuses(
        &self,
        call: &ToolInvocation,
        tool: &ToolId,
        arguments: Digest,
        now: impl FnOnce() -> Instant,
    ) -> Option<String> {
        if self.after == 0 || self.streaks().by_caller.is_empty() {
            return None;
        }
        let key = self.key(call, tool);
        let streaks = self.streaks();
        let streak = streaks.by_caller.get(&key).filter(|it| it.arguments == arguments)?;
        let oldest = *streak.times.front().filter(|_| streak.times.len() >= self.after)?;
        let free =
            (oldest + self.window).checked_duration_since(now()).filter(|it| !it.is_zero())?;
        Some(format!(
            "this call failed {} times in a row as {}, each time with these arguments, so it isn't \
             run again; change the arguments, use another tool, or wait {} s (the setting is \
             `failure_breaker`)",
            self.after,
            streak.outcome.name(),
            free.as_millis().div_ceil(1_000),
        ))
    }

    /// Notes how a call ended that was let through. A success, other arguments or another outcome
    /// begin anew. Ends that tell nothing of the call itself change nothing: refusals of people,
    /// policy and a full host, cancellations, and whatever may end otherwise if tried again.
    pub(crate) fn note(
        &self,
        call: &ToolInvocation,
        tool: &ToolId,
        arguments: Digest,
        outcome: Outcome,
        now: impl FnOnce() -> Instant,
    ) {
        if self.after == 0 {
            return;
        }
        let key = || self.key(call, tool);
        match outcome {
            // Mostly nothing has failed, and there is nothing to forget.
            Outcome::Success if self.streaks().by_caller.is_empty() => {}
            Outcome::Success => drop(self.streaks().forget(key())),
            Outcome::InvalidArguments
            | Outcome::ToolError
            | Outcome::OutOfFuel
            | Outcome::OutOfMemory
            | Outcome::OutputTooLarge
            | Outcome::Crashed => {
                self.streaks().count(key(), arguments, outcome, now(), self.after);
            }
            Outcome::NotFound
            | Outcome::NotAllowed
            | Outcome::Denied
            | Outcome::ApprovalPending
            | Outcome::ApprovalDeclined
            | Outcome::ApprovalExpired
            | Outcome::Cancelled
            | Outcome::Interrupted
            | Outcome::TimedOut
            | Outcome::Overloaded
            | Outcome::Unavailable
            | Outcome::HostFault => {}
        }
    }

    /// Whoever shares nothing with another must not feel its failures, so everything that tells
    /// callers apart is in the key.
    fn key(&self, call: &ToolInvocation, tool: &ToolId) -> u64 {
        self.hasher.hash_one((
            &call.caller,
            &call.session_id,
            &call.user_id,
            &call.execution_user_id,
            &call.workspace,
            tool,
        ))
    }

    fn streaks(&self) -> MutexGuard<'_, Streaks> {
        // Nothing in here panics between two changes, so poisoned streaks are sound ones.
        self.streaks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Streaks {
    fn forget(&mut self, key: u64) -> Option<Streak> {
        let streak = self.by_caller.remove(&key)?;
        self.by_age.remove(&streak.age);
        Some(streak)
    }

    fn count(&mut self, key: u64, arguments: Digest, outcome: Outcome, now: Instant, keep: usize) {
        let same = |it: &Streak| it.arguments == arguments && it.outcome == outcome;
        let mut times = self.forget(key).filter(same).map(|it| it.times).unwrap_or_default();
        if times.len() >= keep {
            times.pop_front();
        }
        times.push_back(now);
        if self.by_caller.len() >= STREAKS_MAX
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_caller.remove(&oldest);
        }
        self.failures += 1;
        let age = self.failures;
        self.by_age.insert(age, key);
        self.by_caller.insert(key, Streak { arguments, outcome, times, age });
    }
}

#[cfg(test)]
mod tests;
