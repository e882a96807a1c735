//! What is wrong with a plugin's words, without stopping anything by itself.
//!
//! `pack` and `check` treat a finding as an error, loading treats it as a warning. Must not decide
//! which of the two applies.

use std::fmt;

use crate::limits;

/// One thing that is wrong with what a plugin says of itself.
///
/// Both strings may hold text of the plugin: whoever shows them escapes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where: a function's path, an item's path below it after ` `, or a key of the section. Empty
    /// for the section as a whole.
    pub path: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// Collects findings up to [`limits::FINDINGS`] and counts the rest.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Finding>,
    left_out: usize,
}

impl Findings {
    pub(crate) fn add(&mut self, path: &str, message: impl Into<String>) {
        if self.kept.len() >= limits::FINDINGS {
            self.left_out += 1;
            return;
        }
        let path = shorten(path, limits::PATH_BYTES).to_owned();
        self.kept.push(Finding { path, message: message.into() });
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        let Self { mut kept, left_out } = self;
        if left_out > 0 {
            let message = format!("{left_out} more findings are not shown");
            kept.push(Finding { path: String::new(), message });
        }
        kept
    }
}

/// The start of `text`, at most `bytes` long and cut between characters.
pub(crate) fn shorten(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// Text of a plugin for a message: quoted, and never long.
pub(crate) fn quoted(text: &str) -> String {
    let short = shorten(text, 80);
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{short}{dots}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_beyond_the_limit_are_counted_not_kept() {
        let mut findings = Findings::default();
        for _ in 0..limits::FINDINGS + 7 {
            findings.add("p", "wrong");
        }
        let list = findings.into_vec();
        assert_eq!(list.len(), limits::FINDINGS + 1);
        assert_eq!(list.last().unwrap().to_string(), "7 more findings are not shown");
    }

    #[test]
    fn quoted_text_is_cut_between_characters() {
        let shown = quoted(&"é".repeat(100));
        assert_eq!(shown, format!("`{}…`", "é".repeat(40)));
    }
}
