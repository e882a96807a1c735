//! Writes a file whole or not at all.
//!
//! A reader sees what was there before or what is there now, never a part of it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::{CliError, shown};

/// Puts `bytes` in the place of `path`. What is there must be a file: renaming over a device or a
/// pipe would take it away. A link is kept, and what it leads to replaced.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let (path, permissions) = match fs::metadata(path) {
        Ok(found) if found.is_file() => {
            let real =
                fs::canonicalize(path).map_err(|error| CliError::io("written", path, &error));
            (real?, Some(found.permissions()))
        }
        Ok(_) => {
            let path = shown(path);
            return Err(CliError::Usage(format!("{path} can't be written: it is no regular file")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(CliError::io("written", path, &error)),
    };
    let part = part_path(&path)?;
    let written = write_new(&part, bytes, permissions).and_then(|()| fs::rename(&part, &path));
    written.map_err(|error| CliError::io("written", &path, &error))
}

/// A name of this process beside the file: a rename only stays whole on one file system.
fn part_path(path: &Path) -> Result<PathBuf, CliError> {
    let name = path
        .file_name()
        .ok_or_else(|| CliError::Usage(format!("{} names no file to write", shown(path))))?;
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(part))
}

fn write_new(part: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(part)?;
    let written = fill(file, bytes, permissions);
    if written.is_err() {
        // What can't be removed either is named so that nobody takes it for the result.
        drop(fs::remove_file(part));
    }
    written
}

fn fill(mut file: File, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_file_appears_alone() {
        let root = tempfile::tempdir().unwrap();
        replace(&root.path().join("a.wasm"), b"new").unwrap();
        assert_eq!(fs::read(root.path().join("a.wasm")).unwrap(), b"new");
        assert_eq!(names(root.path()), ["a.wasm"]);
    }

    #[test]
    fn a_link_and_a_mode_survive() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("a.wasm"), root.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(root.path()), ["a.wasm", "link"]);
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        fs::create_dir(&folder).unwrap();
        for path in [folder.as_path(), Path::new("/dev/null")] {
            assert_eq!(replace(path, b"new").unwrap_err().exit().code(), 2);
        }
        assert_eq!(names(root.path()), ["folder"]);
    }

    #[test]
    fn nothing_half_written_stays_where_writing_fails() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.wasm");
        fs::create_dir(part_path(&path).unwrap()).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert!(!path.exists());
        let nowhere = replace(&root.path().join("no/such/a.wasm"), b"new").unwrap_err();
        assert_eq!(nowhere.exit().code(), 2);
    }
}
