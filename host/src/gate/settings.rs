//! What an operator writes of policy: the shape alone, which `config` embeds.
//!
//! Decides nothing: [`Policy::new`](super::policy::Policy::new) checks and compiles it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::contract::descriptor::ToolSource;
use crate::contract::invocation::PermissionLevel;

/// All of policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// Whether gate and approvals are consulted at all (B8). A caller's set of tools always is.
    pub enabled: bool,
    /// The rules. Any that denies holds wherever it stands; of the others the first match does.
    pub rules: Vec<RuleSettings>,
    /// The `gate.*` keys of tools. Every entry that names a tool holds for it.
    pub keys: Vec<KeySettings>,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self { enabled: true, rules: Vec::new(), keys: Vec::new() }
    }
}

/// The operator's `gate.*` keys of some tools (B14): `deny` before `require_approval` before
/// `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeySettings {
    /// Which tools, as globs on their ids.
    pub tool: Globs,
    /// They never run.
    #[serde(default)]
    pub deny: bool,
    /// Each call asks, at every level.
    #[serde(default)]
    pub require_approval: bool,
    /// A call runs where nothing else denies or asks.
    #[serde(default)]
    pub allow: bool,
}

/// What a rule does with a call that meets all its conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleAction {
    /// Refuses it.
    Deny,
    /// Asks a person, at every level.
    Ask,
    /// Lets it through where nothing else denies or asks.
    Allow,
}

/// One rule. It matches a call that meets every condition that is set, and has one at least.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleSettings {
    /// What it is called in reasons; its place in the list where it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    pub action: RuleAction,
    /// Globs on the tool's id, `<plugin>.<tool>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Globs>,
    /// Globs on the caller. A call without one never matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Globs>,
    /// Globs on the workspace. A call without one never matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Globs>,
    /// The caller's level. A rule that denies or asks holds at each lower level too and one that
    /// allows at each higher one, so that nobody gains by asking for less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Vec<LevelName>>,
    /// What is proven of the tool.
    #[serde(default, skip_serializing_if = "EffectConditions::is_empty")]
    pub effects: EffectConditions,
    /// Where the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ToolSource>,
    /// Top-level arguments by the names of the schema: globs over the bare text of a string, or
    /// over the canonical JSON of anything else. An absent argument never matches. A rule that
    /// allows doesn't match a text with `..` in its path unless its glob has that too or is `*`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Globs>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With `action = "ask"`: `--yes` may stand for a person.
    #[serde(default)]
    pub yes: bool,
}

/// Conditions on effects, each against what is proven. `true` of a harmless effect and `false` of
/// `destructive` match only where that is proven; their opposites match wherever it isn't.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EffectConditions {
    /// Changes nothing outside itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Has no writable folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_write_files: Option<bool>,
    /// Reaches nothing outside its file grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_world: Option<bool>,
    /// The same arguments always give the same answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
    /// May destroy what is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second identical call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

impl EffectConditions {
    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A level as a rule names it. Unlike a call's, an unknown one is an error: a misspelt condition
/// must not become another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LevelName {
    /// `READ_ONLY`.
    ReadOnly,
    /// `READ_WRITE`.
    ReadWrite,
    /// `SMART`.
    Smart,
    /// `FULL`.
    Full,
}

impl From<LevelName> for PermissionLevel {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::ReadOnly => Self::ReadOnly,
            LevelName::ReadWrite => Self::ReadWrite,
            LevelName::Smart => Self::Smart,
            LevelName::Full => Self::Full,
        }
    }
}

/// One glob or a list of them, of which any may match. Written as a string or a list of strings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Globs(pub Vec<String>);

impl From<&str> for Globs {
    fn from(one: &str) -> Self {
        Self(vec![one.to_owned()])
    }
}

impl<'de> Deserialize<'de> for Globs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Globs;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a glob or a list of globs")
            }
            fn visit_str<E: de::Error>(self, one: &str) -> Result<Globs, E> {
                Ok(Globs::from(one))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Globs, A::Error> {
                let mut globs = Vec::new();
                while let Some(glob) = list.next_element()? {
                    globs.push(glob);
                }
                Ok(Globs(globs))
            }
        }
        from.deserialize_any(OneOrMany)
    }
}
