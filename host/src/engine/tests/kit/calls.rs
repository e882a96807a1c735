//! Calls, and what people answer to them.

use crate::contract::approval::{ApprovalDecision, Approver, Channel, RememberScope};
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};

pub(in crate::engine::tests) fn ann() -> Approver {
    Approver { name: "ann".into(), channel: Channel::Terminal }
}

/// A call at level FULL, which is never asked about.
pub(in crate::engine::tests) fn call(id: &str, tool: &str, arguments: &str) -> ToolInvocation {
    let mut call = ToolInvocation::new(id.parse().unwrap(), tool, arguments);
    call.caller = Some("bot".into());
    call.session_id = Some("s1".into());
    call.permission_level = PermissionLevel::Full;
    call
}

/// A call of a tool that writes, at level READ_ONLY: a person is asked, and waited for.
pub(in crate::engine::tests) fn asking(id: &str, arguments: &str) -> ToolInvocation {
    let mut call = call(id, "fake.write", arguments);
    call.permission_level = PermissionLevel::ReadOnly;
    call.approval_mode = ApprovalMode::Wait;
    call
}

/// Like [`asking`], but hands back.
pub(in crate::engine::tests) fn handing_back(id: &str, arguments: &str) -> ToolInvocation {
    ToolInvocation { approval_mode: ApprovalMode::HandBack, ..asking(id, arguments) }
}

/// The same with an idempotency key.
pub(in crate::engine::tests) fn keyed(mut call: ToolInvocation, key: &str) -> ToolInvocation {
    call.idempotency_key = Some(key.to_owned());
    call
}

pub(in crate::engine::tests) fn always(scope: RememberScope) -> ApprovalDecision {
    ApprovalDecision::Always { scope, expires_unix_ms: None }
}

pub(in crate::engine::tests) fn deny(reason: &str) -> ApprovalDecision {
    ApprovalDecision::Deny { reason: Some(reason.to_owned()) }
}

pub(in crate::engine::tests) fn edit(arguments_json: &str) -> ApprovalDecision {
    ApprovalDecision::Edit { arguments_json: arguments_json.to_owned() }
}
