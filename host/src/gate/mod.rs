//! Decides whether a call may run. Sees the descriptor and the caller's context, runs nothing.
//!
//! For now by rule alone, in two steps: `refuse_unlisted`, by the allowed set, as soon as the name
//! is known; and `decide`, by the caller's level and what is proven of the tool, when the arguments
//! are. What would need a person is answered `Ask`, and whoever holds no approver must treat that
//! as no.

mod allowed;
mod level;

use crate::contract::decision::Decision;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::invocation::ToolInvocation;

pub use allowed::refuse_unlisted;

/// Whether a call of a tool that the caller's set holds may run.
pub fn decide(tool: &ToolDescriptor, call: &ToolInvocation) -> Decision {
    level::decide_by_level(tool, call.permission_level)
}
