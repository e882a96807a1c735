//! What an attempt that didn't return is called, and in which words.
//!
//! Only names and words; the sandbox found out what happened.

use crate::contract::attempt::{GuestFault, RunnerRefusal};
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::outcome::Outcome;

/// The outcome that a met limit is.
///
/// Kinds without an outcome of their own (handles, random bytes, and those that are met elsewhere
/// than in a guest) are a crash whose message names the limit: the guest broke a rule and was
/// stopped for it.
fn limit_outcome(kind: LimitKind) -> Outcome {
    match kind {
        LimitKind::Fuel => Outcome::OutOfFuel,
        LimitKind::AttemptDeadline | LimitKind::CallDeadline => Outcome::TimedOut,
        LimitKind::Memory | LimitKind::TableElements | LimitKind::Instances => Outcome::OutOfMemory,
        LimitKind::OutputShown | LimitKind::OutputKept | LimitKind::Lifted => {
            Outcome::OutputTooLarge
        }
        LimitKind::Stdio
        | LimitKind::Handles
        | LimitKind::RandomBytes
        | LimitKind::ArgumentBytes
        | LimitKind::ArgumentDepth => Outcome::Crashed,
    }
}

/// What a guest's fault is called, and what it did.
pub(super) fn of_guest(fault: GuestFault, limits: &Limits) -> (Outcome, String) {
    match fault {
        GuestFault::Limit(kind, used) => (limit_outcome(kind), limits.sentence(kind, &used)),
        GuestFault::Trapped(what) => (Outcome::Crashed, what),
        GuestFault::Exited(status) => (
            Outcome::Crashed,
            format!("the tool called exit with status {status}: a tool must return, not exit"),
        ),
    }
}

/// What a refusal is called, and why it was made.
pub(super) fn of_refusal(refusal: RunnerRefusal, limits: &Limits) -> (Outcome, String) {
    match refusal {
        RunnerRefusal::Overloaded(why) => (Outcome::Overloaded, why),
        RunnerRefusal::Unavailable(why) => (Outcome::Unavailable, why),
        RunnerRefusal::Cancelled => {
            (Outcome::Cancelled, "the call was cancelled before it started".to_owned())
        }
        RunnerRefusal::TimedOut => (
            Outcome::TimedOut,
            limits.sentence(LimitKind::CallDeadline, "the call waited for its turn until its end"),
        ),
    }
}

/// The words for a call that was cancelled while it ran.
pub(super) const INTERRUPTED: &str = "the call was cancelled while it ran";
