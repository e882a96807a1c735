//! Finds tools in the catalog and hands attempts to whatever runs them: the sandbox.

use std::sync::Arc;

use crate::contract::arguments::ArgumentCheck;
use crate::contract::attempt::{Attempt, AttemptEnd, End, RunnerRefusal};
use crate::contract::ids::ToolId;
use crate::contract::result::Usage;
use crate::engine::ports::{FoundTool, ToolLookup, ToolRunner};
use crate::registry::{Catalog, LoadedTool};
use crate::sandbox::Sandbox;

/// The catalog as the engine sees it.
#[derive(Debug, Clone)]
pub struct Router {
    catalog: Arc<Catalog>,
    sandbox: Sandbox,
}

impl Router {
    /// Routes to the tools of `catalog`, which were loaded into `sandbox`.
    pub fn new(catalog: Arc<Catalog>, sandbox: Sandbox) -> Self {
        Self { catalog, sandbox }
    }
}

impl ToolLookup for Router {
    fn find(&self, name: &str) -> Option<FoundTool> {
        self.catalog.tool(name).map(|tool| FoundTool {
            descriptor: Arc::clone(&tool.descriptor),
            check: Arc::clone(tool.sandboxed.entry()) as Arc<dyn ArgumentCheck>,
        })
    }

    fn near(&self, name: &str) -> Vec<String> {
        self.catalog.near(name)
    }
}

#[async_trait::async_trait]
impl ToolRunner for Router {
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        let Some(found) = self.catalog.tool(&tool.to_string()) else {
            let gone = RunnerRefusal::Unavailable(format!("`{tool}` is no longer loaded"));
            let (end, usage) = (End::Refused(gone), Usage::default());
            return AttemptEnd { end, usage, missing_grants: Vec::new() };
        };
        let mut end = self.sandbox.run(&found.sandboxed, attempt).await;
        explain(&mut end, found);
        end
    }
}

/// Quotes the plugin's own reason beside a grant it missed.
fn explain(end: &mut AttemptEnd, tool: &LoadedTool) {
    for missing in &mut end.missing_grants {
        let need = tool.descriptor.needs.iter().find(|need| need.kind == missing.kind);
        missing.why = need.map(|need| need.why.clone());
    }
}
