//! Whom a frontend speaks for: one caller of the configuration, and the tools it is shown.
//!
//! Authenticates nobody: a frontend finds out who it is, and makes an `Access` of that. Whatever a
//! request says can only narrow it.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::contract::approval::CallerContext;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::clipped_line;
use crate::contract::ids::{CallId, ToolId};
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::engine::ports::FoundTool;
use crate::gate::{Pattern, PatternError, narrow_level};
use crate::host::Host;

/// Longest name that is repeated, in bytes.
const NAME_MAX_LEN: usize = 100;

/// Why there is no access of that kind.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// A caller that the configuration doesn't have.
    #[error("`{0}` is no caller of the configuration")]
    Caller(String),
    /// A set of tools that the configuration doesn't have, and that is no plugin either.
    #[error("`{0}` is neither a set of tools under `expose` nor a plugin")]
    Set(String),
    /// A pattern of the configuration.
    #[error("a pattern of tools can't be used: {0}")]
    Pattern(#[from] PatternError),
}

/// What a request may narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// A lower level; a higher one changes nothing.
    pub level: Option<PermissionLevel>,
    /// Ids or wire names of the only tools it means to call.
    pub tools: Option<Vec<String>>,
    /// A shorter time for the whole call.
    pub timeout: Option<Duration>,
}

/// Whom calls are made for.
#[derive(Debug, Clone)]
pub struct Access {
    context: CallerContext,
    /// Each list must hold a tool; none of them: every tool.
    lists: Vec<Arc<[Pattern]>>,
}

impl Access {
    /// The access of a caller of the configuration.
    ///
    /// # Errors
    /// `Caller`, `Pattern`.
    pub fn new(config: &Config, caller: &str) -> Result<Self, AccessError> {
        let unknown = || AccessError::Caller(clipped_line(caller, NAME_MAX_LEN));
        let found = config.caller(caller).ok_or_else(unknown)?;
        let context = CallerContext {
            caller: Some(found.name.clone()),
            session_id: None,
            user_id: found.user.clone(),
            execution_user_id: found.execution_user.clone(),
            workspace: found.workspace.clone(),
            permission_level: found.level,
        };
        let lists = found.tools.as_deref().map(patterns).transpose()?;
        Ok(Self { context, lists: lists.into_iter().collect() })
    }

    /// The same within these sets of tools: names under `expose`, or of plugins. What it could not
    /// call before it can't now.
    ///
    /// # Errors
    /// `Set`, `Pattern`. Whether a plugin is there can only be known of `host`, and of tools that
    /// come and go whether they are there now.
    pub fn exposing(
        mut self,
        config: &Config,
        host: &Host,
        sets: &[String],
    ) -> Result<Self, AccessError> {
        let mut globs = Vec::new();
        for name in sets {
            if let Some(set) = config.expose.iter().find(|set| set.name == *name) {
                globs.extend(set.tools.iter().cloned());
            } else if holds_plugin(host, name) || is_upstream(config, name) {
                globs.push(format!("{name}.*"));
            } else {
                return Err(AccessError::Set(clipped_line(name, NAME_MAX_LEN)));
            }
        }
        self.lists.push(patterns(&globs)?);
        Ok(self)
    }

    /// The same in a session of this name.
    #[must_use]
    pub fn in_session(mut self, session: impl Into<String>) -> Self {
        self.context.session_id = Some(session.into());
        self
    }

    /// Who calls.
    pub fn context(&self) -> &CallerContext {
        &self.context
    }

    /// Whether it may see and call a tool.
    pub fn admits(&self, tool: &FoundTool) -> bool {
        let owned = tool.owner.as_deref();
        owned.is_none_or(|owner| self.context.caller.as_deref() == Some(owner))
            && self.lists_hold(&tool.descriptor.id)
    }

    fn lists_hold(&self, id: &ToolId) -> bool {
        if self.lists.is_empty() {
            return true;
        }
        let id = id.to_string();
        self.lists.iter().all(|list| list.iter().any(|glob| glob.admits(&id)))
    }

    /// The tools it sees now, by id.
    pub fn tools(&self, host: &Host) -> Vec<Arc<ToolDescriptor>> {
        let all = host.tools();
        let seen = all.iter().filter(|tool| self.admits(tool));
        seen.map(|tool| Arc::clone(&tool.descriptor)).collect()
    }

    /// One tool by its id or wire name, where it sees it.
    pub fn tool(&self, host: &Host, name: &str) -> Option<Arc<ToolDescriptor>> {
        host.tool(name).filter(|tool| self.admits(tool)).map(|tool| tool.descriptor)
    }

    /// A call. One of a tool that it doesn't see is refused by the engine, and recorded.
    pub fn call(
        &self,
        host: &Host,
        id: CallId,
        tool: impl Into<String>,
        arguments_json: impl Into<String>,
        mode: ApprovalMode,
        narrowed: &Narrowed,
    ) -> ToolInvocation {
        let mut call = ToolInvocation::of(self.context.clone(), id, tool, arguments_json);
        call.permission_level = narrow_level(call.permission_level, narrowed.level);
        call.timeout = narrowed.timeout;
        call.approval_mode = mode;
        call.allowed_tools = self.allowed(host, &call.tool_name, narrowed.tools.as_deref());
        call
    }

    /// The set that the engine holds the call against: of all it may call, the one that it names.
    fn allowed(&self, host: &Host, name: &str, narrowed: Option<&[String]>) -> Option<Vec<String>> {
        if self.lists.is_empty() && narrowed.is_none() {
            return None;
        }
        let found = host.tool(name).filter(|tool| self.admits(tool));
        let named = found.filter(|tool| {
            let (id, wire) = (tool.descriptor.id.to_string(), &tool.descriptor.wire_name);
            narrowed.is_none_or(|only| only.iter().any(|it| *it == id || it == wire))
        });
        Some(named.into_iter().map(|tool| tool.descriptor.id.to_string()).collect())
    }
}

/// Whether any tool is called `<name>.…`, or the plugin is there without one, or comes later.
fn holds_plugin(host: &Host, name: &str) -> bool {
    let is_its = |tool: &FoundTool| tool.descriptor.id.plugin.as_str() == name;
    host.catalog().plugin(name).is_some() || host.tools().iter().any(is_its) || host.expects(name)
}

/// Its tools may not have come yet.
fn is_upstream(config: &Config, name: &str) -> bool {
    config.upstream.iter().any(|server| server.name.as_str() == name)
}

fn patterns(globs: &[String]) -> Result<Arc<[Pattern]>, AccessError> {
    Ok(globs.iter().map(|glob| Pattern::new(glob)).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests;
