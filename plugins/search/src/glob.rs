//! The tool `glob`: files by a pattern on their path.
//!
//! Opens no file; looks at names and kinds only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::SearchError;
use crate::glob_pattern::{self, PathGlob};
use crate::limit::{self, WALK_LIMITS};
use crate::location::locate_folder;
use crate::report::Room;
use crate::shown;
use crate::walk::{self, Ignored, Walk};
use crate::wit::{FileKind, FoundPath, GlobRequest, GlobResult, Stop};

/// Finds paths as `request` says.
pub(crate) fn glob(request: &GlobRequest) -> Result<GlobResult, SearchError> {
    glob_pattern::check(&request.pattern)?;
    let room = Room::new(limit::results(request.limit)?);
    let (plain, wild) = split(&request.pattern);
    let matcher = wild.as_deref().map(PathGlob::compile).transpose()?;
    let folder = locate_folder(request.path.as_deref().unwrap_or("."))?;
    let start = folder.join(plain);
    match matcher {
        None => Ok(find_exact(&start)),
        Some(matcher) if start.as_os_str().is_empty() || is_folder(&start) => {
            let ignored = Ignored::from_request(request.include_ignored);
            Ok(find_matches(&start, &matcher, ignored, room))
        }
        Some(_) => Ok(nothing()),
    }
}

/// The leading names without wildcards, and the rest as a pattern below them. A folder that the
/// pattern names is walked even if it is ignored, and nothing beside it is.
fn split(pattern: &str) -> (PathBuf, Option<String>) {
    let mut plain = PathBuf::new();
    let mut parts = pattern.split('/').filter(|part| !part.is_empty() && *part != ".");
    for part in parts.by_ref() {
        if !glob_pattern::is_plain(part) {
            let rest: Vec<&str> = std::iter::once(part).chain(parts).collect();
            return (plain, Some(rest.join("/")));
        }
        plain.push(part);
    }
    (plain, None)
}

fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir())
}

/// A pattern without wildcards is one path: found if it is there, ignored or not.
fn find_exact(path: &Path) -> GlobResult {
    let mut result = nothing();
    match fs::symlink_metadata(path) {
        Ok(found) => result.paths.push(found_path(path, walk::kind_of(found.file_type()))),
        Err(error) if is_absence(&error) => {}
        Err(_) => result.unreadable = 1,
    }
    result
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn find_matches(start: &Path, matcher: &PathGlob, ignored: Ignored, mut room: Room) -> GlobResult {
    let mut result = nothing();
    let mut walk = Walk::new(start, ignored, WALK_LIMITS);
    for entry in walk.by_ref() {
        if !matcher.matches(entry.path.strip_prefix(start).unwrap_or(&entry.path)) {
            continue;
        }
        let found = found_path(&entry.path, entry.kind);
        if let Err(stop) = room.take(found.path.len()) {
            result.stopped_by = Some(stop);
            break;
        }
        result.paths.push(found);
    }
    if walk.is_exhausted() && result.stopped_by.is_none() {
        result.stopped_by = Some(Stop::Entries);
    }
    let passed = walk.passed();
    result.ignored = passed.ignored;
    result.unreadable = passed.unreadable;
    result.too_deep = passed.too_deep;
    result.truncated = result.stopped_by.is_some();
    result
}

fn found_path(path: &Path, kind: FileKind) -> FoundPath {
    FoundPath { path: shown::show_path(path).text, kind }
}

fn nothing() -> GlobResult {
    GlobResult {
        paths: Vec::new(),
        ignored: 0,
        unreadable: 0,
        too_deep: 0,
        truncated: false,
        stopped_by: None,
    }
}

#[cfg(test)]
mod tests;
