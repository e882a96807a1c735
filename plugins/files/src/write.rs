//! The `write` tool: a whole file at once, or nothing.
//!
//! It never opens the target for writing, so a call that is stopped anywhere leaves the old content
//! or the new. Between the last look at the old content and the rename lies a gap that WASI gives
//! no means to close; `@locks path` keeps two calls for one path from meeting in it.

use std::fs;
use std::io::ErrorKind;

use crate::bindings::exports::belljar::files::files::{
    ErrorCode, FileError, FileKind, WriteRequest, WriteResult,
};
use crate::failure::{from_io, refuse};
use crate::shown::quote;
use crate::staged::Staged;
use crate::{digest, path, regular};

/// Largest content; as much as `read` returns the hash of.
const CONTENT_MAX_BYTES: u32 = crate::read::FILE_MAX_BYTES;

/// How the new content takes its place.
#[derive(Debug, PartialEq, Eq)]
enum Plan<'a> {
    /// Where nothing is.
    Create,
    /// Over whatever the file holds.
    Overwrite,
    /// Over the content with this hash.
    Exchange(&'a str),
}

/// Writes what `request` says.
pub(crate) fn write(request: &WriteRequest) -> Result<WriteResult, FileError> {
    let path = request.path.as_str();
    path::check_for_writing(path)?;
    let size = check_content(&request.content)?;
    let plan = decide_plan(request)?;
    if plan == Plan::Create && request.create_parents.unwrap_or(false) {
        let folder = path::folder_of(path);
        fs::create_dir_all(folder).map_err(|error| from_io(folder, &error))?;
    }
    // Hashing is most of the call's work: a call that runs out of fuel does so before it wrote.
    let sha256 = digest::of_bytes(request.content.as_bytes());
    let staged = Staged::write(path, request.content.as_bytes())
        .map_err(|error| refuse_staging(path, &error))?;
    let placed = match plan {
        Plan::Create => staged.create(path),
        Plan::Overwrite => staged.replace(path),
        Plan::Exchange(expected) => {
            // Staging took its time: what `decide_plan` saw may have changed.
            check_unchanged(path, expected)?;
            staged.replace(path)
        }
    };
    match placed {
        Ok(()) => Ok(WriteResult { created: plan == Plan::Create, size, sha256 }),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(exists(path)),
        Err(error) => Err(from_io(path, &error)),
    }
}

fn check_content(content: &str) -> Result<u32, FileError> {
    match u32::try_from(content.len()) {
        Ok(size) if size <= CONTENT_MAX_BYTES => Ok(size),
        _ => Err(refuse(
            ErrorCode::TooLarge,
            format!(
                "`content` has {} bytes; at most {CONTENT_MAX_BYTES} are written",
                content.len()
            ),
        )),
    }
}

/// What may be done, by what is there and what the request allows.
fn decide_plan(request: &WriteRequest) -> Result<Plan<'_>, FileError> {
    let path = request.path.as_str();
    let expected = request.if_match.as_deref();
    if let Some(hash) = expected
        && (hash.len() != 64 || !hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
    {
        return Err(refuse(
            ErrorCode::InvalidArgument,
            format!("`if_match` is {}; expected 64 lower-case hex digits", quote(hash)),
        ));
    }
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return if expected.is_none() { Ok(Plan::Create) } else { Err(gone(path)) };
        }
        Err(error) => return Err(from_io(path, &error)),
    };
    if regular::kind_of(found.file_type()) == FileKind::Symlink {
        return Err(refuse(
            ErrorCode::Symlink,
            format!("{} is a symbolic link; expected the path of the file itself", quote(path)),
        ));
    }
    regular::check_kind(path, &found)?;
    match (expected, request.overwrite.unwrap_or(false)) {
        (Some(hash), _) => check_unchanged(path, hash).map(|()| Plan::Exchange(hash)),
        (None, true) => Ok(Plan::Overwrite),
        (None, false) => Err(exists(path)),
    }
}

/// Refuses unless the content of `path` still has the hash `expected`.
fn check_unchanged(path: &str, expected: &str) -> Result<(), FileError> {
    let (mut file, _) = regular::open(path)?;
    if digest::of_file(path, &mut file)? == expected {
        return Ok(());
    }
    Err(refuse(
        ErrorCode::Changed,
        format!("{} does not have the content that `if_match` names; read it again", quote(path)),
    ))
}

fn gone(path: &str) -> FileError {
    refuse(
        ErrorCode::Changed,
        format!("{} does not exist, so it can't match `if_match`; leave that out", quote(path)),
    )
}

fn exists(path: &str) -> FileError {
    refuse(
        ErrorCode::Exists,
        format!(
            "{} exists; set `if_match` to its SHA-256 or `overwrite` to replace it",
            quote(path)
        ),
    )
}

/// What a failure to write beside the target means for the caller, who never named that file.
fn refuse_staging(path: &str, error: &std::io::Error) -> FileError {
    let mut refusal = from_io(path, error);
    if refusal.code == ErrorCode::NotFound {
        refusal.message.push_str("; `create_parents` makes missing folders");
    }
    refusal
}

#[cfg(test)]
mod tests;
