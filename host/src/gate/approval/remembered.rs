//! Which calls a remembered answer covers.
//!
//! Narrow on purpose: what isn't surely the same is asked again. Reads no store.

use std::collections::HashMap;

use super::pattern::Pattern;
use crate::contract::approval::{CallerContext, RememberScope, Remembered, RememberedVerdict};
use crate::contract::arguments::CheckedArguments;
use crate::contract::grants::GrantsRecord;
use crate::contract::ids::{Digest, ToolId};
use crate::storage::CLOCK_SLACK_MS;

/// A call, as far as remembered answers look at it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The tool.
    pub tool: &'a ToolId,
    /// The build it belongs to.
    pub plugin_digest: &'a Digest,
    /// Its arguments, as checked.
    pub arguments: &'a CheckedArguments,
    /// What it may use.
    pub grants: &'a GrantsRecord,
    /// Who makes it.
    pub caller: &'a CallerContext,
}

/// All remembered answers, by tool, with their patterns made.
#[derive(Debug, Default)]
pub struct RememberedSet(HashMap<ToolId, Vec<Rule>>);

#[derive(Debug)]
pub(super) struct Rule {
    remembered: Remembered,
    scope: Scope,
}

#[derive(Debug)]
enum Scope {
    All,
    Exactly(Digest),
    Matching(Pattern),
    /// A pattern that can't be read any more.
    Unreadable,
}

impl RememberedSet {
    /// Sorts by tool what the store gave, oldest first.
    pub fn new(all: Vec<Remembered>) -> Self {
        let mut by_tool: HashMap<ToolId, Vec<Rule>> = HashMap::new();
        for remembered in all {
            by_tool.entry(remembered.tool.clone()).or_default().push(Rule::new(remembered));
        }
        Self(by_tool)
    }

    /// Whether anything is remembered of a tool; where not, [`RememberedSet::find`] needs no asking.
    pub fn knows(&self, tool: &ToolId) -> bool {
        self.0.contains_key(tool)
    }

    /// The answer that covers a call: a denying one before any other, then the oldest.
    pub fn find(&self, call: &Asked<'_>, now_unix_ms: u64) -> Option<&Remembered> {
        let rules = self.0.get(call.tool)?;
        let covering = |verdict| {
            let mut rules = rules.iter().filter(move |rule| rule.remembered.verdict == verdict);
            rules.find(|rule| rule.covers(call, now_unix_ms))
        };
        let found =
            covering(RememberedVerdict::Deny).or_else(|| covering(RememberedVerdict::Allow))?;
        Some(&found.remembered)
    }

    /// The latest allowing answer that would cover a call, but for the build or the grants.
    pub(super) fn outdated(&self, call: &Asked<'_>, now_unix_ms: u64) -> Option<&Remembered> {
        let mut rules = self.0.get(call.tool)?.iter().rev().filter(|rule| {
            rule.remembered.verdict == RememberedVerdict::Allow
                && rule.is_for(call, now_unix_ms)
                && !rule.still_holds(call)
        });
        rules.next().map(|rule| &rule.remembered)
    }
}

impl Rule {
    pub(super) fn new(remembered: Remembered) -> Self {
        let scope = match &remembered.scope {
            RememberScope::Tool => Scope::All,
            RememberScope::Arguments => Scope::Exactly(remembered.arguments_hash),
            RememberScope::Pattern(globs) => {
                Pattern::new(globs).map_or(Scope::Unreadable, Scope::Matching)
            }
        };
        Self { remembered, scope }
    }

    /// Whether the answer stands for this call. One that refuses survives another build and other
    /// grants: who said never meant the tool.
    pub(super) fn covers(&self, call: &Asked<'_>, now_unix_ms: u64) -> bool {
        let refuses = self.remembered.verdict == RememberedVerdict::Deny;
        self.is_for(call, now_unix_ms) && (refuses || self.still_holds(call))
    }

    /// Tool, caller and user, time and arguments.
    fn is_for(&self, call: &Asked<'_>, now_unix_ms: u64) -> bool {
        let (remembered, caller) = (&self.remembered, call.caller);
        remembered.tool == *call.tool
            && remembered.caller == caller.caller
            && remembered.user_id == caller.user_id
            && remembered.execution_user_id == caller.execution_user_id
            && remembered.workspace == caller.workspace
            && (remembered.session_id.is_none() || remembered.session_id == caller.session_id)
            && self.is_in_time(now_unix_ms)
            && self.is_in_scope(call.arguments)
    }

    /// A clock that stands before the answer can't say whether it still holds, so nothing is let
    /// through by it.
    fn is_in_time(&self, now: u64) -> bool {
        let remembered = &self.remembered;
        let refuses = remembered.verdict == RememberedVerdict::Deny;
        remembered.expires_unix_ms.is_none_or(|expires| now < expires)
            && (refuses || remembered.created_unix_ms <= now.saturating_add(CLOCK_SLACK_MS))
    }

    fn is_in_scope(&self, arguments: &CheckedArguments) -> bool {
        let refuses = self.remembered.verdict == RememberedVerdict::Deny;
        match &self.scope {
            Scope::All => true,
            Scope::Exactly(hash) => *hash == arguments.hash(),
            Scope::Matching(pattern) => pattern.matches(arguments.value(), !refuses),
            Scope::Unreadable => refuses,
        }
    }

    /// The same build, with no more than it had.
    fn still_holds(&self, call: &Asked<'_>) -> bool {
        self.remembered.plugin_digest == *call.plugin_digest
            && call.grants.is_within(&self.remembered.grants)
    }
}
