//! Makes one attempt of a call: its limits, its deadline, its share of the event bus.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::prepare::Prepared;
use crate::contract::attempt::{AskedBy, Attempt};
use crate::contract::descriptor::{Isolation, ToolDescriptor};
use crate::contract::invocation::ToolInvocation;
use crate::contract::limits::{LimitKind, LimitOrigin, Limits};
use crate::contract::sink::CallSink;

/// The tool's limits, lowered by what the caller asked for.
pub(super) fn limits_of(tool: &ToolDescriptor, call: &ToolInvocation) -> Limits {
    let mut limits = tool.limits.clone();
    if let Some(timeout) = call.timeout {
        let wish = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        for kind in [LimitKind::AttemptDeadline, LimitKind::CallDeadline] {
            limits.lower(kind, wish, LimitOrigin::Caller);
        }
    }
    limits
}

/// What an attempt is made of, besides its number.
pub(super) struct Plan<'a> {
    pub(super) call: &'a ToolInvocation,
    pub(super) prepared: &'a Prepared,
    /// When the whole call must have ended.
    pub(super) due: Instant,
    pub(super) cancel: &'a CancellationToken,
    /// Whether the call is one of several in one task.
    pub(super) shares_task: bool,
    pub(super) sink: Arc<dyn CallSink>,
}

impl Plan<'_> {
    /// The attempt of this number, due at its own deadline or the call's, whichever is sooner.
    pub(super) fn attempt(self, number: u32) -> Attempt {
        let now = Instant::now();
        let left = self.due.saturating_duration_since(now);
        let own: Duration = self.prepared.limits.duration(LimitKind::AttemptDeadline);
        let deadline_kind =
            if left < own { LimitKind::CallDeadline } else { LimitKind::AttemptDeadline };
        Attempt {
            call_id: self.call.call_id.clone(),
            number,
            arguments: Arc::clone(&self.prepared.arguments),
            limits: Arc::clone(&self.prepared.limits),
            grants: Arc::clone(&self.prepared.grants),
            idempotency_key: self.call.idempotency_key.clone(),
            deadline: (now + own.min(left)).into_std(),
            deadline_kind,
            cancel: self.cancel.clone(),
            shares_task: self.shares_task,
            sink: self.sink,
            asked_by: asked_by(&self.prepared.tool.descriptor, self.call),
        }
    }
}

/// Made only for who may see it.
fn asked_by(tool: &ToolDescriptor, call: &ToolInvocation) -> Option<Box<AskedBy>> {
    (tool.isolation != Isolation::Sandbox).then(|| {
        Box::new(AskedBy {
            caller: call.context(),
            digest: tool.plugin.digest,
            trace_parent: call.trace_parent.clone(),
        })
    })
}
