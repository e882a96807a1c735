//! Bounds what a call waits for before its tool runs: stores, disks, folders.
//!
//! Stops nothing that has begun on another thread; the call just doesn't wait for it any more.

use std::future::Future;
use std::pin::pin;

use futures_util::FutureExt as _;

use super::dispatch::Within;
use super::refused::Refused;
use super::report::OpenCall;
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::outcome::Outcome;

/// Awaits one step of a call, no longer than the call may take and not beyond its cancelling.
pub(super) async fn in_time<T>(
    open: &OpenCall,
    limits: &Limits,
    within: &Within<'_>,
    step: impl Future<Output = Result<T, Refused>>,
) -> Result<T, Refused> {
    let mut step = pin!(step);
    // Mostly it needs no waiting, and then no timer and no place among those that are cancelled.
    if let Some(done) = step.as_mut().now_or_never() {
        return done;
    }
    tokio::select! {
        biased;
        done = step => done,
        () = within.cancel.cancelled() => {
            Err(Refused::new(Outcome::Cancelled, "cancelled before it started"))
        }
        () = tokio::time::sleep_until(open.due(limits)) => {
            let late = "what the call needs before it runs was not ready in time";
            let why = limits.sentence(LimitKind::CallDeadline, late);
            Err(Refused::new(Outcome::TimedOut, why))
        }
    }
}
