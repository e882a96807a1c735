//! Patterns over arguments: made once, matched often.
//!
//! Which arguments must match, and how each is read; a glob itself is `gate::pattern`'s.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::ApprovalError;
use crate::contract::arguments::canonical;
use crate::contract::escape;
use crate::gate::pattern::Pattern as Glob;

/// Arguments that one pattern may name.
const NAMES_MAX: usize = 32;

/// A glob for each argument it names. All must match.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Vec<(String, Glob)>);

impl Pattern {
    /// Reads the globs. `*` and `?` stop at a `/`, `**` doesn't.
    ///
    /// # Errors
    /// No glob at all, too many, too long ones, or one that is none.
    pub(super) fn new(globs: &BTreeMap<String, String>) -> Result<Self, ApprovalError> {
        if globs.is_empty() {
            return Err(ApprovalError::Pattern("it names no argument".into()));
        }
        if globs.len() > NAMES_MAX {
            let reason =
                format!("it names {} arguments: expected at most {NAMES_MAX}", globs.len());
            return Err(ApprovalError::Pattern(reason));
        }
        let glob = |(name, text): (&String, &String)| Ok((name.clone(), glob(name, text)?));
        Ok(Self(globs.iter().map(glob).collect::<Result<_, ApprovalError>>()?))
    }

    /// Whether every named argument is there and matches: a string by its bare text, all else by
    /// its canonical JSON. With `strict`, a text that climbs by `..` matches only a glob that does
    /// so too: `src/**` must not let `src/../key` through.
    pub(super) fn matches(&self, arguments: &Map<String, Value>, strict: bool) -> bool {
        let is_in = |glob: &Glob, text: &str| {
            if strict { glob.admits(text) } else { glob.matches(text) }
        };
        let one = |(name, glob): &(String, Glob)| match arguments.get(name) {
            None => false,
            Some(Value::String(text)) => is_in(glob, text),
            Some(other) => is_in(glob, &canonical::to_string(other)),
        };
        self.0.iter().all(one)
    }

    /// The first named argument that isn't among these.
    pub(super) fn unknown_name(&self, arguments: &Map<String, Value>) -> Option<&str> {
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.into_iter().find(|name| !arguments.contains_key(*name))
    }
}

fn glob(name: &str, text: &str) -> Result<Glob, ApprovalError> {
    Glob::by_parts(text).map_err(|error| {
        let name = escape::clipped_line(name, 80);
        ApprovalError::Pattern(format!("the glob of `{name}` can't be used: {error}"))
    })
}
