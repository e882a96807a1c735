//! One operator's rule, compiled: which calls it matches and what it says of them.
//!
//! Knows nothing of other rules: `stages` asks all that deny, and of the others the first match.

use std::collections::BTreeMap;

use super::narrow::is_at_most;
use super::pattern::Pattern;
use super::policy::PolicyError;
use super::settings::{EffectConditions, Globs, LevelName, RuleAction, RuleSettings};
use super::view::{GateView, ProvenEffects};
use crate::contract::arguments::{CheckedArguments, canonical};
use crate::contract::descriptor::ToolSource;
use crate::contract::escape::clipped_line;
use crate::contract::invocation::PermissionLevel;

/// Longest name of a rule, in bytes: reasons repeat it.
pub(super) const RULE_NAME_MAX_LEN: usize = 80;
/// Longest reason of a rule, in bytes: prompts and records repeat it.
pub(super) const RULE_REASON_MAX_LEN: usize = 500;
/// Longest part of a wrong setting that an error repeats, in bytes.
const SHOWN_MAX_LEN: usize = 80;

/// A compiled rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) action: RuleAction,
    /// What it is called in reasons.
    pub(super) label: String,
    /// What it says of a call that it matches, in one line.
    pub(super) reason: String,
    /// Whether `--yes` may stand for a person.
    pub(super) yes: bool,
    levels: Option<Vec<LevelName>>,
    source: Option<ToolSource>,
    effects: Option<EffectConditions>,
    tool: Option<Vec<Pattern>>,
    caller: Option<Vec<Pattern>>,
    workspace: Option<Vec<Pattern>>,
    arguments: Vec<(String, Vec<Pattern>)>,
}

/// What of a call is worked out once for all rules.
pub(super) struct Matching<'v> {
    pub(super) view: GateView<'v>,
    pub(super) proven: ProvenEffects,
    /// The id as text. Empty where policy has neither rule nor key, and nobody asks for it.
    pub(super) tool_id: String,
}

impl Rule {
    /// Compiles the rule at `place`, counted from one.
    pub(super) fn new(settings: &RuleSettings, place: usize) -> Result<Self, PolicyError> {
        let label = label(settings.name.as_deref(), place)?;
        check_shape(settings, &label)?;
        let globs = |condition: &str, globs: &Option<Globs>| match globs {
            Some(globs) => compile(globs, condition, &label).map(Some),
            None => Ok(None),
        };
        Ok(Self {
            action: settings.action,
            reason: reason(settings, &label),
            yes: settings.yes,
            levels: settings.level.clone(),
            source: settings.source,
            effects: (!settings.effects.is_empty()).then_some(settings.effects),
            tool: globs("tool", &settings.tool)?,
            caller: globs("caller", &settings.caller)?,
            workspace: globs("workspace", &settings.workspace)?,
            arguments: compile_arguments(&settings.arguments, &label)?,
            label,
        })
    }

    /// Whether the call meets every condition, the cheap ones first.
    pub(super) fn matches(&self, of: &Matching<'_>) -> bool {
        self.holds_at(of.view.level())
            && self.source.is_none_or(|source| source == of.view.tool().source)
            && self.effects.is_none_or(|wanted| effects_match(wanted, &of.proven))
            && any_matches(self.tool.as_deref(), Some(&of.tool_id))
            && any_matches(self.caller.as_deref(), of.view.caller())
            && any_matches(self.workspace.as_deref(), of.view.workspace())
            && self.arguments_match(of.view.arguments())
    }

    /// Closed downwards for what stops a call and upwards for what lets it through. With a plain
    /// list, a caller would leave a rule for FULL behind by asking for READ_ONLY.
    fn holds_at(&self, level: PermissionLevel) -> bool {
        self.levels.as_deref().is_none_or(|levels| {
            levels.iter().map(|name| PermissionLevel::from(*name)).any(|named| match self.action {
                RuleAction::Deny | RuleAction::Ask => is_at_most(level, named),
                RuleAction::Allow => is_at_most(named, level),
            })
        })
    }

