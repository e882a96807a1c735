//! What a tool is: made once when its plugin is loaded, never changed while it is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::effects::Effects;
use super::ids::{Digest, PluginName, ToolId};
use super::limits::Limits;

/// Where a tool's definition comes from (A1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// Ships with belljar.
    Builtin,
    /// A component the operator loaded.
    Plugin,
    /// An upstream MCP server.
    Mcp,
}

/// Where a call runs (A2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolExecutor {
    /// This host.
    Server,
    /// The connected client.
    Desktop,
    /// An upstream MCP server.
    McpServer,
}

/// What stands between the tool and the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// A fresh wasm sandbox for each call.
    Sandbox,
    /// A process.
    Process,
    /// Nothing.
    None,
}

/// The build a tool belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginIdentity {
    /// The plugin's name.
    pub name: PluginName,
    /// The version it claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The SHA-256 of the component's bytes.
    pub digest: Digest,
}

/// Whether calls of a tool may run beside others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParallelRule {
    /// Unsafe to run beside others, by its own tag.
    pub sequential: bool,
    /// Arguments whose equal values keep calls apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
}

/// What a plugin says it wants. Grants nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// `http`, `dir`, `env` or `secret`.
    pub kind: String,
    /// Host and methods, mode, or name.
    pub what: String,
    /// The plugin's reason, unescaped.
    pub why: String,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescriptor {
    /// `<plugin>.<tool>`.
    pub id: ToolId,
    /// The name models use: `[a-zA-Z0-9_-]`, at most 64 characters.
    pub wire_name: String,
    /// A short name for people, a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does: a claim where the plugin says it, generated otherwise. Unescaped.
    pub description: String,
    /// Whether `description` is the plugin's own.
    pub documented: bool,
    /// Where the definition comes from.
    pub source: ToolSource,
    /// Where a call runs.
    pub executor: ToolExecutor,
    /// What stands between the tool and the machine.
    pub isolation: Isolation,
    /// The upstream server, for MCP tools only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_id: Option<u64>,
    /// The upstream name, for MCP tools only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_name: Option<String>,
    /// The build it belongs to.
    pub plugin: PluginIdentity,
    /// JSON Schema 2020-12 of the arguments: always `type: object`.
    pub input_schema: Value,
    /// JSON Schema 2020-12 of the answer, where it has one: always `type: object`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Arguments that show its use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    /// What it can do to the world.
    pub effects: Effects,
    /// What it says it wants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Whether it may run beside others.
    pub parallel: ParallelRule,
    /// `gate.require_approval`, by the tool's own `@ask`.
    pub requires_approval: bool,
    /// Whether it is a question to a person: every call asks one, whose answer is its result, and
    /// nothing runs. Only the host's own tools are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks_a_person: bool,
    /// The bounds of its calls, each with its origin.
    pub limits: Limits,
}

/// All that is known of a tool by its name alone (A7, A10 step 3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTool {
    /// The name that was asked for.
    pub name: String,
    /// `builtin`.
    pub source: ToolSource,
    /// `server`.
    pub executor: ToolExecutor,
}

impl NamedTool {
    /// The default of source A: `{name, builtin, server}`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), source: ToolSource::Builtin, executor: ToolExecutor::Server }
    }
}

/// A tool that tests need, all of whose effects are `effect`.
#[cfg(test)]
pub(crate) fn example(id: &str, effect: super::effects::Effect) -> ToolDescriptor {
    let id: ToolId = id.parse().unwrap();
    ToolDescriptor {
        wire_name: format!("{}_{}", id.plugin, id.tool),
        title: None,
        description: "does it".into(),
        documented: true,
        source: ToolSource::Plugin,
        executor: ToolExecutor::Server,
        isolation: Isolation::Sandbox,
        server_id: None,
        original_name: None,
        plugin: PluginIdentity {
            name: id.plugin.clone(),
            version: None,
            digest: Digest::of(b"plugin"),
        },
        id,
        input_schema: serde_json::json!({"type": "object"}),
        output_schema: None,
        examples: Vec::new(),
        effects: Effects {
            read_only: effect,
            cannot_write_files: effect,
            closed_world: effect,
            deterministic: effect,
            destructive: effect,
            idempotent: effect,
        },
        needs: Vec::new(),
        parallel: ParallelRule { sequential: false, locks: Vec::new() },
        requires_approval: false,
        asks_a_person: false,
        limits: Limits::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::effects::Effect;

    #[test]
    fn a1_a2_sources_and_executors_have_the_sources_names() {
        let sources = [ToolSource::Builtin, ToolSource::Plugin, ToolSource::Mcp];
        let json = serde_json::to_string(&sources).unwrap();
        assert_eq!(json, r#"["builtin","plugin","mcp"]"#);
        let executors = [ToolExecutor::Server, ToolExecutor::Desktop, ToolExecutor::McpServer];
        let json = serde_json::to_string(&executors).unwrap();
        assert_eq!(json, r#"["server","desktop","mcp-server"]"#);
    }

    #[test]
    fn a3_only_an_upstream_tool_carries_its_server_and_original_name() {
        let ours = example("a.b", Effect::proven(true));
        let upstream = ToolDescriptor {
            source: ToolSource::Mcp,
            server_id: Some(7),
            original_name: Some("b!".to_owned()),
            ..ours.clone()
        };
        let ours = serde_json::to_value(ours).unwrap();
        assert!(ours.get("serverId").is_none() && ours.get("originalName").is_none(), "{ours}");
        let upstream = serde_json::to_value(upstream).unwrap();
        assert_eq!((&upstream["serverId"], &upstream["originalName"]), (&7.into(), &"b!".into()));
    }

    #[test]
    fn a7_a_tool_known_by_name_alone_is_builtin_and_runs_here() {
        let named = serde_json::to_string(&NamedTool::new("x")).unwrap();
        assert_eq!(named, r#"{"name":"x","source":"builtin","executor":"server"}"#);
    }
}
