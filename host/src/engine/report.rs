//! Tells how a call ended, whoever ends it: a result, a panic, or a caller that went away.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::batch::Slot;
use super::dispatch::Shared;
use super::repeat::{Claimed, blocking};
use crate::contract::approval::CallerContext;
use crate::contract::arguments::CheckedArguments;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::ids::{CallId, Digest};
use crate::contract::invocation::ToolInvocation;
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::events::{BusSink, CallFinished, CallNotRun, CallReport, EventKind, OpenEntry, Record};

/// A call that has begun. Dropped without an end, it reports `interrupted`, or `cancelled` where no
/// attempt had started.
pub(super) struct OpenCall {
    shared: Arc<Shared>,
    call_id: CallId,
    tool_name: String,
    pub(super) caller: CallerContext,
    started: Instant,
    /// How long a person was awaited, which isn't the call's own time.
    pub(super) waited: Duration,
    pub(super) tool: Option<Arc<ToolDescriptor>>,
    pub(super) arguments: Option<Arc<CheckedArguments>>,
    pub(super) attempts: u32,
    /// The record of its start.
    pub(super) entry: Option<OpenEntry>,
    /// Whether that was synced, so that hashing what came back costs little beside it.
    pub(super) synced: bool,
    /// Whether its answer came without a run of its own.
    pub(super) answered: bool,
    /// The idempotency key it holds.
    pub(super) claimed: Option<Claimed>,
    sink: Arc<BusSink>,
    /// Its place among the calls of a batch that run at once.
    pub(super) slot: Slot,
    open: bool,
    /// Its result, while that is being kept.
    ended: Option<Box<ToolResult>>,
}

impl OpenCall {
    pub(super) fn new(shared: &Arc<Shared>, call: &ToolInvocation, slot: Slot) -> Self {
        Self {
            shared: Arc::clone(shared),
            call_id: call.call_id.clone(),
            tool_name: call.tool_name.clone(),
            caller: call.context(),
            started: Instant::now(),
            waited: Duration::ZERO,
            tool: None,
            arguments: None,
            attempts: 0,
            entry: None,
            synced: false,
            answered: false,
            claimed: None,
            sink: Arc::new(BusSink::new(
                shared.bus.clone(),
                call.call_id.clone(),
                call.caller.clone(),
            )),
            slot,
            open: true,
            ended: None,
        }
    }

    /// When the whole call must have ended.
    pub(super) fn due(&self, limits: &Limits) -> Instant {
        self.started + self.waited + limits.duration(LimitKind::CallDeadline)
    }

    pub(super) fn sink(&self) -> Arc<BusSink> {
        Arc::clone(&self.sink)
    }

    pub(super) fn duration_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Ends the call with its result. A result under an idempotency key is kept before anybody has
    /// it.
    pub(super) async fn finish(&mut self, result: &mut ToolResult) {
        result.attempts = self.attempts;
        result.duration_ms = Some(self.duration_ms());
        if let Some(claimed) = self.claimed.take() {
            let (claimed, kept) = (claimed.of_ended(result), result.clone());
            self.ended = Some(Box::new(result.clone()));
            if let Err(error) = blocking(move || claimed.settle(&kept)).await {
                tracing::error!(call = %self.call_id, "its idempotency key is lost: {error}");
            }
        }
        self.open = false;
        self.tell(result);
    }

    fn tell(&mut self, result: &ToolResult) {
        self.record(result);
        self.publish(result);
    }

    fn record(&mut self, result: &ToolResult) {
        if let Some(entry) = self.entry.take() {
            let hash = self.synced.then(|| Digest::of(result.content.as_bytes()));
            return entry.finish(&CallFinished {
                call_id: &self.call_id,
                tool_name: &self.tool_name,
                outcome: result.outcome,
                executed: result.executed,
                error_message: result.error_message.as_deref(),
                attempts: self.attempts,
                usage: result.usage.as_ref(),
                duration_ms: result.duration_ms,
                content_bytes: result.content.len() as u64,
                content_hash: hash.as_ref(),
            });
        }
        let Some(journal) = &self.shared.journal else { return };
        let why = result.approval.as_ref().map_or("", |mark| mark.reason.as_str());
        let hash = self.arguments.as_ref().map(|arguments| arguments.hash());
        let not_run = CallNotRun {
            call_id: &self.call_id,
            tool_name: &self.tool_name,
            tool: self.tool.as_ref().map(|tool| &tool.id),
            arguments_hash: hash.as_ref(),
            caller: &self.caller,
            outcome: result.outcome,
            reason: result.error_message.as_deref().unwrap_or(why),
            approval: result.approval.as_ref().and_then(|mark| mark.approval.as_ref()),
        };
        let record = match self.answered {
            true => Record::CallAnswered(not_run),
            false => Record::CallRefused(not_run),
        };
        if let Err(error) = journal.note_now(&record) {
            tracing::error!(call = %self.call_id, "the audit log misses a call that was not run: {error}");
        }
    }

    fn publish(&self, result: &ToolResult) {
        self.shared.bus.publish_for(&self.call_id, self.caller.caller.as_deref(), || {
            let dropped = self.sink.dropped();
            EventKind::ToolCallInvoke(Box::new(CallReport {
                tool_name: self.tool_name.clone(),
                tool: self.tool.as_ref().map(|tool| tool.id.clone()),
                status: result.status,
                outcome: result.outcome,
                executed: result.executed,
                error_message: result.error_message.clone(),
                arguments: self.arguments.clone(),
                attempts: self.attempts,
                usage: result.usage,
                duration_ms: result.duration_ms,
                events_dropped: dropped.events,
            }))
        });
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(result) = self.ended.take().filter(|_| self.open) {
            self.tell(&result);
        } else if self.open {
            let outcome =
                if self.attempts == 0 { Outcome::Cancelled } else { Outcome::Interrupted };
            let gone = "nobody waited for the result any more";
            let mut result = ToolResult::refused(self.call_id.clone(), outcome, gone);
            result.attempts = self.attempts;
            result.duration_ms = Some(self.duration_ms());
            if let Some(claimed) = self.claimed.take() {
                claimed.settle(&result);
            }
            self.tell(&result);
        }
    }
}
