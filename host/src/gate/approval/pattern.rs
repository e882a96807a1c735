//! Patterns over arguments: made once, matched often.
//!
//! Matching takes time linear in the text, whatever the pattern.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value};

use super::error::ApprovalError;
use crate::contract::arguments::canonical;
use crate::contract::escape;

/// Arguments that one pattern may name.
const NAMES_MAX: usize = 32;
/// Bytes of one glob.
const GLOB_MAX_LEN: usize = 1024;

/// A glob for each argument it names. All must match.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Vec<(String, Glob)>);

#[derive(Debug, Clone)]
struct Glob {
    matcher: GlobMatcher,
    climbs: bool,
}

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
        let one = |(name, glob): &(String, Glob)| match arguments.get(name) {
            None => false,
            Some(Value::String(text)) => glob.matches(text, strict),
            Some(other) => glob.matches(&canonical::to_string(other), strict),
        };
        self.0.iter().all(one)
    }

    /// The first named argument that isn't among these.
    pub(super) fn unknown_name(&self, arguments: &Map<String, Value>) -> Option<&str> {
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.into_iter().find(|name| !arguments.contains_key(*name))
    }
}

impl Glob {
    fn matches(&self, text: &str, strict: bool) -> bool {
        (self.climbs || !strict || !climbs(text)) && self.matcher.is_match(text)
    }
}

fn climbs(text: &str) -> bool {
    text.split(['/', '\\']).any(|part| part == "..")
}

fn glob(name: &str, text: &str) -> Result<Glob, ApprovalError> {
    let name = escape::clipped_line(name, 80);
    if text.len() > GLOB_MAX_LEN {
        let reason = format!("the glob of `{name}` is longer than {GLOB_MAX_LEN} bytes");
        return Err(ApprovalError::Pattern(reason));
    }
    let made = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
    let made = made.map_err(|error| {
        let reason = format!("the glob of `{name}` is none: {}", error.kind());
        ApprovalError::Pattern(reason)
    })?;
    Ok(Glob { matcher: made.compile_matcher(), climbs: climbs(text) })
}
