//! The caller's permission level against what is proven of the tool (A15).
//!
//! Levels are presets: each answers for every call, from proofs and never from a claim that speaks
//! for the tool, but for a claim to be read-only that the sandbox holds to GET and HEAD.

use super::assessor::{RiskAssessor, find_risk};
use super::rules::Matching;
use super::stages::{Answer, Stage, StageAnswer};
use crate::contract::invocation::PermissionLevel;

/// What the level says:
///
/// | level | lets through | asks |
/// |---|---|---|
/// | READ_ONLY | what is proven read-only | all else |
/// | READ_WRITE | what stays inside its file grants | what may change things beyond them, MCP tools, whatever is unconfined |
/// | SMART | what the risk assessor doesn't flag | what it flags or fails on, MCP tools |
/// | FULL | everything | never, by itself |
///
/// FULL is silent about a plugin's own `@ask` too; what the operator wrote (a rule, a key) holds at
/// every level. SMART doesn't ask the assessor about what is proven read-only: READ_ONLY, to which
/// a caller may always narrow, lets that through.
pub(super) fn answer_by_level<'p>(
    assessor: &dyn RiskAssessor,
    of: &Matching<'_>,
) -> StageAnswer<'p> {
    let say = |answer, reason| StageAnswer::new(Stage::Level, answer, reason);
    let level = of.view.level();
    if level == PermissionLevel::Full {
        return say(Answer::Allow, "the caller's level is FULL");
    }
    if of.view.is_mcp() {
        return say(Answer::Ask, "tools of an MCP server need an approval below level FULL");
    }
    if of.proven.read_only {
        return say(Answer::Allow, "the tool is proven read-only");
    }
    match level {
        PermissionLevel::Smart => match find_risk(assessor, &of.view) {
            Some(risk) => StageAnswer::new(Stage::Level, Answer::Ask, risk),
            None => say(Answer::Allow, "the risk assessor finds nothing"),
        },
        PermissionLevel::ReadWrite if of.proven.closed_world => {
            say(Answer::Allow, "the tool stays inside its file grants")
        }
        PermissionLevel::ReadWrite if of.view.claims_read_only() => {
            say(Answer::Nothing, "the tool reaches further, and only to read")
        }
        PermissionLevel::ReadWrite => {
            say(Answer::Ask, "the tool is not proven to stay inside its file grants")
        }
        PermissionLevel::ReadOnly | PermissionLevel::Full => {
            say(Answer::Ask, "the tool is not proven read-only")
        }
    }
}
