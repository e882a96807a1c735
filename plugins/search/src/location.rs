//! The `path` argument: where a search begins.
//!
//! Whether the path stays inside the granted folders is the host's to decide, not judged here.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::SearchError;
use crate::limit::PATH_MAX_BYTES;
use crate::wit::ErrorCode;

/// A path that exists.
#[derive(Debug)]
pub(crate) enum Location {
    /// A regular file.
    File(PathBuf),
    /// A folder; the empty path is the first granted folder.
    Folder(PathBuf),
}

/// Finds out what `path` names, following links, as what is named is always taken.
pub(crate) fn locate(path: &str) -> Result<Location, SearchError> {
    check_length(path)?;
    // Without `.` in it, so that paths read `src/main.rs` and not `./src/main.rs`.
    let plain: PathBuf =
        Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
    let kind = fs::metadata(openable(&plain)).map_err(|error| explain(path, &plain, &error))?;
    if kind.is_dir() {
        Ok(Location::Folder(plain))
    } else if kind.is_file() {
        Ok(Location::File(plain))
    } else {
        Err(SearchError::WrongKind {
            path: path.escape_debug().to_string(),
            found: "a pipe, socket or device",
            expected: "a regular file or a folder",
            code: ErrorCode::NotAFile,
        })
    }
}

/// Where there is any grant, the first granted folder is there.
fn explain(path: &str, plain: &Path, error: &io::Error) -> SearchError {
    if plain.as_os_str().is_empty() && error.kind() == io::ErrorKind::NotFound {
        SearchError::NothingGranted
    } else {
        SearchError::file(path, error)
    }
}

/// As [`locate`], where only a folder will do.
pub(crate) fn locate_folder(path: &str) -> Result<PathBuf, SearchError> {
    match locate(path)? {
        Location::Folder(folder) => Ok(folder),
        Location::File(_) => Err(SearchError::WrongKind {
            path: path.escape_debug().to_string(),
            found: "a file",
            expected: "a folder",
            code: ErrorCode::NotADirectory,
        }),
    }
}

/// The path to open: the first granted folder is `.` to the file system, and empty here.
pub(crate) fn openable(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn check_length(path: &str) -> Result<(), SearchError> {
    if !path.is_empty() && path.len() <= PATH_MAX_BYTES {
        return Ok(());
    }
    Err(SearchError::BadArgument {
        name: "path",
        found: format!("{} bytes long", path.len()),
        expected: "1 to 4096 bytes",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wit::SearchError as WitError;

    fn code(path: &str) -> ErrorCode {
        WitError::from(locate(path).unwrap_err()).code
    }

    #[test]
    fn dots_leave_the_path_and_here_is_empty() {
        let folder = |path: &str| locate_folder(path).unwrap();
        assert_eq!(folder("."), Path::new(""));
        assert_eq!(folder("./src/./"), Path::new("src"));
        let file = locate("./src/lib.rs").unwrap();
        assert!(matches!(file, Location::File(path) if path == Path::new("src/lib.rs")));
    }

    #[test]
    fn empty_long_and_missing_paths_are_refused() {
        assert_eq!(code(""), ErrorCode::InvalidArgument);
        assert_eq!(code(&"a".repeat(PATH_MAX_BYTES + 1)), ErrorCode::InvalidArgument);
        assert_eq!(code("no/such"), ErrorCode::NotFound);
        assert_eq!(code("a\0b"), ErrorCode::Io);
    }

    #[test]
    fn absence_of_the_first_folder_is_absence_of_any_grant() {
        let absent = io::Error::from(io::ErrorKind::NotFound);
        let error = WitError::from(explain(".", Path::new(""), &absent));
        assert_eq!(error.code, ErrorCode::Denied);
        assert!(error.message.starts_with("no folder is granted"));
        assert_eq!(WitError::from(explain("a", Path::new("a"), &absent)).code, ErrorCode::NotFound);
    }

    #[test]
    fn file_is_not_taken_for_a_folder() {
        let error = WitError::from(locate_folder("src/lib.rs").unwrap_err());
        assert_eq!(error.code, ErrorCode::NotADirectory);
        assert_eq!(error.message, "`src/lib.rs` is a file, expected a folder");
    }

    #[cfg(unix)]
    #[test]
    fn named_pipe_is_refused_without_being_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(code(pipe.to_str().unwrap()), ErrorCode::NotAFile);
    }
}
