//! Policy, checked and compiled once: what `judge` and `explain` go by.
//!
//! Never changes: other settings make another one, with another revision.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::assessor::{EffectsAssessor, RiskAssessor};
use super::keys::ToolKeys;
use super::pattern::PatternError;
use super::rules::{RULE_NAME_MAX_LEN, RULE_REASON_MAX_LEN, Rule};
use super::settings::{PolicySettings, RuleAction};
use crate::contract::arguments::canonical;
use crate::contract::ids::Digest;

/// Most rules, and most entries of gate keys: each call may meet all of them.
pub const RULES_MAX_LEN: usize = 1000;
/// Most globs in all: each may be compiled to an expression of its own.
pub(super) const GLOBS_MAX_LEN: usize = 5000;

/// Why settings are no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It would match every call.
    #[error("{rule} has no condition; to match every call, write `tool = \"*\"`")]
    NoCondition {
        /// The rule's label.
        rule: String,
    },
    /// It would match no call.
    #[error("`{condition}` of {rule} is an empty list, which nothing matches")]
    EmptyList {
        /// The rule's label.
        rule: String,
        /// The key of the condition.
        condition: String,
    },
    /// A glob isn't one.
    #[error("`{pattern}` in `{condition}` of {rule} is no glob: {why}")]
    Pattern {
        /// The rule's label.
        rule: String,
        /// The key of the condition.
        condition: String,
        /// The glob, escaped and clipped.
        pattern: String,
        /// What is wrong with it.
        why: PatternError,
    },
    /// `--yes` means nothing where nobody is asked.
    #[error("{rule} sets `yes`, which goes with `action = \"ask\"` alone")]
    Yes {
        /// The rule's label.
        rule: String,
    },
    /// A name nobody could read, or none.
    #[error("the name of rule {place} has {len} bytes, expected 1 to {RULE_NAME_MAX_LEN}")]
    Name {
        /// Its place, counted from one.
        place: usize,
        /// The length in bytes.
        len: usize,
    },
    /// A name that doesn't tell two rules apart.
    #[error("two rules are called {rule}; give one another name")]
    NameTwice {
        /// The label of both.
        rule: String,
    },
    /// A reason nobody would read.
    #[error("the reason of {rule} has {len} bytes, and the longest has {RULE_REASON_MAX_LEN}")]
    Reason {
        /// The rule's label.
        rule: String,
        /// The length in bytes.
        len: usize,
    },
    /// More than each call should have to meet.
    #[error("policy has {len} {what}, and the most is {max}")]
    TooMany {
        /// `rules`, `entries of gate keys` or `globs`.
        what: &'static str,
        /// How many there are.
        len: usize,
        /// How many there may be.
        max: usize,
    },
    /// The settings have no canonical form to take a revision of.
    #[error("policy can't be written as JSON: {0}")]
    Revision(String),
}

/// The rules in force.
#[derive(Clone)]
pub struct Policy {
    pub(super) enabled: bool,
    pub(super) keys: Vec<ToolKeys>,
    /// Rules that deny: any that matches holds.
    pub(super) denying: Vec<Rule>,
    /// Rules that ask or allow: the first that matches holds.
    pub(super) ordered: Vec<Rule>,
    pub(super) assessor: Arc<dyn RiskAssessor>,
    revision: Digest,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("enabled", &self.enabled)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

impl Policy {
    /// Checks and compiles settings; SMART goes by [`EffectsAssessor`].
    ///
    /// # Errors
    /// The first setting that can't be meant: see [`PolicyError`].
    pub fn new(settings: &PolicySettings) -> Result<Self, PolicyError> {
        check_counts(settings)?;
        let keys = settings.keys.iter().zip(1..).map(|(key, place)| ToolKeys::new(key, place));
        let rules = settings.rules.iter().zip(1..).map(|(rule, place)| Rule::new(rule, place));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let mut labels = BTreeSet::new();
        if let Some(twin) = rules.iter().find(|rule| !labels.insert(rule.label.as_str())) {
            return Err(PolicyError::NameTwice { rule: twin.label.clone() });
        }
        let (denying, ordered) =
            rules.into_iter().partition(|rule| rule.action == RuleAction::Deny);
        Ok(Self {
            enabled: settings.enabled,
            keys,
            denying,
            ordered,
            assessor: Arc::new(EffectsAssessor),
            revision: revision(settings)?,
        })
    }

    /// The same policy with another assessor for level SMART. The revision stays: an assessor can
    /// only add questions, and an answer to one is good whoever raised it.
    #[must_use]
    pub fn with_assessor(mut self, assessor: Arc<dyn RiskAssessor>) -> Self {
        self.assessor = assessor;
        self
    }

    /// Whether gate and approvals are consulted (B8).
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The SHA-256 of the settings' canonical JSON; approvals are bound to it.
    pub fn revision(&self) -> Digest {
        self.revision
    }
}

fn revision(settings: &PolicySettings) -> Result<Digest, PolicyError> {
    let json =
        serde_json::to_value(settings).map_err(|error| PolicyError::Revision(error.to_string()))?;
    Ok(Digest::of(canonical::to_string(&json).as_bytes()))
}

fn check_counts(settings: &PolicySettings) -> Result<(), PolicyError> {
    let of_rules = settings.rules.iter().flat_map(|rule| {
        let named = [&rule.tool, &rule.caller, &rule.workspace].into_iter().flatten();
        named.chain(rule.arguments.values())
    });
    let globs = of_rules.chain(settings.keys.iter().map(|key| &key.tool));
    let counts = [
        ("rules", settings.rules.len(), RULES_MAX_LEN),
        ("entries of gate keys", settings.keys.len(), RULES_MAX_LEN),
        ("globs", globs.map(|globs| globs.0.len()).sum(), GLOBS_MAX_LEN),
    ];
    match counts.into_iter().find(|(_, len, max)| len > max) {
        Some((what, len, max)) => Err(PolicyError::TooMany { what, len, max }),
        None => Ok(()),
    }
}