    fn arguments_match(&self, arguments: Option<&CheckedArguments>) -> bool {
        let Some(arguments) = arguments else {
            // What isn't known must not be what lets a call through.
            return self.arguments.is_empty() || self.action != RuleAction::Allow;
        };
        let meets = |patterns: &[Pattern], text: &str| {
            patterns.iter().any(|pattern| match self.action {
                RuleAction::Deny | RuleAction::Ask => pattern.matches(text),
                RuleAction::Allow => pattern.admits(text),
            })
        };
        self.arguments.iter().all(|(name, patterns)| match arguments.value().get(name) {
            None => false,
            Some(serde_json::Value::String(text)) => meets(patterns, text),
            Some(other) => meets(patterns, &canonical::to_string(other)),
        })
    }
}

/// No patterns match everything, and no text matches no pattern.
fn any_matches(patterns: Option<&[Pattern]>, text: Option<&str>) -> bool {
    patterns.is_none_or(|patterns| {
        text.is_some_and(|text| patterns.iter().any(|pattern| pattern.matches(text)))
    })
}

fn effects_match(wanted: EffectConditions, proven: &ProvenEffects) -> bool {
    let meets = |wanted: Option<bool>, value: bool| wanted.is_none_or(|wanted| wanted == value);
    meets(wanted.read_only, proven.read_only)
        && meets(wanted.cannot_write_files, proven.cannot_write_files)
        && meets(wanted.closed_world, proven.closed_world)
        && meets(wanted.deterministic, proven.deterministic)
        && meets(wanted.destructive, proven.destructive)
        && meets(wanted.idempotent, proven.idempotent)
}

fn label(name: Option<&str>, place: usize) -> Result<String, PolicyError> {
    match name {
        None => Ok(format!("rule {place}")),
        Some(name) if name.is_empty() || name.len() > RULE_NAME_MAX_LEN => {
            Err(PolicyError::Name { place, len: name.len() })
        }
        Some(name) => Ok(format!("rule `{name}`")),
    }
}

fn reason(settings: &RuleSettings, label: &str) -> String {
    match (&settings.reason, settings.action) {
        (Some(reason), _) => format!("{label}: {reason}"),
        (None, RuleAction::Deny) => format!("{label} denies it"),
        (None, RuleAction::Ask) => format!("{label} asks"),
        (None, RuleAction::Allow) => format!("{label} allows it"),
    }
}

/// Refuses what would match more, or less, than its author can have meant.
fn check_shape(settings: &RuleSettings, label: &str) -> Result<(), PolicyError> {
    let rule = || label.to_owned();
    let conditions = [
        settings.tool.is_some(),
        settings.caller.is_some(),
        settings.workspace.is_some(),
        settings.level.is_some(),
        settings.source.is_some(),
        !settings.effects.is_empty(),
        !settings.arguments.is_empty(),
    ];
    if !conditions.contains(&true) {
        return Err(PolicyError::NoCondition { rule: rule() });
    }
    if settings.level.as_ref().is_some_and(Vec::is_empty) {
        return Err(PolicyError::EmptyList { rule: rule(), condition: "level".to_owned() });
    }
    if settings.yes && settings.action != RuleAction::Ask {
        return Err(PolicyError::Yes { rule: rule() });
    }
    match settings.reason.as_ref().map(String::len) {
        Some(len) if len > RULE_REASON_MAX_LEN => Err(PolicyError::Reason { rule: rule(), len }),
        _ => Ok(()),
    }
}

/// Compiles a condition of `rule`.
pub(super) fn compile(
    globs: &Globs,
    condition: &str,
    rule: &str,
) -> Result<Vec<Pattern>, PolicyError> {
    if globs.0.is_empty() {
        let (rule, condition) = (rule.to_owned(), condition.to_owned());
        return Err(PolicyError::EmptyList { rule, condition });
    }
    let one = |glob: &String| {
        Pattern::new(glob).map_err(|why| PolicyError::Pattern {
            rule: rule.to_owned(),
            condition: condition.to_owned(),
            pattern: clipped_line(glob, SHOWN_MAX_LEN),
            why,
        })
    };
    globs.0.iter().map(one).collect()
}

fn compile_arguments(
    arguments: &BTreeMap<String, Globs>,
    label: &str,
) -> Result<Vec<(String, Vec<Pattern>)>, PolicyError> {
    let one = |(name, globs): (&String, &Globs)| {
        let condition = format!("arguments.{}", clipped_line(name, SHOWN_MAX_LEN));
        Ok((name.clone(), compile(globs, &condition, label)?))
    };
    arguments.iter().map(one).collect()
}
