//! What the gate sees of a call: proven effects, canonical arguments, and who calls.
//!
//! Hands out neither the arguments as they came nor a claim in the place of a proof.

use crate::contract::arguments::CheckedArguments;
use crate::contract::descriptor::{Isolation, ToolDescriptor, ToolExecutor, ToolSource};
use crate::contract::effects::{Basis, Effect};
use crate::contract::invocation::{PermissionLevel, ToolInvocation};

/// What marks a tool of an MCP server whose descriptor doesn't say so (A11).
const MCP_PREFIX: &str = "mcp__";

/// One call, as the gate and the risk assessor see it.
#[derive(Debug, Clone, Copy)]
pub struct GateView<'a> {
    tool: &'a ToolDescriptor,
    call: &'a ToolInvocation,
    arguments: Option<&'a CheckedArguments>,
}

impl<'a> GateView<'a> {
    /// A call of `tool`. Without arguments, rules that deny or ask count as if theirs matched.
    pub fn new(
        tool: &'a ToolDescriptor,
        call: &'a ToolInvocation,
        arguments: Option<&'a CheckedArguments>,
    ) -> Self {
        Self { tool, call, arguments }
    }

    /// The tool. Its effects may be claims: see [`GateView::proven`].
    pub fn tool(&self) -> &'a ToolDescriptor {
        self.tool
    }

    /// The canonical arguments, where they are known.
    pub fn arguments(&self) -> Option<&'a CheckedArguments> {
        self.arguments
    }

    /// Who calls, where the frontend knows.
    pub fn caller(&self) -> Option<&'a str> {
        self.call.caller.as_deref()
    }

    /// The caller's workspace.
    pub fn workspace(&self) -> Option<&'a str> {
        self.call.workspace.as_deref()
    }

    /// The caller's level.
    pub fn level(&self) -> PermissionLevel {
        self.call.permission_level
    }

    /// The tools the caller may use, as ids or wire names; `None` means all (A14).
    pub fn allowed_tools(&self) -> Option<&'a [String]> {
        self.call.allowed_tools.as_deref()
    }

    /// The name that was asked for.
    pub(super) fn asked_name(&self) -> &'a str {
        &self.call.tool_name
    }

    /// Whether the tool belongs to an MCP server: by its source or by its name's prefix (A11).
    pub fn is_mcp(&self) -> bool {
        self.tool.source == ToolSource::Mcp || self.tool.wire_name.starts_with(MCP_PREFIX)
    }

    /// What is proven of the tool, and where nothing is, the cautious value.
    pub fn proven(&self) -> ProvenEffects {
        ProvenEffects::of(self.tool)
    }

    /// Whether a tool in the sandbox only claims to be read-only. The sandbox leaves that a claim
    /// where a grant reaches out by http alone, and there it holds the tool to GET and HEAD.
    pub fn claims_read_only(&self) -> bool {
        let said = self.tool.effects.read_only;
        said.value
            && said.basis == Basis::Claimed
            && self.tool.isolation == Isolation::Sandbox
            && !self.is_mcp()
    }
}

/// Effects as far as policy may rely on them: what isn't proven has the value that lets through
/// less. Outside the sandbox nothing is proven, whatever a descriptor says, but of the host's own
/// tools: they are belljar itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenEffects {
    /// Changes nothing outside itself.
    pub read_only: bool,
    /// Has no writable folder.
    pub cannot_write_files: bool,
    /// Reaches nothing outside its file grants.
    pub closed_world: bool,
    /// The same arguments always give the same answer.
    pub deterministic: bool,
    /// May destroy what is there; false only where that is proven.
    pub destructive: bool,
    /// A second identical call changes nothing more.
    pub idempotent: bool,
}

impl ProvenEffects {
    fn of(tool: &ToolDescriptor) -> Self {
        let effects = &tool.effects;
        let own = tool.source == ToolSource::Builtin && tool.executor == ToolExecutor::Server;
        let known = own || tool.isolation == Isolation::Sandbox;
        let holds = |effect: Effect| known && effect.is_proven();
        let harmless = effects.destructive == Effect::proven(false);
        Self {
            read_only: holds(effects.read_only),
            cannot_write_files: holds(effects.cannot_write_files),
            closed_world: holds(effects.closed_world),
            deterministic: holds(effects.deterministic),
            destructive: !(known && harmless),
            idempotent: holds(effects.idempotent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::example;

    #[test]
    fn a11_a_tool_is_mcps_by_its_source_or_by_the_beginning_of_its_name() {
        let is_mcp = |source, wire_name: &str| {
            let mut tool = example("a.b", Effect::proven(true));
            (tool.source, tool.wire_name) = (source, wire_name.to_owned());
            let call = ToolInvocation::new("c".parse().unwrap(), "a.b", "{}");
            GateView::new(&tool, &call, None).is_mcp()
        };
        assert!(is_mcp(ToolSource::Mcp, "a_b"));
        assert!(is_mcp(ToolSource::Plugin, "mcp__a_b"));
        for name in ["a_b", "mcp_a", "a_mcp__b"] {
            assert!(!is_mcp(ToolSource::Builtin, name), "{name}");
        }
    }
}
