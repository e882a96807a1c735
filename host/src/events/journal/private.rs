//! Whose the files are: the audit folder and all in it is its user's alone, and no link leads out.
//!
//! Whoever may write the log may rewrite it, so a folder that others reach is refused, not mended.
//! Reads and writes no record.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::JournalError;
use super::lane_file::sync_folder;

/// Makes a folder that nobody else may enter, and refuses one that isn't such.
pub(super) fn make_private_folder(folder: &Path) -> Result<(), JournalError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_private_folder(folder),
        Err(error) => Err(JournalError::io("make", folder, error)),
        // Its name has to survive a power cut as well as what comes into it.
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
    }
}

/// Refuses what is no folder, a link, another user's (but root's), or open to others.
pub(super) fn check_private_folder(folder: &Path) -> Result<(), JournalError> {
    let found = fs::symlink_metadata(folder).map_err(JournalError::on("read", folder))?;
    let problem = if found.is_symlink() {
        "a symbolic link".to_owned()
    } else if !found.is_dir() {
        "no folder".to_owned()
    } else if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        "another user's".to_owned()
    } else if found.mode() & 0o077 != 0 {
        format!("open to others (mode {:04o})", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(JournalError::NotPrivate { folder: folder.to_owned(), found: problem })
}

/// Opens a file of the audit folder, which is nobody else's to read and no link.
pub(super) fn open(
    what: &'static str,
    path: &Path,
    options: &mut OpenOptions,
) -> Result<File, JournalError> {
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    options.mode(0o600).custom_flags(no_link).open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            let wrong = "it is a symbolic link".to_owned();
            return JournalError::Damaged { file: path.to_owned(), wrong };
        }
        JournalError::io(what, path, error)
    })
}
