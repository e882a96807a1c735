//! What a call asks (source A's `ToolInvocation`).
//!
//! `tool_name` and `arguments_json` are the request's; everything else comes from the frontend's
//! authenticated context, which a request may only narrow.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::approval::CallerContext;
use super::ids::CallId;

/// How far a caller is trusted (A15). Any JSON reads as a level: what is none is `READ_ONLY`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", from = "Value")]
pub enum PermissionLevel {
    /// Asks for all that isn't proven read-only.
    #[default]
    ReadOnly,
    /// Lets through what stays inside its file grants, asks for what reaches further.
    ReadWrite,
    /// Asks where the risk assessor flags the call.
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

impl From<Value> for PermissionLevel {
    fn from(said: Value) -> Self {
        Self::parse_or_read_only(said.as_str())
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

/// What becomes of a call that needs a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// Declined at once: nobody can be asked here.
    #[default]
    Deny,
    /// Waits for the answer until the request expires.
    Wait,
    /// Waits a little, then answers `approval_pending`; the identical call, repeated after the
    /// answer, is admitted once.
    HandBack,
    /// The same without the wait: whoever calls asks a person itself and then repeats the call.
    HandBackAtOnce,
}

impl ApprovalMode {
    /// Whether a call ends as `approval_pending` and may be repeated.
    pub fn hands_back(self) -> bool {
        matches!(self, Self::HandBack | Self::HandBackAtOnce)
    }
}

/// One request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvocation {
    /// Names the call; the result carries it back.
    pub call_id: CallId,
    /// A tool id or a wire name.
    pub tool_name: String,
    /// The arguments as they came: parsed once, by the engine. Left out, empty or blank they are
    /// `{}`; null is none of these and is refused, here and as text.
    #[serde(default)]
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
    /// Source A's settings of the model, passed through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_config: Option<Value>,
    /// The tools the caller may use, as ids or wire names; `None` means all (A14).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that only this session knows.
    #[serde(default, deserialize_with = "null_is_none", skip_serializing_if = "Vec::is_empty")]
    pub session_tools: Vec<SessionTool>,
    /// A tighter wall-clock bound for the whole call than the tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// What becomes of it where a person has to be asked. The frontend's, never the request's.
    #[serde(default, skip_deserializing)]
    pub approval_mode: ApprovalMode,
    /// Handed to the guest, so that it can tell a repeated call. Scoped to caller, tool and build:
    /// a finished key gives its stored result, one in flight or with other arguments is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// W3C trace context of the request, passed through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_parent: Option<String>,
}

/// The source's optional fields are nullable.
fn null_is_none<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SessionTool>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl ToolInvocation {
    /// Who calls, for approvals and the audit log.
    pub fn context(&self) -> CallerContext {
        CallerContext {
            caller: self.caller.clone(),
            session_id: self.session_id.clone(),
            user_id: self.user_id.clone(),
            execution_user_id: self.execution_user_id.clone(),
            workspace: self.workspace.clone(),
            permission_level: self.permission_level,
        }
    }

    /// A call that somebody makes, at the level they have.
    pub fn of(
        caller: CallerContext,
        call_id: CallId,
        tool_name: impl Into<String>,
        arguments_json: impl Into<String>,
    ) -> Self {
        Self {
            caller: caller.caller,
            session_id: caller.session_id,
            user_id: caller.user_id,
            execution_user_id: caller.execution_user_id,
            workspace: caller.workspace,
            permission_level: caller.permission_level,
            ..Self::new(call_id, tool_name, arguments_json)
        }
    }

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
            model_config: None,
            allowed_tools: None,
            session_tools: Vec::new(),
            timeout: None,
            approval_mode: ApprovalMode::Deny,
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
    fn t18_omitted_arguments_are_none_and_null_is_refused() {
        let omitted = serde_json::json!({"callId": "c1", "toolName": "t"});
        let read: ToolInvocation = serde_json::from_value(omitted.clone()).unwrap();
        assert_eq!(read, ToolInvocation::new("c1".parse().unwrap(), "t", ""));
        let mut null = omitted;
        null["argumentsJson"] = Value::Null;
        let error = serde_json::from_value::<ToolInvocation>(null).unwrap_err();
        assert!(error.to_string().contains("null, expected a string"), "{error}");
    }

    #[test]
    fn a4_all_that_follows_the_arguments_may_be_null_or_passes_through() {
        let mut json = serde_json::json!({"callId": "c1", "toolName": "t", "argumentsJson": "{}"});
        let bare = ToolInvocation::new("c1".parse().unwrap(), "t", "{}");
        for name in [
            "executionMode",
            "sessionId",
            "userId",
            "executionUserId",
            "workspace",
            "permissionLevel",
            "modelConfig",
            "sessionTools",
        ] {
            json[name] = Value::Null;
        }
        assert_eq!(serde_json::from_value::<ToolInvocation>(json.clone()).unwrap(), bare);
        json["modelConfig"] = serde_json::json!({"model": "m", "temperature": 0.5});
        let read: ToolInvocation = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap()["modelConfig"], json["modelConfig"]);
    }

    #[test]
    fn a15_no_json_of_a_level_fails_or_raises_it() {
        for said in ["null", "7", "true", "[\"FULL\"]", "{\"FULL\":null}", "\"full\"", "\"ROOT\""] {
            let text = format!(
                r#"{{"callId":"c","toolName":"t","argumentsJson":"{{}}","permissionLevel":{said}}}"#
            );
            let read: ToolInvocation = serde_json::from_str(&text).unwrap();
            assert_eq!(read.permission_level, PermissionLevel::ReadOnly, "{said}");
        }
        for level in [
            PermissionLevel::ReadOnly,
            PermissionLevel::ReadWrite,
            PermissionLevel::Smart,
            PermissionLevel::Full,
        ] {
            let json = serde_json::to_value(level).unwrap();
            assert_eq!(serde_json::from_value::<PermissionLevel>(json).unwrap(), level);
        }
    }

    #[test]
    fn a15_unknown_level_is_read_only() {
        for text in [None, Some(""), Some("full"), Some("ROOT")] {
            assert_eq!(PermissionLevel::parse_or_read_only(text), PermissionLevel::ReadOnly);
        }
        assert_eq!(PermissionLevel::parse_or_read_only(Some("FULL")), PermissionLevel::Full);
    }
}
