//! Compiled code on disk, by plugin digest and engine: so that a second start maps instead of
//! compiling.
//!
//! Whoever can write here can run native code as this user, so the folder must belong to us and be
//! closed to everybody else, or it isn't used at all. A plugin's own compiled code is never taken.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use crate::contract::ids::Digest;

/// Files that are kept; the least recently used go first.
const KEPT_FILES: usize = 128;
/// Bytes of one file that are read; componentize-py's 18 MB compile to about 40.
const CODE_MAX_LEN: u64 = 1 << 30;
/// Bytes of the checksum before the code.
const CHECKSUM_LEN: usize = 32;

/// Why a folder can't hold compiled code.
#[derive(Debug, thiserror::Error)]
pub enum CodeStoreError {
    /// It can't be made or looked at.
    #[error("the folder for compiled code can't be used: {0}")]
    Io(#[from] std::io::Error),
    /// Another user could put code there.
    #[error(
        "the folder for compiled code isn't used: it must be a folder of this user with mode 0700, \
         and it is {0}"
    )]
    NotPrivate(String),
}

/// A private folder of compiled code.
#[derive(Debug, Clone)]
pub struct CodeStore {
    folder: PathBuf,
}

impl CodeStore {
    /// Opens the folder, making it where it isn't there.
    ///
    /// # Errors
    /// A folder that isn't ours alone.
    pub fn open(folder: &Path) -> Result<Self, CodeStoreError> {
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match std::fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error.into());
            }
            _ => {}
        }
        check_private(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The code of a plugin for an engine, if it is there, whole and still private.
    pub(super) fn read(&self, plugin: &Digest, engine: &str) -> Option<Vec<u8>> {
        check_private(&self.folder).inspect_err(|error| tracing::warn!("{error}")).ok()?;
        let path = self.path(plugin, engine);
        // What isn't a file isn't ours, and opening it could block.
        std::fs::symlink_metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let file = std::fs::File::open(path).ok()?;
        let mut stored = Vec::new();
        (&file).take(CODE_MAX_LEN).read_to_end(&mut stored).ok()?;
        let code = stored.split_off(CHECKSUM_LEN.min(stored.len()));
        if checksum_of(plugin, engine, &code) != *stored {
            return None;
        }
        // The least recently used go first; where the time can't be set, the oldest do.
        drop(file.set_modified(SystemTime::now()));
        Some(code)
    }

    /// Keeps code. A store that can't be written costs a compilation next time and nothing else.
    pub(super) fn write(&self, plugin: &Digest, engine: &str, code: &[u8]) {
        let written =
            check_private(&self.folder).and_then(|()| Ok(self.write_whole(plugin, engine, code)?));
        match written {
            Ok(()) => self.prune(),
            Err(error) => tracing::warn!("compiled code wasn't kept: {error}"),
        }
    }

    /// All or nothing: a reader sees the old file, the new one, or none.
    fn write_whole(&self, plugin: &Digest, engine: &str, code: &[u8]) -> std::io::Result<()> {
        // Removed by its own drop, unless it gets the name that is read.
        let mut part = tempfile::NamedTempFile::new_in(&self.folder)?;
        part.write_all(&checksum_of(plugin, engine, code))?;
        part.write_all(code)?;
        part.as_file().sync_all()?;
        part.persist(self.path(plugin, engine))?;
        Ok(())
    }

    fn path(&self, plugin: &Digest, engine: &str) -> PathBuf {
        self.folder.join(format!("{plugin}-{engine}.code"))
    }

    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "code"))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let excess = files.len().saturating_sub(KEPT_FILES);
        for (_, path) in files.into_iter().take(excess) {
            // Another process may have been first.
            drop(std::fs::remove_file(path));
        }
    }
}

/// Binds code to its name: a file under another's name would run one plugin in place of another.
fn checksum_of(plugin: &Digest, engine: &str, code: &[u8]) -> [u8; CHECKSUM_LEN] {
    let mut hash = Sha256::new();
    hash.update(plugin.as_bytes());
    hash.update(engine.len().to_le_bytes());
    hash.update(engine);
    hash.update(code);
    hash.finalize().into()
}

fn check_private(folder: &Path) -> Result<(), CodeStoreError> {
    let found = std::fs::symlink_metadata(folder)?;
    let problem = if !found.is_dir() {
        "no folder".to_owned()
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "another user's".to_owned()
    } else if found.mode() & 0o077 != 0 {
        format!("open to others (mode {:04o})", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(CodeStoreError::NotPrivate(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn digest() -> Digest {
        Digest::of(b"plugin")
    }

    #[test]
    fn code_reads_back_for_its_own_engine_only() {
        let root = tempfile::tempdir().unwrap();
        let store = CodeStore::open(&root.path().join("a/code")).unwrap();
        store.write(&digest(), "e1", b"native");
        assert_eq!(store.read(&digest(), "e1").as_deref(), Some(&b"native"[..]));
        assert_eq!(store.read(&digest(), "e2"), None);
    }

    #[test]
    fn a_folder_that_others_can_open_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("code");
        let store = CodeStore::open(&folder).unwrap();
        store.write(&digest(), "e", b"native");
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        let error = CodeStore::open(&folder).unwrap_err().to_string();
        assert!(error.contains("mode 0755"), "{error}");
        assert_eq!(store.read(&digest(), "e"), None);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real");
        CodeStore::open(&real).unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(matches!(CodeStore::open(&link), Err(CodeStoreError::NotPrivate(_))));
    }

    #[test]
    fn damaged_and_cut_files_are_not_code() {
        let root = tempfile::tempdir().unwrap();
        let store = CodeStore::open(&root.path().join("code")).unwrap();
        store.write(&digest(), "e", b"native code");
        let path = store.path(&digest(), "e");
        let whole = std::fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..10], &[], &[0; 64]] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(store.read(&digest(), "e"), None);
        }
    }

    #[test]
    fn code_under_anothers_name_is_not_its_code() {
        let root = tempfile::tempdir().unwrap();
        let store = CodeStore::open(&root.path().join("code")).unwrap();
        store.write(&digest(), "e", b"native");
        let other = Digest::of(b"other");
        std::fs::copy(store.path(&digest(), "e"), store.path(&other, "e")).unwrap();
        assert_eq!(store.read(&other, "e"), None);
        assert_eq!(store.read(&digest(), "e").as_deref(), Some(&b"native"[..]));
    }

    #[test]
    fn the_number_of_files_is_bounded() {
        let root = tempfile::tempdir().unwrap();
        let store = CodeStore::open(&root.path().join("code")).unwrap();
        for index in 0..KEPT_FILES + 5 {
            store.write(&Digest::of(&index.to_le_bytes()), "e", b"x");
        }
        assert_eq!(std::fs::read_dir(&store.folder).unwrap().count(), KEPT_FILES);
    }
}
