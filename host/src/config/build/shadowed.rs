//! Finds rules that never decide, since another matches whatever they match.
//!
//! Cautious: where it can't tell, the rule is taken to count.

use crate::gate::{EffectConditions, Globs, Pattern, RuleAction, RuleSettings};

/// The rule that always wins over the one at `index`. A rule that denies wins wherever it stands;
/// of those that ask or allow the first does.
pub(super) fn shadow(rules: &[RuleSettings], index: usize) -> Option<usize> {
    let rule = rules.get(index)?;
    let wins = |(at, other): &(usize, &RuleSettings)| {
        let first = *at < index;
        let goes_before = match (other.action, rule.action) {
            (RuleAction::Deny, RuleAction::Deny) => first,
            (RuleAction::Deny, _) => true,
            (_, RuleAction::Deny) => false,
            _ => first,
        };
        *at != index && goes_before && covers(other, rule)
    };
    rules.iter().enumerate().find(wins).map(|(at, _)| at)
}

/// Whether `wide` matches every call that `narrow` matches.
fn covers(wide: &RuleSettings, narrow: &RuleSettings) -> bool {
    let same_way = (wide.action == RuleAction::Allow) == (narrow.action == RuleAction::Allow);
    let levels = match (&wide.level, &narrow.level) {
        (None, _) => true,
        (wide, narrow) => same_way && wide == narrow,
    };
    // A rule that allows never matches where the arguments aren't known, and others do.
    let unknown = same_way || wide.arguments.is_empty() || wide.action != RuleAction::Allow;
    levels
        && unknown
        && globs_cover(wide.tool.as_ref(), narrow.tool.as_ref())
        && globs_cover(wide.caller.as_ref(), narrow.caller.as_ref())
        && globs_cover(wide.workspace.as_ref(), narrow.workspace.as_ref())
        && (wide.source.is_none() || wide.source == narrow.source)
        && effects_cover(wide.effects, narrow.effects)
        && wide.arguments.iter().all(|(name, globs)| {
            narrow.arguments.get(name).is_some_and(|it| globs_cover(Some(globs), Some(it)))
        })
}

fn globs_cover(wide: Option<&Globs>, narrow: Option<&Globs>) -> bool {
    let Some(wide) = wide else { return true };
    let Some(narrow) = narrow else { return false };
    narrow.0.iter().all(|narrow| wide.0.iter().any(|wide| glob_covers(wide, narrow)))
}

/// Whether one glob matches all that another does: for certain, by their text.
fn glob_covers(wide: &str, narrow: &str) -> bool {
    let special = |text: &str| text.contains(['*', '?', '[', ']', '{', '}', '\\']);
    if wide == "*" || wide == narrow {
        return true;
    }
    if !special(narrow) {
        return Pattern::new(wide).is_ok_and(|wide| wide.matches(narrow));
    }
    // `files.*` covers `files.read*`: what begins with the longer begins with the shorter.
    match (wide.strip_suffix('*'), narrow.strip_suffix('*')) {
        (Some(wide), Some(narrow)) => {
            !special(wide) && !special(narrow) && narrow.starts_with(wide)
        }
        _ => false,
    }
}

fn effects_cover(wide: EffectConditions, narrow: EffectConditions) -> bool {
    let covers = |wide: Option<bool>, narrow: Option<bool>| wide.is_none() || wide == narrow;
    covers(wide.read_only, narrow.read_only)
        && covers(wide.cannot_write_files, narrow.cannot_write_files)
        && covers(wide.closed_world, narrow.closed_world)
        && covers(wide.deterministic, narrow.deterministic)
        && covers(wide.destructive, narrow.destructive)
        && covers(wide.idempotent, narrow.idempotent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(action: RuleAction, tool: &str) -> RuleSettings {
        RuleSettings {
            name: None,
            action,
            tool: Some(tool.into()),
            caller: None,
            workspace: None,
            level: None,
            effects: EffectConditions::default(),
            source: None,
            arguments: std::collections::BTreeMap::new(),
            reason: None,
            yes: false,
        }
    }

    #[test]
    fn a_rule_behind_a_wider_one_never_decides() {
        use RuleAction::{Allow, Ask, Deny};
        let rows = [
            ((Ask, "files.*"), (Allow, "files.read"), Some(0)),
            ((Ask, "files.*"), (Allow, "files.read-*"), Some(0)),
            ((Allow, "files.read"), (Ask, "files.*"), None),
            ((Allow, "*"), (Deny, "files.write"), None),
            ((Deny, "*"), (Deny, "files.write"), Some(0)),
            ((Ask, "files.?"), (Ask, "files.*"), None),
            ((Ask, "files.*"), (Ask, "search.*"), None),
        ];
        for (first, second, expected) in rows {
            let rules = [rule(first.0, first.1), rule(second.0, second.1)];
            assert_eq!(shadow(&rules, 1), expected, "{first:?} {second:?}");
            assert_eq!(shadow(&rules, 0), None, "{first:?} {second:?}");
        }
        let rules = [rule(Allow, "files.write"), rule(Deny, "files.*")];
        assert_eq!(shadow(&rules, 0), Some(1), "a denial wins wherever it stands");
    }

    #[test]
    fn a_condition_more_makes_a_rule_narrower() {
        let wide = rule(RuleAction::Ask, "files.*");
        let mut narrow = rule(RuleAction::Ask, "files.write");
        narrow.arguments.insert("path".into(), "*.env".into());
        narrow.caller = Some("ci".into());
        narrow.effects.read_only = Some(false);
        assert_eq!(shadow(&[wide.clone(), narrow.clone()], 1), Some(0));
        assert_eq!(shadow(&[narrow.clone(), wide.clone()], 1), None);
        for change in [
            |rule: &mut RuleSettings| rule.arguments = [("path".into(), "x".into())].into(),
            |rule: &mut RuleSettings| rule.workspace = Some("w".into()),
            |rule: &mut RuleSettings| rule.effects.destructive = Some(true),
            |rule: &mut RuleSettings| rule.level = Some(vec![crate::gate::LevelName::Full]),
            |rule: &mut RuleSettings| {
                rule.source = Some(crate::contract::descriptor::ToolSource::Mcp)
            },
        ] {
            let mut first = wide.clone();
            change(&mut first);
            assert_eq!(shadow(&[first, narrow.clone()], 1), None);
        }
    }
}
