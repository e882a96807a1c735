//! The handle: everything a frontend may do with a running host.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::contract::invocation::ToolInvocation;
use crate::contract::result::ToolResult;
use crate::engine::Engine;
use crate::events::{EventBus, EventStream};
use crate::registry::Catalog;

/// A running host. Cheap to clone; ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Host {
    engine: Engine,
    catalog: Arc<Catalog>,
    bus: EventBus,
}

impl Host {
    /// Joins the parts; [`crate::app`] makes them.
    pub fn new(engine: Engine, catalog: Arc<Catalog>, bus: EventBus) -> Self {
        Self { engine, catalog, bus }
    }

    /// Runs one call to its end. Never fails: every end is a result.
    pub async fn call(&self, call: ToolInvocation) -> ToolResult {
        self.engine.call(call, CancellationToken::new()).await
    }

    /// Runs one call that `cancel` can end: at once, wherever its guest is.
    pub async fn call_with(&self, call: ToolInvocation, cancel: CancellationToken) -> ToolResult {
        self.engine.call(call, cancel).await
    }

    /// What is loaded.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What happens from now on. A watcher that is too slow loses events and is told how many.
    pub fn events(&self) -> EventStream {
        self.bus.watch()
    }
}
