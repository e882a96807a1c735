//! Checks the form of a path before the file system sees it.
//!
//! It decides form alone: whether a path stays inside the granted folders is the host's to say.

use crate::bindings::exports::belljar::files::files::{ErrorCode, FileError};
use crate::failure::refuse;
use crate::shown::quote;

/// Longest path in bytes. POSIX `PATH_MAX` on Linux; bounds what a message or a walk can cost.
const PATH_MAX_BYTES: usize = 4096;

/// Refuses paths that are empty, too long or hold NUL.
pub(crate) fn check(path: &str) -> Result<(), FileError> {
    if path.is_empty() {
        return Err(refuse(
            ErrorCode::InvalidPath,
            "the path is empty; expected a path such as `src/main.rs`, or `.`",
        ));
    }
    if path.len() > PATH_MAX_BYTES {
        return Err(refuse(
            ErrorCode::InvalidPath,
            format!("the path has {} bytes; at most {PATH_MAX_BYTES} are allowed", path.len()),
        ));
    }
    if path.contains('\0') {
        return Err(refuse(
            ErrorCode::InvalidPath,
            format!("the path {} holds a NUL character, which no file name can", quote(path)),
        ));
    }
    Ok(())
}

/// Refuses what [`check`] does, names with control characters, and paths that don't end in a name.
pub(crate) fn check_for_writing(path: &str) -> Result<(), FileError> {
    check(path)?;
    if path.contains(char::is_control) {
        return Err(refuse(
            ErrorCode::InvalidPath,
            format!("the path {} holds a control character; no such name is written", quote(path)),
        ));
    }
    match path.rsplit('/').next() {
        None | Some("" | "." | "..") => Err(refuse(
            ErrorCode::InvalidPath,
            format!("the path {} does not end in a file's name", quote(path)),
        )),
        Some(_) => Ok(()),
    }
}

/// The folder part of `path`; `.` if it has none.
pub(crate) fn folder_of(path: &str) -> &str {
    match path.rfind('/') {
        None => ".",
        Some(0) => "/",
        Some(at) => path.get(..at).unwrap_or("."),
    }
}

/// `folder` and `name` as one path that the tools take; `.` leaves no trace.
pub(crate) fn join(folder: &str, name: &str) -> String {
    match folder.trim_end_matches('/') {
        "" if folder.starts_with('/') => format!("/{name}"),
        "" | "." => name.to_owned(),
        trimmed => format!("{trimmed}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_overlong_and_nul_paths_are_refused() {
        for path in ["", "a\0.txt", &"a".repeat(PATH_MAX_BYTES + 1)] {
            let refusal = check(path).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidPath);
            assert!(!refusal.message.contains('\0'));
        }
        assert!(check(&"a".repeat(PATH_MAX_BYTES)).is_ok());
    }

    #[test]
    fn fs_10_windows_and_url_forms_are_plain_names() {
        for path in [r"c:\x", "C:/x", r"\\host\share\x", "file:///c%3A/x", r"\\?\C:\x"] {
            assert!(check_for_writing(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn writing_needs_a_plain_last_name() {
        for path in [".", "..", "a/", "a/.", "a/..", "/", "a\n.txt", "a\u{1b}[31m", "\u{85}"] {
            let refusal = check_for_writing(path).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidPath, "{path}");
            assert!(!refusal.message.contains(char::is_control), "{path}");
        }
    }

    #[test]
    fn join_and_folder_of_keep_paths_usable() {
        assert_eq!(join(".", "x"), "x");
        assert_eq!(join("./", "x"), "x");
        assert_eq!(join("/", "x"), "/x");
        assert_eq!(join("a/b/", "x"), "a/b/x");
        assert_eq!(folder_of("x"), ".");
        assert_eq!(folder_of("/x"), "/");
        assert_eq!(folder_of("a/b/x"), "a/b");
    }
}
