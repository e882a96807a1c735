//! Everything that can go wrong in a `codec` call, and the error code each becomes.
//!
//! Messages name only what the caller gave: never a host path or a link's target.

use std::io;

use thiserror::Error;

use crate::wit::{CodecError as WitError, ErrorCode};

/// Why a call failed.
#[derive(Debug, Error)]
pub(crate) enum CodecError {
    /// Both or neither of `text` and `base64`.
    #[error("{given} of `text` and `base64` were given, expected exactly one")]
    NotOneInput {
        /// `both` or `none`.
        given: &'static str,
    },
    /// A character that the encoding does not have.
    #[error("`{encoding}` text has `{found}` at byte offset {offset}, expected {expected}")]
    BadCharacter {
        /// The encoding's name.
        encoding: &'static str,
        /// The first bad character, escaped.
        found: String,
        /// Its byte offset.
        offset: usize,
        /// What may stand there.
        expected: &'static str,
    },
    /// The characters are right, but the text ends wrongly.
    #[error("`{encoding}` text is wrong at byte offset {offset}: {problem}, expected {expected}")]
    BadEnding {
        /// The encoding's name.
        encoding: &'static str,
        /// Byte offset of the part that does not fit.
        offset: usize,
        /// What does not fit.
        problem: &'static str,
        /// What would.
        expected: &'static str,
    },
    /// Input over its limit.
    #[error("{what} has {size} bytes, expected at most {max}")]
    TooLarge {
        /// Which input.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// The path names something that is not a regular file.
    #[error("`{path}` is {found}, expected a regular file")]
    NotAFile {
        /// The path as given, escaped.
        path: String,
        /// What it is.
        found: &'static str,
    },
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

impl CodecError {
    /// Puts an error of the file system in words, without what it might say of the host.
    pub(crate) fn file(path: &str, error: &io::Error) -> Self {
        let (code, problem) = match error.kind() {
            io::ErrorKind::NotFound => (
                ErrorCode::NotFound,
                "was not found, expected a file in a granted folder".to_owned(),
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorCode::Denied,
                "may not be read, expected a file in a granted folder".to_owned(),
            ),
            kind => (ErrorCode::Io, format!("could not be read: {kind}, expected a readable file")),
        };
        Self::File { path: path.escape_debug().to_string(), problem, code }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::NotOneInput { .. } => ErrorCode::InvalidArgument,
            Self::BadCharacter { .. } | Self::BadEnding { .. } => ErrorCode::Malformed,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::NotAFile { .. } => ErrorCode::NotAFile,
            Self::File { code, .. } => *code,
        }
    }
}

impl From<CodecError> for WitError {
    fn from(error: CodecError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}
