//! Policy: the gate's own settings, checked by the gate rule by rule.
//!
//! Decides nothing.

use std::collections::BTreeMap;

use super::super::value::Value;
use super::shadowed::shadow;
use super::{Build, Reader, texts};
use crate::contract::descriptor::ToolSource;
use crate::gate::{
    EffectConditions, Globs, LevelName, Policy, PolicySettings, RuleAction, RuleSettings,
};

impl Build<'_> {
    pub(super) fn policy(&mut self, policy: Reader<'_>) -> PolicySettings {
        let enabled = policy.flag("enabled").unwrap_or(true);
        if !enabled {
            let line = policy.line("enabled");
            let text = "`policy.enabled` is `false`: every call runs, no rule counts, nobody is \
                        asked";
            self.find(line, text);
        }
        let (mut rules, mut lines, mut sound) = (Vec::new(), Vec::new(), true);
        for ((_, line, reader), place) in policy.each("rules").into_iter().zip(1..) {
            // What is left of a rule that is wrong isn't what its author meant.
            let Some(rule) = rule(reader).filter(|_| reader.table.is_sound()) else {
                sound = false;
                continue;
            };
            sound &= self.one_rule(&rule, place, line);
            rules.push(rule);
            lines.push(line);
        }
        for (index, rule) in rules.iter().enumerate() {
            let line = lines.get(index).copied().unwrap_or(1);
            if let Some(earlier) = shadow(&rules, index).filter(|_| enabled) {
                let other = lines.get(earlier).copied().unwrap_or(1);
                let name = label(rule, index + 1);
                self.find(
                    line,
                    format!("{name} never decides: the rule of line {other} always wins"),
                );
            }
        }
        let settings = PolicySettings { enabled, rules, keys: Vec::new() };
        if sound && let Err(error) = Policy::new(&settings) {
            // What is left is between rules, such as a name that two have.
            let line = lines.first().copied().unwrap_or(1);
            self.problems.push(line, format!("`policy.rules`: {error}"));
        }
        settings
    }

    /// Whether the gate takes the rule by itself. Its place is counted from one.
    fn one_rule(&mut self, rule: &RuleSettings, place: usize, line: u32) -> bool {
        let mut alone = rule.clone();
        // Alone it is the first: without a name of its own it would be called so.
        alone.name.get_or_insert_with(|| format!("policy.rules[{place}]"));
        let settings = PolicySettings { rules: vec![alone], ..PolicySettings::default() };
        let error = Policy::new(&settings).err();
        if let Some(error) = &error {
            self.problems.push(line, format!("`policy.rules[{place}]`: {error}"));
        }
        error.is_none()
    }
}

fn label(rule: &RuleSettings, place: usize) -> String {
    match &rule.name {
        Some(name) => format!("the rule `{}`", super::super::error::shown(name)),
        None => format!("`policy.rules[{place}]`"),
    }
}

fn rule(rule: Reader<'_>) -> Option<RuleSettings> {
    let globs = |key: &str| rule.texts(key).map(Globs);
    let level = rule.texts("level");
    Some(RuleSettings {
        name: rule.text("name"),
        action: match rule.text("action")?.as_str() {
            "deny" => RuleAction::Deny,
            "ask" => RuleAction::Ask,
            "allow" => RuleAction::Allow,
            _ => return None,
        },
        tool: globs("tool"),
        caller: globs("caller"),
        workspace: globs("workspace"),
        level: level.map(|names| names.iter().filter_map(|name| level_name(name)).collect()),
        effects: effects(rule.under("effects")),
        source: rule.text("source").and_then(|name| source(&name)),
        arguments: arguments(rule),
        reason: rule.text("reason"),
        yes: rule.flag("yes").unwrap_or(false),
    })
}

fn level_name(name: &str) -> Option<LevelName> {
    match name {
        "READ_ONLY" => Some(LevelName::ReadOnly),
        "READ_WRITE" => Some(LevelName::ReadWrite),
        "SMART" => Some(LevelName::Smart),
        "FULL" => Some(LevelName::Full),
        _ => None,
    }
}

fn source(name: &str) -> Option<ToolSource> {
    match name {
        "builtin" => Some(ToolSource::Builtin),
        "plugin" => Some(ToolSource::Plugin),
        "mcp" => Some(ToolSource::Mcp),
        _ => None,
    }
}

fn effects(effects: Reader<'_>) -> EffectConditions {
    EffectConditions {
        read_only: effects.flag("read_only"),
        cannot_write_files: effects.flag("cannot_write_files"),
        closed_world: effects.flag("closed_world"),
        deterministic: effects.flag("deterministic"),
        destructive: effects.flag("destructive"),
        idempotent: effects.flag("idempotent"),
    }
}

fn arguments(rule: Reader<'_>) -> BTreeMap<String, Globs> {
    let entries = rule.entries("arguments").iter();
    let globs = |value: &Value| texts(value).map(Globs);
    entries.filter_map(|(name, node)| Some((name.clone(), globs(&node.value)?))).collect()
}
