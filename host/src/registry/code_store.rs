//! Compiled code on disk, by plugin digest and engine: so that a second start maps instead of
//! compiling.
//!
//! Whoever can write here can run native code as this user, so the folder must belong to us and be
//! closed to everybody else, or it isn't used at all. A plugin's own compiled code is never taken.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use crate::contract::ids::Digest;

/// Files that are kept; the least recently used go first.
const KEPT_FILES: usize = 128;
/// Bytes that are kept, in all files, and so the most that one is read for; the least recently used
/// go first. componentize-py's 18 MB compile to about 40.
const KEPT_BYTES: u64 = 1 << 30;
/// The ending of kept code.
const CODE: &str = "code";
/// The ending of a file that isn't whole yet. A process that is killed leaves it behind.
const PART: &str = "part";
/// No file takes as long to be written, so whoever wrote this one is gone.
const PART_MAX_AGE: Duration = Duration::from_secs(60 * 60);
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
        (&file).take(KEPT_BYTES).read_to_end(&mut stored).ok()?;
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
        let mut part =
            tempfile::Builder::new().suffix(&format!(".{PART}")).tempfile_in(&self.folder)?;
        part.write_all(&checksum_of(plugin, engine, code))?;
        part.write_all(code)?;
        part.as_file().sync_all()?;
        part.persist(self.path(plugin, engine))?;
        Ok(())
    }

    fn path(&self, plugin: &Digest, engine: &str) -> PathBuf {
        self.folder.join(format!("{plugin}-{engine}.{CODE}"))
    }

    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut kept = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
            let Ok(used) = metadata.modified() else { continue };
            let ends_in = |ending| path.extension().is_some_and(|end| end == ending);
            if ends_in(CODE) {
                kept.push((used, metadata.len(), path));
            } else if ends_in(PART) && used.elapsed().is_ok_and(|age| age > PART_MAX_AGE) {
                remove(&path);
            }
        }
        kept.sort();
        let mut bytes: u64 = 0;
        for (index, (_, len, path)) in kept.iter().rev().enumerate() {
            bytes = bytes.saturating_add(*len);
            if index >= KEPT_FILES || bytes > KEPT_BYTES {
                remove(path);
            }
        }
    }
}

/// Another process may have been first, and what stays is met again next time.
fn remove(path: &Path) {
    drop(std::fs::remove_file(path));
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

    fn store_with(files: &[(&str, u64, u64)]) -> (tempfile::TempDir, CodeStore) {
        let root = tempfile::tempdir().unwrap();
        let store = CodeStore::open(&root.path().join("code")).unwrap();
        for (name, len, hours_old) in files {
            let file = std::fs::File::create(store.folder.join(name)).unwrap();
            file.set_len(*len).unwrap();
            let age = Duration::from_secs(60 * 60 * hours_old + 60);
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        store.write(&digest(), "e", b"native");
        (root, store)
    }

    fn has(store: &CodeStore, name: &str) -> bool {
        store.folder.join(name).exists()
    }

    #[test]
    fn the_bytes_of_all_files_are_bounded_and_the_least_recently_used_go() {
        let third = KEPT_BYTES / 3;
        let files = [("a.code", third, 3), ("b.code", third, 4), ("c.code", third, 2)];
        let (_root, store) = store_with(&files);
        assert!(store.read(&digest(), "e").is_some());
        assert_eq!([has(&store, "a.code"), has(&store, "b.code")], [true, false]);
        assert!(has(&store, "c.code"));
    }

    #[test]
    fn what_a_killed_process_left_is_swept_and_what_another_writes_is_not() {
        let files = [("old.part", 9, 2), ("new.part", 9, 0), ("old.text", 9, 2)];
        let (_root, store) = store_with(&files);
        assert!(!has(&store, "old.part") && has(&store, "new.part") && has(&store, "old.text"));
    }
}
