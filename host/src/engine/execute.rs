//! Runs a call that was let through: its locks, the record of its start, its key, its attempts.
//!
//! Decides nothing of policy. No attempt is made before the record of the call's start is written.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::admit::{Answered, still_admitted, take};
use super::attempt::Plan;
use super::dispatch::{Shared, Within};
use super::locks::{Held, keys_of};
use super::prepare::Prepared;
use super::record;
use super::refused::Refused;
use super::repeat::{Repeat, claim};
use super::report::OpenCall;
use super::retry::{Next, pause};
use super::timely::in_time;
use crate::contract::decision::ApprovalMark;
use crate::contract::ids::Digest;
use crate::contract::normalise::{Settling, TextRule, settle};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::events::EventKind;

/// A call that may run.
pub(super) struct Admitted {
    pub(super) prepared: Prepared,
    pub(super) mark: ApprovalMark,
    /// Whether a person was asked, now or earlier.
    pub(super) asked: bool,
    /// The hash of the arguments it came with: a person may have written others.
    pub(super) came: Digest,
    /// The answer that lets it through, which is still to be taken.
    pub(super) answer: Option<Answered>,
}

/// Runs it to its end.
pub(super) async fn execute(
    shared: &Shared,
    within: &Within<'_>,
    open: &mut OpenCall,
    admitted: Box<Admitted>,
) -> Result<Box<ToolResult>, Refused> {
    let Admitted { mut prepared, mark, asked, came, answer } = *admitted;
    let _held = hold_locks(shared, &prepared, within, open).await?;
    open.caller.permission_level = still_admitted(shared, within.call, &prepared, asked).await?;
    // Only now: an answer is good for one call, and this one may have waited in vain.
    if let Some(answer) = answer {
        let limits = Arc::clone(&prepared.limits);
        let taken = take(shared, within.call, prepared, answer);
        prepared = in_time(open, &limits, within, taken).await?;
    }
    if within.cancel.is_cancelled() {
        return Err(Refused::new(Outcome::Cancelled, "cancelled before it started"));
    }
    let call = within.call;
    let durable = asked
        || call.idempotency_key.is_some()
        || !prepared.tool.descriptor.effects.read_only.is_proven();
    open.synced = durable;
    let started = record::started(shared, call, &open.caller, &prepared, &mark);
    open.entry = in_time(open, &prepared.limits, within, started).await?;
    // The entry is kept first: a call that ends while the disk is awaited has one ending.
    if let Some(entry) = open.entry.as_ref().filter(|_| durable) {
        in_time(open, &prepared.limits, within, record::synced(entry)).await?;
    }
    // After the record, so that whoever recovers from a crash knows of every key that is held.
    if call.idempotency_key.is_some() {
        let claimed = claim(shared, call, &prepared, came);
        match in_time(open, &prepared.limits, within, claimed).await? {
            Repeat::Keyless => {}
            Repeat::First(claimed) => open.claimed = Some(claimed),
            Repeat::Known(result) => return Ok(result),
        }
    }
    let mut result = attempts(shared, within, open, &prepared).await;
    result.approval = Some(mark);
    Ok(result)
}

/// Waits until no other call holds an equal value of an argument that the tool locks.
async fn hold_locks(
    shared: &Shared,
    prepared: &Prepared,
    within: &Within<'_>,
    open: &OpenCall,
) -> Result<Option<Held>, Refused> {
    let tool = &prepared.tool.descriptor;
    if tool.parallel.locks.is_empty() {
        return Ok(None);
    }
    let keys = keys_of(tool, prepared.arguments.value());
    let held = async { Ok(Some(shared.locks.hold(keys).await)) };
    in_time(open, &prepared.limits, within, held).await
}

async fn attempts(
    shared: &Shared,
    within: &Within<'_>,
    open: &mut OpenCall,
    prepared: &Prepared,
) -> Box<ToolResult> {
    let Within { call, cancel, .. } = *within;
    let mut executed = Executed::No;
    let tool = &prepared.tool.descriptor;
    let due = open.due(&prepared.limits);
    shared.retries.call_begins();
    loop {
        open.attempts += 1;
        let number = open.attempts;
        shared.bus.publish_for(&call.call_id, call.caller.as_deref(), || {
            EventKind::AttemptStarted { number }
        });
        let shares_task = !open.slot.is_alone();
        let plan = Plan { call, prepared, due, cancel, shares_task, sink: open.sink() };
        let end = shared.runner.run(&tool.id, plan.attempt(number)).await;
        let settling = Settling {
            call_id: &call.call_id,
            limits: &prepared.limits,
            text_rule: TextRule::On,
            attempts: number,
            // Known when the call ends.
            duration_ms: None,
        };
        let mut result = Box::new(settle(&settling, end));
        // What an earlier attempt may have done isn't undone by a later one that never ran.
        executed = executed.max(result.executed);
        result.executed = executed;
        let Next::Again(delay) = shared.retries.next(&result, tool, number, Instant::now, due)
        else {
            return result;
        };
        shared.bus.publish_for(&call.call_id, call.caller.as_deref(), || {
            EventKind::AttemptRetried {
                number: number + 1,
                after_outcome: result.outcome,
                delay_ms: millis(delay),
            }
        });
        // Cancelled between two attempts: how the last one ended is all there is to tell.
        if !pause(delay, cancel).await {
            return result;
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
