//! Compiled code on disk, by the plugin's bytes and the engine: so that a second start maps instead of
//! compiling.
//!
//! Whoever can write here can run native code as this user, so the folder must belong to us and be
//! closed to everybody else, or it isn't used at all; and each entry has a MAC by a key that lives
//! elsewhere. That guards against stores that were moved, shared or damaged, and not against who is
//! this user already. A plugin's own compiled code is never taken.

mod entry;
mod folder;
mod key;
mod mac;
mod prune;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use self::entry::Refused;
use self::key::Key;
pub(super) use self::mac::Address;
use crate::contract::ids::Digest;
use crate::sandbox::{Code, is_short_of_room};

/// Bytes that are kept, in all files, and so the most that one may have; the least recently used go
/// first. componentize-py's 18 MB compile to about 40.
const KEPT_BYTES: u64 = 1 << 30;
/// The ending of kept code.
const CODE: &str = "code";
/// The ending of a file that isn't whole yet. A process that is killed leaves it behind.
const PART: &str = "part";

/// Why code can't be kept.
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
    /// The key can't be made or looked at.
    #[error("the key of compiled code can't be used: {0}")]
    KeyIo(std::io::Error),
    /// Others may know it, or it is no key.
    #[error(
        "the key of compiled code isn't used: it must be a file of this user with mode 0600 and 32 \
         bytes, and it is {0}; a new one is made where there is none"
    )]
    Key(String),
    /// Whoever can change an entry could read the key beside it.
    #[error("the key of compiled code is in the folder that it guards; keep it elsewhere")]
    KeyInside,
}

impl CodeStoreError {
    /// Whether the machine has no room to look, whatever the store is.
    pub(crate) fn is_for_want_of_room(&self) -> bool {
        matches!(self, Self::Io(error) | Self::KeyIo(error) if is_short_of_room(error))
    }
}

/// What became of the plugins that were looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptCode {
    /// Plugins whose code was there.
    pub used: u32,
    /// Entries that were there and not right: damaged, cut, another's, or by another key. Their
    /// plugins were compiled anew.
    pub refused: u32,
}

/// An entry that was checked: whoever has one needn't read the plugin.
#[derive(Debug)]
pub(super) struct Kept {
    /// The code.
    pub(super) code: Code<'static>,
    /// The plugin's digest.
    pub(super) digest: Digest,
    /// An excerpt of the plugin, with what it says of itself.
    pub(super) words: Vec<u8>,
}

/// A private folder of compiled code. Several processes may share it.
#[derive(Debug, Clone)]
pub struct CodeStore {
    folder: PathBuf,
    key: Arc<Key>,
    /// Most bytes of all files.
    most: u64,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    used: AtomicU32,
    refused: AtomicU32,
}

impl CodeStore {
    /// Opens the folder and the key's file, making each where it isn't there.
    ///
    /// # Errors
    /// A folder or a key that isn't ours alone.
    pub fn open(folder: &Path, key: &Path) -> Result<Self, CodeStoreError> {
        folder::make(folder)?;
        folder::open(folder)?;
        if key.starts_with(folder) {
            return Err(CodeStoreError::KeyInside);
        }
        let key = Arc::new(Key::read_or_make(key)?);
        Ok(Self { folder: folder.to_owned(), key, most: KEPT_BYTES, seen: Arc::default() })
    }

    /// What became of the plugins that were looked for so far.
    pub fn seen(&self) -> KeptCode {
        KeptCode {
            used: self.seen.used.load(Ordering::Relaxed),
            refused: self.seen.refused.load(Ordering::Relaxed),
        }
    }

    /// The entry of a plugin for an engine, if it is there, whole, ours and still private. What is
    /// there and isn't is told.
    ///
    /// # Errors
    /// What the machine says where it has no room to look; that tells nothing of the entry.
    pub(super) fn read(&self, plugin: &Address, engine: &str) -> std::io::Result<Option<Kept>> {
        match entry::open(&self.folder, &self.key, plugin, engine, self.most) {
            Ok(kept) => Ok(Some(kept)),
            Err(Refused::Missing) => Ok(None),
            Err(Refused::Io(error) | Refused::Folder(CodeStoreError::Io(error)))
                if is_short_of_room(&error) =>
            {
                Err(error)
            }
            Err(refused) => {
                self.refuse(plugin, &refused.to_string());
                Ok(None)
            }
        }
    }

    /// Counts an entry that is used.
    pub(super) fn used(&self) {
        self.seen.used.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an entry that was there and isn't used, and tells why.
    pub(super) fn refuse(&self, plugin: &Address, why: &str) {
        self.seen.refused.fetch_add(1, Ordering::Relaxed);
        let plugin = plugin.hex();
        tracing::warn!("kept code isn't used, its plugin is compiled anew: {why} (`{plugin}`)");
    }

    /// Keeps code, with the plugin's digest and an excerpt of it; gives whether it is kept. A store
    /// that can't be written costs a compilation next time and nothing else.
    pub(super) fn write(
        &self,
        plugin: &Address,
        engine: &str,
        code: &[u8],
        digest: &Digest,
        words: &[u8],
    ) -> bool {
        let kept = (code, digest, words);
        match entry::write(&self.folder, &self.key, plugin, engine, kept, self.most) {
            Ok(()) => {
                prune::prune(&self.folder, self.most);
                true
            }
            Err(error) => {
                tracing::warn!("compiled code wasn't kept: {error}");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests;
