//! The `list` tool: a page of a folder's entries, in an order that does not depend on the disk.
//!
//! It follows no link below the folder that was asked for, and opens no file.

use std::fs;
use std::io;

use crate::bindings::exports::belljar::files::files::{
    ErrorCode, FileError, FileKind, ListRequest, ListResult,
};
use crate::failure::{from_io, refuse};
use crate::path::{self, join};
use crate::regular::kind_of;
use crate::shown::quote;

mod walk;

use walk::Walk;

/// WASI preview 1, `errno`: `ilseq`. Its libc reads a folder whole and fails so on the first name
/// that the host can't tell.
const WASI_ILSEQ: i32 = 25;
const DEPTH_MAX: u32 = 20;
/// Most entries on one page, and the default.
const LIMIT_MAX: u32 = 1000;

/// What bounds the work and the size of a page, apart from the request.
#[derive(Clone, Copy)]
struct Bounds {
    /// Entries of one folder: they are held to be sorted.
    folder_max: usize,
    /// Entries counted after the page.
    omitted_max: u32,
    /// Bytes of a page, so that it stays under the host's 256 KiB for the model.
    page_max_bytes: usize,
}

const BOUNDS: Bounds =
    Bounds { folder_max: 50_000, omitted_max: 100_000, page_max_bytes: 128 << 10 };

/// Lists the folder that `request` names.
pub(crate) fn list(request: &ListRequest) -> Result<ListResult, FileError> {
    list_within(request, BOUNDS)
}

fn list_within(request: &ListRequest, bounds: Bounds) -> Result<ListResult, FileError> {
    let base = request.path.as_deref().unwrap_or(".");
    path::check(base)?;
    let depth = check_number("depth", request.depth.unwrap_or(1), DEPTH_MAX)?;
    let limit = check_number("limit", request.limit.unwrap_or(LIMIT_MAX), LIMIT_MAX)?;
    let after = request.after.as_deref().map(|after| below(base, after)).transpose()?;

    let found = fs::metadata(base).map_err(|error| from_io(base, &error))?;
    if !found.is_dir() {
        return Err(refuse(
            ErrorCode::NotADirectory,
            format!("{} is not a folder; `stat` and `read` take files", quote(base)),
        ));
    }
    let names = match read_folder(base, bounds.folder_max) {
        Ok(names) => names,
        Err(FolderError::Io(error)) if error.raw_os_error() == Some(WASI_ILSEQ) => {
            return Err(refuse(
                ErrorCode::Io,
                format!("the folder {} holds a name that is not Unicode", quote(base)),
            ));
        }
        Err(FolderError::Io(error)) => return Err(from_io(base, &error)),
        Err(FolderError::TooMany) => {
            return Err(refuse(
                ErrorCode::TooLarge,
                format!(
                    "the folder {} has more than {} entries; expected fewer, or a path within it",
                    quote(base),
                    bounds.folder_max
                ),
            ));
        }
    };
    Ok(Walk::new(base, depth, limit, after, bounds).run(names))
}

fn check_number(name: &str, value: u32, max: u32) -> Result<u32, FileError> {
    if (1..=max).contains(&value) {
        return Ok(value);
    }
    let message = format!("`{name}` is {value}; expected 1 to {max}");
    Err(refuse(ErrorCode::InvalidArgument, message))
}

/// `after` as a path below `base`.
fn below(base: &str, after: &str) -> Result<String, FileError> {
    let prefix = join(base, "");
    match after.strip_prefix(prefix.as_str()) {
        Some(rest) if !rest.is_empty() => Ok(rest.to_owned()),
        _ => Err(refuse(
            ErrorCode::InvalidArgument,
            format!(
                "`after` is {}, which is not in {}; expected `next_after` of the page before",
                quote(after),
                quote(base)
            ),
        )),
    }
}

/// Why a folder's names are not known.
enum FolderError {
    Io(io::Error),
    TooMany,
}

/// What a folder holds, sorted by name.
struct Names {
    sorted: Vec<(String, FileKind)>,
    /// Entries without a name that can be told.
    unreadable: u32,
}

/// Reads a folder's names and kinds, without following links.
fn read_folder(path: &str, folder_max: usize) -> Result<Names, FolderError> {
    let mut names = Names { sorted: Vec::new(), unreadable: 0 };
    for (count, entry) in fs::read_dir(path).map_err(FolderError::Io)?.enumerate() {
        if count == folder_max {
            return Err(FolderError::TooMany);
        }
        let named = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
        match named.map(|(name, file_type)| (name.into_string(), kind_of(file_type))) {
            Ok((Ok(name), kind)) => names.sorted.push((name, kind)),
            // A name that isn't Unicode, or an entry that vanished meanwhile.
            Ok((Err(_), _)) | Err(_) => names.unreadable += 1,
        }
    }
    names.sorted.sort();
    Ok(names)
}

#[cfg(test)]
mod tests;
