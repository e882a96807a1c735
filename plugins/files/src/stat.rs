//! The `stat` tool: what a path is.
//!
//! It never follows a link in the last place, so that it tells what `write` will meet.

use std::fs;

use crate::bindings::exports::belljar::files::files::{
    FileError, FileKind, StatRequest, StatResult,
};
use crate::failure::from_io;
use crate::timestamp::to_rfc_3339;
use crate::{digest, path, regular};

/// Looks at the path of `request`.
pub(crate) fn stat(request: &StatRequest) -> Result<StatResult, FileError> {
    let path = request.path.as_str();
    path::check(path)?;
    let found = fs::symlink_metadata(path).map_err(|error| from_io(path, &error))?;
    let sha256 = if request.hash.unwrap_or(false) {
        regular::check_kind(path, &found)?;
        if found.len() > digest::HASHED_MAX_BYTES {
            return Err(digest::too_large(path));
        }
        let (mut file, _) = regular::open(path)?;
        Some(digest::of_file(path, &mut file)?)
    } else {
        None
    };
    let kind = regular::kind_of(found.file_type());
    Ok(StatResult {
        kind,
        size: (kind == FileKind::File).then_some(found.len()),
        modified: found.modified().ok().and_then(to_rfc_3339),
        sha256,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::exports::belljar::files::files::ErrorCode;

    fn look(folder: &tempfile::TempDir, name: &str, hash: bool) -> Result<StatResult, FileError> {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        stat(&StatRequest { path, hash: Some(hash) })
    }

    #[test]
    fn a_file_has_size_time_and_the_hash_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("abc"), "abc").unwrap();
        let found = look(&folder, "abc", true).unwrap();
        assert_eq!((found.kind, found.size), (FileKind::File, Some(3)));
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(found.sha256.as_deref(), Some(expected));
        assert!(found.modified.unwrap().starts_with("20"));
        assert_eq!(look(&folder, "abc", false).unwrap().sha256, None);
    }

    #[test]
    fn folders_have_neither_size_nor_hash() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(look(&folder, "", false).unwrap().kind, FileKind::Directory);
        assert_eq!(look(&folder, "", false).unwrap().size, None);
        assert_eq!(look(&folder, "", true).unwrap_err().code, ErrorCode::NotAFile);
    }

    #[test]
    fn files_too_large_to_hash_are_refused_before_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("sparse")).unwrap();
        file.set_len(digest::HASHED_MAX_BYTES + 1).unwrap();
        assert_eq!(look(&folder, "sparse", true).unwrap_err().code, ErrorCode::TooLarge);
        let size = look(&folder, "sparse", false).unwrap().size;
        assert_eq!(size, Some(digest::HASHED_MAX_BYTES + 1));
    }

    #[cfg(unix)]
    #[test]
    fn fs_01_a_link_is_reported_and_its_target_is_not_told() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/nowhere/secret", folder.path().join("leak")).unwrap();
        let found = look(&folder, "leak", false).unwrap();
        assert_eq!((found.kind, found.size), (FileKind::Symlink, None));
        let refusal = look(&folder, "leak", true).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::NotAFile);
        assert!(!refusal.message.contains("secret"));
    }

    #[cfg(unix)]
    #[test]
    fn fs_12_a_pipe_is_looked_at_and_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.path().join("p")).status();
        assert!(made.unwrap().success());
        assert_eq!(look(&folder, "p", false).unwrap().kind, FileKind::Other);
        assert_eq!(look(&folder, "p", true).unwrap_err().code, ErrorCode::NotAFile);
    }
}
