//! Finds tools in the catalog and hands attempts to whatever runs them: the sandbox.

use std::sync::Arc;

use crate::contract::arguments::ArgumentCheck;
use crate::contract::attempt::{Attempt, AttemptEnd, End, RunnerRefusal};
use crate::contract::descriptor::Need;
use crate::contract::ids::ToolId;
use crate::contract::result::{MissingGrant, Usage};
use crate::engine::ports::{FoundTool, ToolLookup, ToolRunner};
use crate::registry::Catalog;
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
            grants: tool.grants.clone(),
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
        if !end.missing_grants.is_empty() {
            let plugin = self.catalog.plugin(tool.plugin.as_str());
            let plugins = plugin.map_or(&[][..], |plugin| &plugin.needs);
            explain(&mut end.missing_grants, &found.descriptor.needs, plugins);
        }
        end
    }
}

/// Quotes the plugin's own reason beside a grant it missed: the tool's, else the plugin's.
fn explain(missing: &mut [MissingGrant], tools: &[Need], plugins: &[Need]) {
    for missing in missing {
        let need = reason_for(missing, tools).or_else(|| reason_for(missing, plugins));
        missing.why = need.map(|need| need.why.clone());
    }
}

/// A need of what is missing, else any of its kind.
fn reason_for<'a>(missing: &MissingGrant, needs: &'a [Need]) -> Option<&'a Need> {
    let alike = || needs.iter().filter(|need| need.kind == missing.kind);
    alike().find(|need| fits(need, missing)).or_else(|| alike().next())
}

/// Whether the grant that would help, or what was tried, names what the need is about.
fn fits(need: &Need, missing: &MissingGrant) -> bool {
    // An http need goes on with its methods.
    let about = need.what.split(' ').next().unwrap_or_default();
    let names = |text: &str| {
        text.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).any(|word| word == about)
    };
    names(&missing.tried) || missing.grant.as_deref().is_some_and(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(kind: &str, what: &str) -> Need {
        Need { kind: kind.to_owned(), what: what.to_owned(), why: format!("for {what}") }
    }

    fn why(
        kind: &str,
        tried: &str,
        grant: &str,
        tools: &[Need],
        plugins: &[Need],
    ) -> Option<String> {
        let mut missing = [MissingGrant {
            kind: kind.to_owned(),
            tried: tried.to_owned(),
            grant: Some(grant.to_owned()),
            why: None,
        }];
        explain(&mut missing, tools, plugins);
        missing[0].why.clone()
    }

    #[test]
    fn a_tool_without_a_reason_of_its_own_gives_its_plugins() {
        let (tools, plugins) = ([need("dir", "ro")], [need("dir", "rw"), need("http", "a.b GET")]);
        let dir = why("dir", "to open `x`", "--dir HOST[:GUEST][:ro|rw]", &tools, &plugins);
        assert_eq!(dir.as_deref(), Some("for ro"));
        let http = why("http", "to send GET to `a.b`", "", &tools, &plugins);
        assert_eq!(http.as_deref(), Some("for a.b GET"));
        assert_eq!(why("env", "to read the variable `A`", "--env A=VALUE", &tools, &plugins), None);
    }

    #[test]
    fn the_reason_that_fits_is_the_one_that_is_given() {
        let dirs = [need("dir", "ro"), need("dir", "rw")];
        let write = why("dir", "to write `x`", "--dir HOST[:GUEST]:rw", &dirs, &[]);
        assert_eq!(write.as_deref(), Some("for rw"));
        let hosts = [need("http", "a.example GET"), need("http", "b.example GET,POST")];
        let host = why("http", "to send POST to `b.example:443`", "", &hosts, &[]);
        assert_eq!(host.as_deref(), Some("for b.example GET,POST"));
        let other = why("http", "to send GET to `c.example`", "", &hosts, &[]);
        assert_eq!(other.as_deref(), Some("for a.example GET"));
    }
}
