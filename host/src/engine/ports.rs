//! What the engine needs of others, as traits: whoever finds tools, and whoever runs them.

use std::sync::Arc;

use tokio::sync::watch;

use crate::contract::arguments::ArgumentCheck;
use crate::contract::attempt::{Attempt, AttemptEnd};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::grants::ToolGrants;
use crate::contract::ids::ToolId;

/// A tool that can be called.
#[derive(Clone)]
pub struct FoundTool {
    /// What it is.
    pub descriptor: Arc<ToolDescriptor>,
    /// Checks arguments against its schema.
    pub check: Arc<dyn ArgumentCheck>,
    /// What it may use.
    pub grants: ToolGrants,
    /// The one caller it exists for: to all others its name is unknown. `None`: everybody.
    pub owner: Option<Arc<str>>,
}

impl std::fmt::Debug for FoundTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FoundTool").field("id", &self.descriptor.id).finish_non_exhaustive()
    }
}

/// Finds tools by name.
pub trait ToolLookup: Send + Sync {
    /// The tool of exactly this id or wire name.
    fn find(&self, name: &str) -> Option<FoundTool>;
    /// Ids that somebody who asked for `name` may have meant, nearest first, a few.
    fn near(&self, name: &str) -> Vec<String>;
}

/// Lists tools, for frontends that show them.
pub trait ToolListing: Send + Sync {
    /// All that can be called now, by id.
    fn list(&self) -> Arc<[FoundTool]>;
    /// The same tool that [`ToolLookup::find`] finds.
    fn named(&self, name: &str) -> Option<FoundTool>;
    /// A number that rises whenever what [`Self::list`] gives has changed.
    fn revision(&self) -> watch::Receiver<u64>;
}

/// Runs attempts. The end it returns is typed; it never guesses.
#[async_trait::async_trait]
pub trait ToolRunner: Send + Sync {
    /// Runs one attempt. Must honour its deadline and its cancel token, and be safe to drop at any
    /// await.
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd;
}
