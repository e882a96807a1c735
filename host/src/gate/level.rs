//! The caller's permission level against what is proven of the tool. Claims count for nothing here.

use crate::contract::decision::{ApprovalMark, ApprovedBy, Decision};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::invocation::PermissionLevel;

/// FULL never asks (A15); every lower level lets through what is proven read-only and asks for the
/// rest, which is no less than A15 wants of each of them.
pub(super) fn decide_by_level(tool: &ToolDescriptor, level: PermissionLevel) -> Decision {
    if level == PermissionLevel::Full {
        return allow("the caller's level is FULL");
    }
    if tool.requires_approval {
        return Decision::Ask("the tool asks to be approved (@ask)".to_owned());
    }
    if tool.effects.read_only.is_proven() {
        return allow("the tool is proven read-only");
    }
    Decision::Ask("the tool is not proven read-only".to_owned())
}

fn allow(reason: &str) -> Decision {
    Decision::Allow(ApprovalMark { by: ApprovedBy::Rule, reason: reason.to_owned() })
}
