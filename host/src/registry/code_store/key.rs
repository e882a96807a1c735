//! The key of the store: 32 random bytes in a file of this user, made once.
//!
//! It never leaves the process, and nothing prints it.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::CodeStoreError;
use super::folder::not_ours;

/// Bytes of a key, which is what BLAKE3 takes.
const KEY_LEN: usize = blake3::KEY_LEN;
/// How often another process may be first, and its key be gone again.
const TRIES: usize = 3;

/// The key, by purpose.
pub(super) struct Key {
    pub(super) pieces: [u8; KEY_LEN],
    pub(super) whole: [u8; KEY_LEN],
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads the key, making one where there is none. Whoever makes one at the same time ends up
    /// with the same.
    pub(super) fn read_or_make(path: &Path) -> Result<Self, CodeStoreError> {
        let mut last = None;
        for _ in 0..TRIES {
            match read(path) {
                Err(CodeStoreError::KeyIo(error)) if error.kind() == ErrorKind::NotFound => {
                    make(path).map_err(CodeStoreError::KeyIo)?;
                    last = Some(CodeStoreError::KeyIo(error));
                }
                read => return read,
            }
        }
        Err(last.unwrap_or_else(|| CodeStoreError::Key("gone".to_owned())))
    }

    fn of(bytes: &[u8; KEY_LEN]) -> Self {
        Self {
            pieces: blake3::derive_key("belljar code store 1, one piece of an entry", bytes),
            whole: blake3::derive_key("belljar code store 1, an entry", bytes),
        }
    }
}

fn read(path: &Path) -> Result<Key, CodeStoreError> {
    // A link isn't followed, and what would block isn't waited for.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(CodeStoreError::KeyIo)?;
    let found = file.metadata().map_err(CodeStoreError::KeyIo)?;
    if !found.is_file() {
        return Err(CodeStoreError::Key("no file".to_owned()));
    }
    if let Some(problem) = not_ours(&found) {
        return Err(CodeStoreError::Key(problem));
    }
    let mut bytes = Vec::new();
    let most = KEY_LEN as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(CodeStoreError::KeyIo)?;
    match <&[u8; KEY_LEN]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Key::of(bytes)),
        Err(_) => Err(CodeStoreError::Key(format!("{} bytes long", found.len()))),
    }
}

/// Puts a key there, unless another process did.
fn make(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut bytes = [0; KEY_LEN];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    // Of mode 0600, and removed by its own drop unless it gets the name.
    let mut part = tempfile::NamedTempFile::new_in(folder)?;
    part.write_all(&bytes)?;
    part.as_file().sync_all()?;
    match part.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != ErrorKind::AlreadyExists => Err(failed.error),
        _ => Ok(()),
    }
}
