//! The handle: everything a frontend may do with a running host.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::contract::approval::CallerContext;
use crate::contract::invocation::ToolInvocation;
use crate::contract::result::{Attachment, ToolResult};
use crate::engine::Engine;
use crate::engine::ports::{FoundTool, ToolListing};
use crate::events::{EventBus, EventStream, Journal};
use crate::gate::Explanation;
use crate::gate::approval::ApprovalQueue;
use crate::registry::Catalog;

pub use crate::engine::{CallIds, Renamed, unique_ids};

/// A running host. Cheap to clone; ends when the last clone is dropped.
#[derive(Clone)]
pub struct Host {
    engine: Engine,
    catalog: Arc<Catalog>,
    tools: Arc<dyn ToolListing>,
    bus: EventBus,
    approvals: ApprovalQueue,
    journal: Option<Journal>,
    companion: Option<Arc<dyn Companion>>,
}

/// What runs beside a host and belongs to it: the MCP servers whose tools it offers.
#[async_trait::async_trait]
pub trait Companion: Send + Sync {
    /// Starts it in the background; a second time it does nothing. Needs a tokio runtime.
    fn start(&self);

    /// Waits until all of it is there or has failed to be for the first time.
    async fn settled(&self);

    /// Ends it for good and waits until it is gone, a few seconds at most.
    async fn end(&self);
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("catalog", &self.catalog).finish_non_exhaustive()
    }
}

/// What a handle holds.
#[derive(Clone)]
pub struct HostParts {
    /// Runs calls.
    pub engine: Engine,
    /// What was loaded at the start.
    pub catalog: Arc<Catalog>,
    /// What can be called: that, and tools that come and go.
    pub tools: Arc<dyn ToolListing>,
    /// Where events go.
    pub bus: EventBus,
    /// Where people are asked.
    pub approvals: ApprovalQueue,
    /// Where each call is recorded; `None`: nowhere.
    pub journal: Option<Journal>,
}

impl std::fmt::Debug for HostParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostParts").field("catalog", &self.catalog).finish_non_exhaustive()
    }
}

impl Host {
    /// Joins the parts; [`crate::app`] makes them.
    pub fn new(parts: HostParts) -> Self {
        let HostParts { engine, catalog, tools, bus, approvals, journal } = parts;
        Self { engine, catalog, tools, bus, approvals, journal, companion: None }
    }

    /// The same host with something beside it that lives as long as its last clone.
    #[must_use]
    pub fn beside(mut self, companion: Arc<dyn Companion>) -> Self {
        self.companion = Some(companion);
        self
    }

    /// Waits until the tools of configured MCP servers are there: until each server has listed them
    /// or has failed to for the first time. Starts the servers where none has been yet. Returns at
    /// once where there are none, or whoever started the host keeps them.
    ///
    /// Until then calls of their tools are `not_found`. A server that fails is started again; its
    /// tools then come by themselves: see [`Self::tools_revision`].
    pub async fn ready(&self) {
        if let Some(companion) = &self.companion {
            companion.start();
            companion.settled().await;
        }
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

    /// All tools that can be called now, also those that run elsewhere, by id. Whose a tool is
    /// stands with it: [`FoundTool::owner`].
    pub fn tools(&self) -> Arc<[FoundTool]> {
        self.tools.list()
    }

    /// A tool by exactly its id or its wire name.
    pub fn tool(&self, name: &str) -> Option<FoundTool> {
        self.tools.named(name)
    }

    /// Whether a plugin of this name is still being loaded: its tools will be among the others then.
    pub fn expects(&self, plugin: &str) -> bool {
        self.tools.expects(plugin)
    }

    /// Ids of everybody's tools that somebody who asked for `name` may have meant, nearest first.
    pub fn near(&self, name: &str) -> Vec<String> {
        self.engine.near(name)
    }

    /// A number that rises whenever tools have come or gone.
    pub fn tools_revision(&self) -> watch::Receiver<u64> {
        self.tools.revision()
    }

    /// The plugins that were loaded at the start, with their tools.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What a call of this caller left beside its text, by its address; `None` where there is
    /// nothing of the kind, or no longer, or it is another caller's.
    pub fn attachment(&self, caller: &CallerContext, uri: &str) -> Option<Arc<Attachment>> {
        self.engine.attachment(caller, uri)
    }

    /// All that calls of this caller left and that is still kept, the oldest first.
    pub fn attachments(&self, caller: &CallerContext) -> Vec<Arc<Attachment>> {
        self.engine.attachments(caller)
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
    /// makes up for it. Then ends the MCP servers that the host keeps.
    ///
    /// # Errors
    /// In one sentence: what keeps it from the log. Nothing that was recorded is lost by it.
    pub async fn close(&self) -> Result<(), String> {
        let closed = match &self.journal {
            Some(journal) => journal.clone().close().await.map_err(|error| error.to_string()),
            None => Ok(()),
        };
        if let Some(companion) = &self.companion {
            companion.end().await;
        }
        closed
    }
}
