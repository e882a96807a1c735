//! The `read` tool: a window of a text file's lines, and the hash of the whole file.
//!
//! It reads the whole file within a cap, so that a character is never split between two pieces and
//! the hash, the line count and the text are of one moment.

use std::fs::File;
use std::io::Read;

use crate::bindings::exports::belljar::files::files::{
    ErrorCode, FileError, ReadRequest, ReadResult,
};
use crate::decode::{DecodeError, decode};
use crate::failure::{from_io, refuse};
use crate::shown::quote;
use crate::window::cut_window;
use crate::{digest, path, regular};

/// Largest file that is read: it is held in memory up to four times (bytes, decoded, window, JSON).
pub(crate) const FILE_MAX_BYTES: u32 = 16 << 20;
/// Most lines in one window, and the default.
const LIMIT_MAX: u32 = 2000;

/// Reads the lines that `request` names.
pub(crate) fn read(request: &ReadRequest) -> Result<ReadResult, FileError> {
    let path = request.path.as_str();
    path::check(path)?;
    let offset = request.offset.unwrap_or(1);
    let limit = request.limit.unwrap_or(LIMIT_MAX);
    check_window(offset, limit)?;

    let (file, metadata) = regular::open(path)?;
    let (bytes, size) = read_whole(path, file, metadata.len())?;
    let sha256 = digest::of_bytes(&bytes);
    let decoded = decode(&bytes, request.lossy.unwrap_or(false))
        .map_err(|error| refuse_content(path, &error, size, &sha256))?;
    let window = cut_window(&decoded.text, offset, limit);
    if offset > window.total_lines.max(1) {
        return Err(refuse(
            ErrorCode::OutOfRange,
            format!(
                "offset {offset} is past the end of {}, which has {} lines",
                quote(path),
                window.total_lines
            ),
        ));
    }
    Ok(ReadResult {
        sha256,
        size,
        encoding: decoded.encoding,
        total_lines: window.total_lines,
        lines: window.lines,
        next_offset: window.next_offset,
        truncated_lines: window.cut,
        replaced: decoded.replaced,
        notice: (window.total_lines == 0).then(|| "the file is empty".to_owned()),
        text: window.text,
    })
}

/// The schema says the same; a host without it must not change what the numbers mean.
fn check_window(offset: u32, limit: u32) -> Result<(), FileError> {
    if offset == 0 {
        return Err(refuse(ErrorCode::InvalidArgument, "`offset` is 0; lines are counted from 1"));
    }
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(refuse(
            ErrorCode::InvalidArgument,
            format!("`limit` is {limit}; expected 1 to {LIMIT_MAX} lines"),
        ));
    }
    Ok(())
}

/// All bytes of `file` and their count. `stated` is what its metadata says, which files that are
/// still growing, and those of `/proc`, do not keep to.
fn read_whole(path: &str, file: File, stated: u64) -> Result<(Vec<u8>, u32), FileError> {
    let cap = u64::from(FILE_MAX_BYTES);
    if stated > cap {
        return Err(too_large(path, stated));
    }
    let mut bytes = Vec::new();
    let count = file.take(cap + 1).read_to_end(&mut bytes);
    let count = count.map_err(|error| from_io(path, &error))?;
    match u32::try_from(count) {
        Ok(size) if size <= FILE_MAX_BYTES => Ok((bytes, size)),
        _ => Err(too_large(path, cap + 1)),
    }
}

fn too_large(path: &str, size: u64) -> FileError {
    let shown = quote(path);
    refuse(
        ErrorCode::TooLarge,
        format!("{shown} has {size} bytes or more; files of at most {FILE_MAX_BYTES} are read"),
    )
}

fn refuse_content(path: &str, error: &DecodeError, size: u32, sha256: &str) -> FileError {
    let shown = quote(path);
    match error {
        DecodeError::Binary(kind) => refuse(
            ErrorCode::Binary,
            format!("{shown} is binary ({kind}), {size} bytes, SHA-256 {sha256}; expected text"),
        ),
        DecodeError::Malformed { encoding, at } => refuse(
            ErrorCode::Encoding,
            format!(
                "{shown} is not valid {encoding} at byte {at} of {size}, SHA-256 {sha256}; set \
                 `lossy` to read it with U+FFFD in such places"
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
