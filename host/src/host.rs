//! The handle: everything a frontend may do with a running host.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::contract::invocation::ToolInvocation;
use crate::contract::result::ToolResult;
use crate::engine::Engine;
use crate::events::{EventBus, EventStream, Journal};
use crate::gate::Explanation;
use crate::gate::approval::ApprovalQueue;
use crate::registry::Catalog;

pub use crate::engine::{CallIds, Renamed, unique_ids};

/// A running host. Cheap to clone; ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Host {
    engine: Engine,
    catalog: Arc<Catalog>,
    bus: EventBus,
    approvals: ApprovalQueue,
    journal: Option<Journal>,
}

/// What a handle holds.
#[derive(Debug, Clone)]
pub struct HostParts {
    /// Runs calls.
    pub engine: Engine,
    /// What is loaded.
    pub catalog: Arc<Catalog>,
    /// Where events go.
    pub bus: EventBus,
    /// Where people are asked.
    pub approvals: ApprovalQueue,
    /// Where each call is recorded; `None`: nowhere.
    pub journal: Option<Journal>,
}

impl Host {
    /// Joins the parts; [`crate::app`] makes them.
    pub fn new(parts: HostParts) -> Self {
        let HostParts { engine, catalog, bus, approvals, journal } = parts;
        Self { engine, catalog, bus, approvals, journal }
    }

    /// Runs one call to its end. Never fails: every end is a result.
    pub async fn call(&self, call: ToolInvocation) -> ToolResult {
        self.engine.call(call, CancellationToken::new()).await
    }

    /// Runs one call that `cancel` can end: at once, wherever its guest is.
    pub async fn call_with(&self, call: ToolInvocation, cancel: CancellationToken) -> ToolResult {
        self.engine.call(call, cancel).await
    }

    /// Runs calls that belong together: those that may run beside others do, the rest one after
    /// another, all in the order given. One result for each call, in that order. Ids must differ:
    /// see [`unique_ids`].
    pub async fn batch(&self, calls: Vec<ToolInvocation>) -> Vec<ToolResult> {
        self.batch_with(calls, CancellationToken::new(), |_, _| {}).await
    }

    /// Runs a batch that `cancel` can end; `on_result` hears of each result with its place, as it
    /// comes in. Also a cancelled batch has one result for each call.
    pub async fn batch_with(
        &self,
        calls: Vec<ToolInvocation>,
        cancel: CancellationToken,
        on_result: impl FnMut(usize, &ToolResult) + Send,
    ) -> Vec<ToolResult> {
        self.engine.batch(calls, cancel, on_result).await
    }

    /// What is loaded.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What happens from now on. A watcher that is too slow loses events and is told how many.
    pub fn events(&self) -> EventStream {
        self.bus.watch()
    }

    /// Requests that wait for a person, and what people said for good.
    pub fn approvals(&self) -> &ApprovalQueue {
        &self.approvals
    }

    /// What policy would say of a call, stage by stage. Runs and records nothing.
    ///
    /// # Errors
    /// The result it would end with before the gate is asked.
    pub async fn explain(&self, call: &ToolInvocation) -> Result<Explanation<'_>, Box<ToolResult>> {
        self.engine.explain(call).await
    }

    /// Ends the audit log of this process: all that was recorded is in the log, and calls that still
    /// run there as `interrupted`. Calls that come later are refused. Without this, the next start
    /// makes up for it.
    ///
    /// # Errors
    /// In one sentence: what keeps it from the log. Nothing that was recorded is lost by it.
    pub async fn close(&self) -> Result<(), String> {
        match &self.journal {
            Some(journal) => journal.clone().close().await.map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }
}
