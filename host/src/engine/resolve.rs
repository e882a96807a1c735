//! Whose tool a name is (A10): the registry's, the session's, or nobody's known.

use super::ports::{FoundTool, ToolLookup};
use crate::contract::descriptor::NamedTool;
use crate::contract::escape::clipped_line;
use crate::contract::invocation::ToolInvocation;

/// Longest tool name that is repeated, in bytes.
const NAME_MAX_LEN: usize = 128;

/// Who owns a name.
#[derive(Debug)]
pub(super) enum Resolved {
    /// The registry: it can be called here.
    Loaded(FoundTool),
    /// The caller's session.
    Session(NamedTool),
    /// Nobody: the default descriptor of source A.
    Unknown(NamedTool),
}

impl Resolved {
    /// The names that a caller's set may hold it by, the one that was asked for first.
    pub(super) fn names(&self, call: &ToolInvocation) -> Vec<String> {
        let mut names = vec![call.tool_name.clone()];
        if let Self::Loaded(tool) = self {
            names.extend([tool.descriptor.id.to_string(), tool.descriptor.wire_name.clone()]);
        }
        names
    }
}

/// Resolves a name in the order of A10. A missing instance is a normal path. What a session calls
/// its own is the tool of a connected client of the same caller, and never anything else.
pub(super) fn resolve(lookup: &dyn ToolLookup, call: &ToolInvocation) -> Resolved {
    let name = &call.tool_name;
    if let Some(found) = lookup.find(name).filter(|found| is_there_for(found, call)) {
        return Resolved::Loaded(found);
    }
    match call.session_tools.iter().find(|tool| tool.name == *name) {
        Some(tool) => {
            let named = tool.descriptor.clone().unwrap_or_else(|| NamedTool::new(name));
            let of_client = |caller| lookup.of_session(caller, &named.name);
            match call.caller.as_deref().and_then(of_client) {
                Some(found) => Resolved::Loaded(found),
                None => Resolved::Session(named),
            }
        }
        None => Resolved::Unknown(NamedTool::new(name)),
    }
}

/// A tool that exists for another caller is as unknown as one that doesn't exist.
fn is_there_for(found: &FoundTool, call: &ToolInvocation) -> bool {
    found.owner.as_deref().is_none_or(|owner| call.caller.as_deref() == Some(owner))
}

/// What a tool of the caller's session is answered with.
pub(super) fn not_connected(tool: &NamedTool) -> String {
    let shown = clipped_line(&tool.name, NAME_MAX_LEN);
    format!("`{shown}` is the session's own tool, and no client that runs those is connected")
}

/// What an unknown name is answered with.
pub(super) fn not_found(lookup: &dyn ToolLookup, tool: &NamedTool) -> String {
    let shown = clipped_line(&tool.name, NAME_MAX_LEN);
    let near: Vec<_> = lookup.near(&tool.name).iter().map(|id| format!("`{id}`")).collect();
    if near.is_empty() {
        format!("Unknown tool: {shown}")
    } else {
        format!("Unknown tool: {shown}; did you mean {}?", near.join(" or "))
    }
}
