//! Tells the bus how a call ended, whoever ends it: a result, a panic, or a caller that went away.

use std::sync::Arc;

use tokio::time::Instant;

use crate::contract::arguments::CheckedArguments;
use crate::contract::ids::{CallId, ToolId};
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::events::{BusSink, CallReport, EventBus, EventKind};

/// A call that has begun. Dropped without an end, it reports `interrupted`, or `cancelled` where no
/// attempt had started.
pub(super) struct OpenCall {
    bus: EventBus,
    call_id: CallId,
    tool_name: String,
    started: Instant,
    pub(super) tool: Option<ToolId>,
    pub(super) arguments: Option<Arc<CheckedArguments>>,
    pub(super) attempts: u32,
    sink: Arc<BusSink>,
    open: bool,
}

impl OpenCall {
    pub(super) fn new(bus: &EventBus, call_id: &CallId, tool_name: &str) -> Self {
        Self {
            bus: bus.clone(),
            call_id: call_id.clone(),
            tool_name: tool_name.to_owned(),
            started: Instant::now(),
            tool: None,
            arguments: None,
            attempts: 0,
            sink: Arc::new(BusSink::new(bus.clone(), call_id.clone())),
            open: true,
        }
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    pub(super) fn sink(&self) -> Arc<BusSink> {
        Arc::clone(&self.sink)
    }

    pub(super) fn duration_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Ends the call with its result.
    pub(super) fn finish(mut self, mut result: ToolResult) -> ToolResult {
        self.open = false;
        result.attempts = self.attempts;
        result.duration_ms = Some(self.duration_ms());
        self.publish(&result);
        result
    }

    fn publish(&self, result: &ToolResult) {
        self.bus.publish(Some(&self.call_id), || {
            let dropped = self.sink.dropped();
            EventKind::ToolCallInvoke(Box::new(CallReport {
                tool_name: self.tool_name.clone(),
                tool: self.tool.clone(),
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
        if self.open {
            let outcome =
                if self.attempts == 0 { Outcome::Cancelled } else { Outcome::Interrupted };
            let gone = "nobody waited for the result any more";
            let mut result = ToolResult::refused(self.call_id.clone(), outcome, gone);
            result.duration_ms = Some(self.duration_ms());
            self.publish(&result);
        }
    }
}
