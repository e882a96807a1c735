//! What a call asks (source A's `ToolInvocation`).
//!
//! `tool_name` and `arguments_json` are the request's; everything else comes from the frontend's
//! authenticated context, which a request may only narrow.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::CallId;

/// How far a caller is trusted (A15).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PermissionLevel {
    /// Asks for all that isn't proven read-only.
    #[default]
    ReadOnly,
    /// Also lets through what stays inside file grants.
    ReadWrite,
    /// Asks where the risk assessor flags.
    Smart,
    /// Never asks.
    Full,
}

impl PermissionLevel {
    /// Reads a level; an unknown or missing one is `READ_ONLY` (A15).
    pub fn parse_or_read_only(text: Option<&str>) -> Self {
        match text {
            Some("FULL") => Self::Full,
            Some("SMART") => Self::Smart,
            Some("READ_WRITE") => Self::ReadWrite,
            _ => Self::ReadOnly,
        }
    }
}

/// A tool that only the caller's session knows (A10 step 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTool {
    /// The name models use for it.
    pub name: String,
    /// Its descriptor, where the instance has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<super::descriptor::NamedTool>,
}

/// One request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvocation {
    /// Names the call; the result carries it back.
    pub call_id: CallId,
    /// A tool id or a wire name.
    pub tool_name: String,
    /// The arguments as they came: parsed once, by the engine.
    pub arguments_json: String,
    /// Source A's execution mode, passed through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<String>,
    /// Who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The session the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The user the caller acts for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The user whose rights the tool runs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_user_id: Option<String>,
    /// The workspace grants are made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// How far the caller is trusted.
    #[serde(default)]
    pub permission_level: PermissionLevel,
    /// The tools the caller may use, as ids or wire names; `None` means all (A14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that only this session knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session_tools: Vec<SessionTool>,
    /// A tighter wall-clock bound for the whole call than the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Handed to the guest, so that it can tell a repeated call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// W3C trace context of the request, passed through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<String>,
}

impl ToolInvocation {
    /// A call with nothing known of its caller, at the lowest level.
    pub fn new(
        call_id: CallId,
        tool_name: impl Into<String>,
        arguments_json: impl Into<String>,
    ) -> Self {
        Self {
            call_id,
            tool_name: tool_name.into(),
            arguments_json: arguments_json.into(),
            execution_mode: None,
            caller: None,
            session_id: None,
            user_id: None,
            execution_user_id: None,
            workspace: None,
            permission_level: PermissionLevel::ReadOnly,
            allowed_tools: None,
            session_tools: Vec::new(),
            timeout: None,
            idempotency_key: None,
            trace_parent: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_invocation_uses_the_sources_names() {
        let call = ToolInvocation::new("c1".parse().unwrap(), "files.read", "{}");
        let json = serde_json::to_value(&call).unwrap();
        assert_eq!(json["callId"], "c1");
        assert_eq!(json["toolName"], "files.read");
        assert_eq!(json["argumentsJson"], "{}");
        assert!(json.get("sessionId").is_none(), "absent, never null: {json}");
        assert_eq!(serde_json::from_value::<ToolInvocation>(json).unwrap(), call);
    }

    #[test]
    fn a15_unknown_level_is_read_only() {
        for text in [None, Some(""), Some("full"), Some("ROOT")] {
            assert_eq!(PermissionLevel::parse_or_read_only(text), PermissionLevel::ReadOnly);
        }
        assert_eq!(PermissionLevel::parse_or_read_only(Some("FULL")), PermissionLevel::Full);
    }
}
