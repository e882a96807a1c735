//! The folder of compiled code: ours alone, or nothing.
//!
//! Knows nothing of what is in it.

use std::fs::{DirBuilder, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::CodeStoreError;

/// Makes it for this user alone, where nothing is there.
pub(super) fn make(folder: &Path) -> Result<(), CodeStoreError> {
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => Ok(()),
    }
}

/// Opens it, if it is ours alone; what is looked at and what is used are one folder.
pub(super) fn open(folder: &Path) -> Result<OwnedFd, CodeStoreError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let opened = match rustix::fs::open(folder, flags, Mode::empty()) {
        // A link has either, by the kernel's version.
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Err(CodeStoreError::NotPrivate("no folder".to_owned()));
        }
        opened => opened.map_err(std::io::Error::from)?,
    };
    let opened = std::fs::File::from(opened);
    match not_ours(&opened.metadata()?) {
        None => Ok(opened.into()),
        Some(problem) => Err(CodeStoreError::NotPrivate(problem)),
    }
}

/// Whether others may be in it, in words.
pub(super) fn not_ours(found: &Metadata) -> Option<String> {
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Some("another user's".to_owned());
    }
    let open = found.mode() & 0o077 != 0;
    open.then(|| format!("open to others (mode {:04o})", found.mode() & 0o7777))
}
