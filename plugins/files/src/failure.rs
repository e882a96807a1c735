//! Builds the plugin's error value, and says what a file system error means.
//!
//! Messages name the path that was asked for and never what a link points to, nor any text that the
//! operating system adds.

use std::io::{Error, ErrorKind};

use crate::bindings::exports::belljar::files::files::{ErrorCode, FileError};
use crate::near;
use crate::shown::quote;

/// A refusal of kind `code` with one sentence for the caller.
pub(crate) fn refuse(code: ErrorCode, message: impl Into<String>) -> FileError {
    FileError { code, message: message.into() }
}

/// What `error` means for the caller who asked for `path`.
pub(crate) fn from_io(path: &str, error: &Error) -> FileError {
    let shown = quote(path);
    match error.kind() {
        ErrorKind::NotFound => near::missing(path),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => refuse(
            ErrorCode::Denied,
            format!(
                "access to {shown} is refused: it leads outside the granted folders, or the grant \
                 or the file's own permissions do not allow it"
            ),
        ),
        ErrorKind::NotADirectory => refuse(
            ErrorCode::NotADirectory,
            format!("a name on the way to {shown} is not a folder"),
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => refuse(
            ErrorCode::NoSpace,
            format!("{shown} can't be written: the disk is full or over its quota"),
        ),
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => refuse(
            ErrorCode::InvalidPath,
            format!("{shown} is not a name that the file system takes"),
        ),
        kind => refuse(ErrorCode::Io, format!("the file system failed on {shown}: {kind}")),
    }
}
