//! What can be wrong with the text of arguments.
//!
//! Only words about the text; what a tool makes of the value is an `ArgumentFailure`.

use std::fmt;

use crate::contract::limits::{LimitKind, Limits};

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub line: usize,
    /// In bytes, counted from 1.
    pub column: usize,
    /// Bytes before it.
    pub offset: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {} (byte {})", self.line, self.column, self.offset)
    }
}

/// Why a text is not the arguments of a call. Paths are JSON pointers (RFC 6901), escaped for
/// views and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// More bytes than are accepted.
    #[error("arguments are {bytes} bytes long: expected at most {max_bytes}")]
    TooLong {
        /// What came.
        bytes: usize,
        /// What is accepted.
        max_bytes: usize,
    },
    /// Objects and arrays inside each other, more than are accepted.
    #[error(
        "arguments are nested too deep at {position}, at `{path}`: expected at most {max_depth} \
         levels"
    )]
    TooDeep {
        /// The value that is too deep.
        path: String,
        /// Where reading stopped.
        position: Position,
        /// What is accepted; the arguments' own object is the first level.
        max_depth: usize,
    },
    /// A byte order mark comes first.
    #[error("arguments begin with a byte order mark: expected a JSON object and nothing before it")]
    ByteOrderMark,
    /// The text stops before the value does.
    #[error("arguments are truncated: they stop at {0}, expected the rest of the JSON object")]
    Truncated(Position),
    /// It is no JSON.
    #[error("arguments are not JSON: {reason} at {position}{}", inside(path))]
    Syntax {
        /// What is wrong, mostly in the words of the JSON library.
        reason: String,
        /// The innermost value that holds the fault; empty for the root.
        path: String,
        /// Where reading stopped.
        position: Position,
    },
    /// Something follows the value.
    #[error("arguments go on after their end, at {0}: expected one JSON object and nothing more")]
    Trailing(Position),
    /// One key twice in one object.
    #[error("arguments name `{path}` twice, again at {position}: expected each key once")]
    DuplicateKey {
        /// The key that is repeated.
        path: String,
        /// Where reading stopped, right after the second.
        position: Position,
    },
    /// JSON, and not an object.
    #[error("arguments are {found}: expected a JSON object, such as `{{}}`")]
    NotAnObject {
        /// What it is, with its article.
        found: &'static str,
    },
    /// A string that holds the object.
    #[error(
        "arguments are a string that holds a JSON object: expected the object itself, not its \
         text; they were turned into a string once too often"
    )]
    Stringified,
}

fn inside(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(", inside `{path}`") }
}

impl ArgumentsError {
    /// The limit that was met, where it was one.
    pub fn limit(&self) -> Option<LimitKind> {
        match self {
            Self::TooLong { .. } => Some(LimitKind::ArgumentBytes),
            Self::TooDeep { .. } => Some(LimitKind::ArgumentDepth),
            _ => None,
        }
    }

    /// The error in one sentence; for a limit, one that also says who set it.
    pub fn sentence(&self, limits: &Limits) -> String {
        match (self, self.limit()) {
            (Self::TooLong { bytes, .. }, Some(kind)) => {
                limits.sentence(kind, &format!("the arguments are {bytes} bytes long"))
            }
            (Self::TooDeep { path, position, .. }, Some(kind)) => limits.sentence(
                kind,
                &format!("the arguments are nested too deep at {position}, at `{path}`"),
            ),
            _ => self.to_string(),
        }
    }
}
