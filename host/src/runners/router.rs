//! Finds tools and hands attempts to whatever runs them: the sandbox, or a runner of their source.

use std::sync::Arc;

use super::said::tool_name;
use super::tools::{Place, Tools};
use crate::contract::attempt::{Attempt, AttemptEnd, End, RunnerRefusal};
use crate::contract::descriptor::{Need, ToolExecutor};
use crate::contract::ids::ToolId;
use crate::contract::result::{MissingGrant, Usage};
use crate::engine::ports::{FoundTool, ToolListing, ToolLookup, ToolRunner};
use crate::sandbox::Sandbox;

/// Ids that a miss is answered with.
const SUGGESTIONS: usize = 3;

/// The tools as the engine sees them.
#[derive(Debug, Clone)]
pub struct Router {
    tools: Arc<Tools>,
    sandbox: Sandbox,
}

impl Router {
    /// Routes to `tools`, of which those of the catalog were loaded into `sandbox`.
    pub fn new(tools: Arc<Tools>, sandbox: Sandbox) -> Self {
        Self { tools, sandbox }
    }
}

impl ToolLookup for Router {
    fn find(&self, name: &str) -> Option<FoundTool> {
        self.tools.named(name)
    }

    fn of_session(&self, caller: &str, name: &str) -> Option<FoundTool> {
        let (tools, own) = (self.tools.list(), tool_name(name).ok());
        let mut fitting = tools.iter().filter(|tool| {
            let known = &tool.descriptor;
            tool.owner.as_deref() == Some(caller)
                && known.executor == ToolExecutor::Desktop
                && (own.as_ref() == Some(&known.id.tool)
                    || known.wire_name == name
                    || known.original_name.as_deref() == Some(name)
                    || known.id.to_string() == name)
        });
        // Of two that fit neither is the one that was meant.
        fitting.next().filter(|_| fitting.next().is_none()).cloned()
    }

    fn near(&self, name: &str) -> Vec<String> {
        let tools = self.tools.list();
        let everybodys = tools.iter().filter(|tool| tool.owner.is_none());
        near(name, everybodys.map(|tool| &tool.descriptor.id))
    }
}

#[async_trait::async_trait]
impl ToolRunner for Router {
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        let found = match self.tools.place(tool) {
            Some(Place::Sandbox(found)) => found,
            Some(Place::Outside(runner)) => return runner.run(tool, attempt).await,
            None => {
                let gone = RunnerRefusal::Unavailable(format!("`{tool}` is no longer there"));
                let (end, usage) = (End::Refused(gone), Usage::default());
                return AttemptEnd { end, usage, missing_grants: Vec::new() };
            }
        };
        let mut end = self.sandbox.run(&found.sandboxed, attempt).await;
        if !end.missing_grants.is_empty() {
            let catalog = self.tools.catalog();
            let plugin = catalog.plugin(tool.plugin.as_str());
            let plugins = plugin.map_or(&[][..], |plugin| &plugin.needs);
            explain(&mut end.missing_grants, &found.descriptor.needs, plugins);
        }
        end
    }
}

/// Ids that somebody who asked for `name` may have meant, nearest first.
fn near<'a>(name: &str, ids: impl Iterator<Item = &'a ToolId>) -> Vec<String> {
    let asked: String = name.chars().take(80).collect();
    let mut ranked: Vec<(usize, String)> = ids
        .map(|id| {
            let by_tool = strsim::levenshtein(&asked, id.tool.as_str());
            let id = id.to_string();
            (strsim::levenshtein(&asked, &id).min(by_tool), id)
        })
        .filter(|(distance, id)| *distance <= id.len() / 3)
        .collect();
    ranked.sort();
    ranked.into_iter().take(SUGGESTIONS).map(|(_, id)| id).collect()
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
