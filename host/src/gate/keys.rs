//! The `gate.*` keys of a tool (B14): the operator's, and the one that a plugin may set.
//!
//! Source B gives no precedence for keys that disagree; here `deny` comes before
//! `require_approval` before `allow`, however many entries name the tool.

use super::pattern::Pattern;
use super::policy::PolicyError;
use super::rules::{Matching, compile};
use super::settings::KeySettings;
use super::stages::{Answer, Stage, StageAnswer};
use crate::contract::invocation::PermissionLevel;

/// One compiled entry.
#[derive(Debug, Clone)]
pub(super) struct ToolKeys {
    tool: Vec<Pattern>,
    deny: bool,
    require_approval: bool,
    allow: bool,
}

impl ToolKeys {
    /// Compiles the entry at `place`, counted from one.
    pub(super) fn new(settings: &KeySettings, place: usize) -> Result<Self, PolicyError> {
        Ok(Self {
            tool: compile(&settings.tool, "tool", &format!("gate keys {place}"))?,
            deny: settings.deny,
            require_approval: settings.require_approval,
            allow: settings.allow,
        })
    }
}

/// What the keys say. A plugin has one key, `@ask`, and level FULL doesn't hear it: that level
/// never asks by itself (A15). What the operator wrote holds at every level.
pub(super) fn answer_by_keys(keys: &[ToolKeys], of: &Matching<'_>) -> StageAnswer<'static> {
    let say = |answer, reason| StageAnswer::new(Stage::GateKeys, answer, reason);
    let (mut deny, mut require_approval, mut allow) = (false, false, false);
    for entry in keys {
        if entry.tool.iter().any(|pattern| pattern.matches(&of.tool_id)) {
            deny |= entry.deny;
            require_approval |= entry.require_approval;
            allow |= entry.allow;
        }
    }
    if deny {
        return say(Answer::Deny, "the operator denies the tool (gate.deny)");
    }
    if require_approval {
        return say(Answer::Ask, "the operator wants it approved (gate.require_approval)");
    }
    if of.view.tool().requires_approval && of.view.level() != PermissionLevel::Full {
        return say(Answer::Ask, "the tool asks to be approved (@ask)");
    }
    if allow {
        return say(Answer::Allow, "the operator allows the tool (gate.allow)");
    }
    say(Answer::Nothing, "no key is set")
}
