//! Makes the tools of one plugin, a function at a time: what is wrong with one leaves the others
//! alone.

use std::sync::Arc;

use belljar_metadata::{FunctionMetadata, Need, PluginMetadata};

use super::descriptor::{Parts, describe};
use super::effects::effective_grants;
use super::load::{LoadedPlugin, LoadedTool, PluginGiven, TOOLCHAIN_INTERFACE};
use super::names::tool_names;
use super::words::{PatternBudget, path_of, words_of};
use crate::contract::escape::clipped_line;
use crate::contract::grants::{Granted, ToolGrants};
use crate::contract::ids::{ToolId, ToolName};
use crate::contract::limits::{LimitError, Limits};
use crate::sandbox::{
    Access, AccessWords, Compiled, Entry, ExportedFunction, OpenError, Sandbox, SandboxedTool,
};

/// Tools one plugin may have; more functions are listed as unsupported.
const TOOLS_MAX: usize = 256;

/// What all tools of a plugin are made from.
pub(super) struct Making<'a> {
    given: &'a PluginGiven,
    metadata: &'a PluginMetadata,
    compiled: &'a Arc<Compiled>,
    /// The plugin's folders, opened once for all its tools.
    plain: Access,
    /// The same for tools that are held to reading.
    read_only: Access,
    patterns: PatternBudget,
}

impl<'a> Making<'a> {
    /// Opens what the plugin was granted.
    pub(super) fn new(
        sandbox: &Sandbox,
        given: &'a PluginGiven,
        metadata: &'a PluginMetadata,
        compiled: &'a Arc<Compiled>,
    ) -> Result<Self, OpenError> {
        let (plain, read_only) = match &given.grants {
            // Each call opens its own.
            Granted::PerCall { .. } => (Access::default(), Access::default()),
            Granted::Fixed(grants) => {
                let plain = sandbox.open(grants)?;
                let read_only = match grants.can_write_files() {
                    true => sandbox.open(&grants.read_only())?,
                    false => plain.clone(),
                };
                (plain, read_only)
            }
        };
        let patterns = PatternBudget::default();
        Ok(Self { given, metadata, compiled, plain, read_only, patterns })
    }

    /// Makes a tool of each function that can be one; the others are listed with the reason.
    pub(super) fn add_tools(mut self, plugin: &mut LoadedPlugin, functions: Vec<ExportedFunction>) {
        let (internal, functions): (Vec<_>, Vec<_>) = functions
            .into_iter()
            .partition(|f| f.interface.as_deref() == Some(TOOLCHAIN_INTERFACE));
        for function in internal {
            plugin.refuse(&function, "it belongs to the toolchain's runtime".to_owned());
        }
        let names: Vec<_> =
            functions.iter().map(|f| (f.interface.as_deref(), f.name.as_str())).collect();
        for (function, name) in functions.iter().zip(tool_names(&names)) {
            let Some(name) = name else {
                plugin.refuse(function, "its name isn't its own, or no tool's name".to_owned());
                continue;
            };
            if plugin.tools.len() >= TOOLS_MAX {
                plugin.refuse(function, format!("a plugin may have {TOOLS_MAX} tools"));
                continue;
            }
            self.add_tool(plugin, function, name);
        }
    }

    fn add_tool(&mut self, plugin: &mut LoadedPlugin, function: &ExportedFunction, name: ToolName) {
        let unsaid = FunctionMetadata::default();
        let said = self.metadata.functions.get(&path_of(function)).unwrap_or(&unsaid);
        let (words, too_many) = words_of(said, &mut self.patterns);
        let entry = match Entry::plan(function, &words, self.compiled.imports_rich_output()) {
            Ok(entry) => Arc::new(entry),
            Err(error) => return plugin.refuse(function, error.to_string()),
        };
        let odd = entry.findings().iter().chain(&too_many);
        let odd = odd.map(|odd| clipped_line(&format!("{name}: {odd}"), 300));
        plugin.findings.extend(odd);
        let grants = effective_grants(self.given.grants.shape(), &said.tags);
        let opened = if said.tags.read_only { &self.read_only } else { &self.plain };
        let access = opened.of(self.access_words(said));
        let limits = match self.limits_of(name.as_str()) {
            Ok(limits) => limits,
            Err(error) => return plugin.refuse(function, error.to_string()),
        };
        let settings = self.given.tools.get(name.as_str());
        let wire_name = settings.and_then(|tool| tool.wire_name.as_deref());
        let descriptor = describe(Parts {
            id: ToolId { plugin: plugin.identity.name.clone(), tool: name },
            plugin,
            function,
            said,
            entry: &entry,
            grants: &grants,
            limits: &limits,
            wire_name,
        });
        let compiled = Arc::clone(self.compiled);
        let tool = SandboxedTool::new(compiled, function, entry, access);
        plugin.tools.push(LoadedTool {
            descriptor: Arc::new(descriptor),
            sandboxed: match &self.given.grants {
                Granted::Fixed(_) => tool,
                Granted::PerCall { .. } => tool.opening_per_call(),
            },
            grants: match &self.given.grants {
                Granted::Fixed(_) => ToolGrants::Fixed(Arc::new(grants)),
                Granted::PerCall { source, .. } => ToolGrants::PerCall {
                    source: Arc::clone(source),
                    read_only: said.tags.read_only,
                },
            },
        });
    }

    /// The operator's limits for one tool: its own, else the plugin's.
    fn limits_of(&self, name: &str) -> Result<Limits, LimitError> {
        let mut limits = self.given.limits.clone();
        for (kind, value) in self.given.tools.get(name).iter().flat_map(|tool| &tool.limits) {
            limits.set(*kind, *value)?;
        }
        Ok(limits)
    }

    /// What a tool, or its world, says of its access.
    fn access_words(&self, said: &FunctionMetadata) -> AccessWords {
        let needs = || said.needs.iter().chain(&self.metadata.needs);
        let granted =
            |name: &str| self.given.grants.shape().env().iter().any(|env| env.name == name);
        let missing_env = needs().filter_map(|need| match need {
            Need::Env { name, .. } if !granted(name) => Some(name.clone()),
            _ => None,
        });
        AccessWords {
            held_read_only: said.tags.read_only,
            may_want_folders: needs().next().is_none()
                || needs().any(|need| matches!(need, Need::Dir { .. })),
            missing_env: missing_env.collect(),
        }
    }
}
