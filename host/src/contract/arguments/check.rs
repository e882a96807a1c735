//! The port to whoever knows what a tool expects, and the words for what it found.
//!
//! The sandbox's codec plan implements the port; nothing here knows a type or a schema.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::escape;

/// How many failures a message lists before it only counts.
const LISTED_MAX: usize = 20;
/// Longest path and longest message of one failure in a message, in bytes.
const PART_MAX_LEN: usize = 400;

/// One thing that is wrong with the arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArgumentFailure {
    /// A JSON pointer (RFC 6901) to the value at fault; empty for the arguments as a whole.
    pub path: String,
    /// What is wrong and what was expected, as a lower-case fragment.
    pub message: String,
}

impl ArgumentFailure {
    /// A failure at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// Checks the arguments of one tool.
pub trait ArgumentCheck: Send + Sync {
    /// The arguments under the names of the tool's schema, each checked against its type.
    ///
    /// # Errors
    /// Every failure that was found, not only the first.
    fn check(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, Vec<ArgumentFailure>>;
}

/// Failures as one line: the first 20 in words, the rest as a count.
pub fn joined(failures: &[ArgumentFailure]) -> String {
    let mut parts: Vec<String> = failures.iter().take(LISTED_MAX).map(shown).collect();
    let unlisted = failures.len().saturating_sub(LISTED_MAX);
    if unlisted > 0 {
        parts.push(format!("and {unlisted} more"));
    }
    parts.join("; ")
}

fn shown(failure: &ArgumentFailure) -> String {
    let message = escape::clipped_line(&failure.message, PART_MAX_LEN);
    if failure.path.is_empty() {
        message
    } else {
        format!("`{}`: {message}", escape::clipped_line(&failure.path, PART_MAX_LEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_named_by_path() {
        let failures = [
            ArgumentFailure::new("/limit", "expected an integer, got `\"5\"`"),
            ArgumentFailure::new("", "`path` is missing"),
        ];
        assert_eq!(
            joined(&failures),
            "`/limit`: expected an integer, got `\"5\"`; `path` is missing"
        );
    }

    #[test]
    fn many_long_failures_make_a_bounded_message() {
        let failure = ArgumentFailure::new("/k".repeat(1 << 16), "é\n".repeat(1 << 16));
        let message = joined(&vec![failure; 25]);
        assert!(message.ends_with("; and 5 more"), "{message}");
        assert!(message.len() < LISTED_MAX * (2 * PART_MAX_LEN + 8) + 20, "{}", message.len());
        assert!(!message.contains('\n'));
    }

    #[test]
    fn twenty_failures_need_no_count() {
        let failures = vec![ArgumentFailure::new("/a", "no"); LISTED_MAX];
        assert!(!joined(&failures).contains("more"));
    }
}
