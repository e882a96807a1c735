//! Opens regular files and nothing else.
//!
//! Opening a pipe or a device can block for ever, so the kind is looked at before the open, and
//! again on what was opened.

use std::fs::{self, File, Metadata};

use crate::bindings::exports::belljar::files::files::{ErrorCode, FileError, FileKind};
use crate::failure::{from_io, refuse};
use crate::shown::quote;

/// Opens the regular file at `path` for reading, following links that stay in the granted folders.
pub(crate) fn open(path: &str) -> Result<(File, Metadata), FileError> {
    let before = fs::metadata(path).map_err(|error| from_io(path, &error))?;
    check_kind(path, &before)?;
    let file = File::open(path).map_err(|error| from_io(path, &error))?;
    let opened = file.metadata().map_err(|error| from_io(path, &error))?;
    check_kind(path, &opened)?;
    Ok((file, opened))
}

/// Refuses all but regular files, saying what `path` is instead.
pub(crate) fn check_kind(path: &str, metadata: &Metadata) -> Result<(), FileError> {
    let shown = quote(path);
    let message = match kind_of(metadata.file_type()) {
        FileKind::File => return Ok(()),
        FileKind::Directory => format!("{shown} is a folder; expected a file"),
        FileKind::Symlink => format!("{shown} is a symbolic link; expected a file"),
        FileKind::Other => {
            format!("{shown} is a pipe, a device or a socket; expected a regular file")
        }
    };
    Err(refuse(ErrorCode::NotAFile, message))
}

/// The kind the tools report.
pub(crate) fn kind_of(file_type: fs::FileType) -> FileKind {
    if file_type.is_symlink() {
        FileKind::Symlink
    } else if file_type.is_dir() {
        FileKind::Directory
    } else if file_type.is_file() {
        FileKind::File
    } else {
        FileKind::Other
    }
}
