//! Decides whether a call may run. Sees the descriptor, canonical arguments and the caller's
//! context; runs nothing.
//!
//! In two steps: `refuse_unlisted`, by the allowed set, as soon as the name is known; and `judge`,
//! by all stages, when the arguments are. What needs a person is answered `Ask`, and whoever holds
//! no approver must treat that as no.

mod allowed;
pub mod approval;
mod assessor;
mod explain;
mod keys;
mod level;
mod narrow;
mod pattern;
mod policy;
mod rules;
mod settings;
mod stages;
#[cfg(test)]
mod tests;
mod view;

pub use allowed::refuse_unlisted;
pub use assessor::{AssessorError, EffectsAssessor, Risk, RiskAssessor};
pub use explain::{Explanation, apply_remembered, explain};
pub use narrow::{narrow_level, narrow_tools};
pub use pattern::{Pattern, PatternError};
pub use policy::{Policy, PolicyError, RULES_MAX_LEN};
pub use settings::{
    EffectConditions, Globs, KeySettings, LevelName, PolicySettings, RuleAction, RuleSettings,
};
pub use stages::{Answer, Stage, StageAnswer, judge};
pub use view::{GateView, ProvenEffects};
