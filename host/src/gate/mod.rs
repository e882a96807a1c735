//! Decides whether a call may run. Sees the descriptor and the caller's context, runs nothing.
//!
//! For now by rule alone: the allowed set, the caller's level, and what is proven of the tool. What
//! would need a person is answered `Ask`, and whoever holds no approver must treat that as no.

mod allowed;
mod level;

use crate::contract::decision::Decision;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::invocation::ToolInvocation;

pub use allowed::refuse_unlisted;

/// The stages in their order: the first that refuses decides, since any deny wins.
pub fn decide(tool: &ToolDescriptor, call: &ToolInvocation) -> Decision {
    let names = [tool.id.to_string(), tool.wire_name.clone()];
    if let Some(refusal) = refuse_unlisted(&names, call.allowed_tools.as_deref()) {
        return Decision::Deny(refusal);
    }
    level::decide_by_level(tool, call.permission_level)
}
