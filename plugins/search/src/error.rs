//! Everything that a search is refused for, and the error code each becomes.
//!
//! Messages name only what the caller gave: never a host path or a link's target.

use std::io;

use thiserror::Error;

use crate::wit::{ErrorCode, SearchError as WitError};

/// Why a call was refused.
#[derive(Debug, Error)]
pub(crate) enum SearchError {
    /// A regular expression that can't be used.
    #[error(
        "pattern can't be used: {problem}, at byte offset {offset} in `{construct}`, expected {expected}"
    )]
    BadPattern {
        /// What is wrong, in words.
        problem: String,
        /// Where it begins.
        offset: usize,
        /// The part of the pattern that is wrong, escaped.
        construct: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A regular expression that is too large once compiled.
    #[error("pattern compiles to more than {max} bytes, expected a shorter one or smaller repeats")]
    PatternTooBig {
        /// The limit in bytes.
        max: usize,
    },
    /// A glob that can't be used.
    #[error("glob `{glob}` can't be used: {problem}, expected {expected}")]
    BadGlob {
        /// The glob, escaped.
        glob: String,
        /// What is wrong, in words.
        problem: String,
        /// What would be right.
        expected: &'static str,
    },
    /// An argument outside its bounds.
    #[error("`{name}` is {found}, expected {expected}")]
    BadArgument {
        /// The argument.
        name: &'static str,
        /// What it was.
        found: String,
        /// Its bounds.
        expected: &'static str,
    },
    /// The named file is over the limit.
    #[error("`{path}` has more than {max} bytes, expected a smaller file")]
    TooLarge {
        /// The path as given, escaped.
        path: String,
        /// The limit in bytes.
        max: u64,
    },
    /// The path names a thing of the wrong kind.
    #[error("`{path}` is {found}, expected {expected}")]
    WrongKind {
        /// The path as given, escaped.
        path: String,
        /// What it is.
        found: &'static str,
        /// What it should be.
        expected: &'static str,
        /// Its code.
        code: ErrorCode,
    },
    /// There is no folder at all.
    #[error("no folder is granted, expected at least one to search")]
    NothingGranted,
    /// The file system said no.
    #[error("`{path}` {problem}")]
    File {
        /// The path as given, escaped.
        path: String,
        /// The error in words.
        problem: String,
        /// Its code.
        code: ErrorCode,
    },
}

impl SearchError {
    /// Puts an error of the file system in words, without what it might say of the host.
    pub(crate) fn file(path: &str, error: &io::Error) -> Self {
        let (code, problem) = match error.kind() {
            io::ErrorKind::NotFound => (
                ErrorCode::NotFound,
                "was not found, expected a path in a granted folder".to_owned(),
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorCode::Denied,
                "may not be read, expected a path in a granted folder".to_owned(),
            ),
            kind => (
                ErrorCode::Io,
                format!("could not be read: {kind}, expected a readable file or folder"),
            ),
        };
        Self::File { path: path.escape_debug().to_string(), problem, code }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::BadPattern { .. } | Self::PatternTooBig { .. } | Self::BadGlob { .. } => {
                ErrorCode::InvalidPattern
            }
            Self::BadArgument { .. } => ErrorCode::InvalidArgument,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::NothingGranted => ErrorCode::Denied,
            Self::WrongKind { code, .. } | Self::File { code, .. } => *code,
        }
    }
}

impl From<SearchError> for WitError {
    fn from(error: SearchError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}
