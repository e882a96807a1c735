//! One entry: the code, then what says that it is whole, ours and this plugin's.
//!
//! The code stands first because wasmtime maps a file from its beginning. A file is looked at,
//! checked and handed on by one descriptor, so that no name can come to mean another file between.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;

use super::folder::{self, not_ours};
use super::key::Key;
use super::mac::{Bound, mac_of};
use super::{CODE, CodeStoreError, KEPT_BYTES, PART};
use crate::contract::ids::Digest;

/// What every entry of this form ends in, before its MAC.
const MARK: [u8; 8] = *b"bj-code1";
const MAC_LEN: usize = blake3::OUT_LEN;
/// Bytes behind the code: the mark and the MAC.
pub(super) const SEAL_LEN: u64 = (MARK.len() + MAC_LEN) as u64;

/// Why an entry isn't used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    /// Nothing is there.
    #[error("there is none")]
    Missing,
    /// The folder isn't ours any more.
    #[error(transparent)]
    Folder(#[from] CodeStoreError),
    /// It can't be read.
    #[error("it can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is no file, or another user could write to it.
    #[error("it must be a file of this user with mode 0600, and it is {0}")]
    NotPrivate(String),
    /// It isn't an entry, or not a whole one.
    #[error("it isn't whole")]
    Cut,
    /// What is in it isn't what was kept under its name by this key.
    #[error("its MAC is wrong: it is damaged, another plugin's, or was kept by another key")]
    Mac,
}

pub(super) fn file_name(plugin: &Digest, engine: &str) -> String {
    format!("{plugin}-{engine}.{CODE}")
}

/// Opens the entry of a plugin for an engine, and checks it. The file is locked as in use as long as
/// it is open.
pub(super) fn open(
    folder: &Path,
    key: &Key,
    plugin: &Digest,
    engine: &str,
) -> Result<File, Refused> {
    let folder = folder::open(folder)?;
    let name = file_name(plugin, engine);
    // What isn't a file isn't ours, and opening it could block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(Refused::Missing),
        Err(Errno::LOOP) => return Err(Refused::NotPrivate("a link".to_owned())),
        Err(error) => return Err(Refused::Io(error.into())),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(Refused::NotPrivate("no file".to_owned()));
    }
    if let Some(problem) = not_ours(&found) {
        return Err(Refused::NotPrivate(problem));
    }
    // Before the check: whoever tidies up leaves it alone from here on. Where a file system has no
    // locks it may be removed meanwhile, which a mapping survives.
    flock(&file, FlockOperation::NonBlockingLockShared).unwrap_or_default();
    verify(&file, found.len(), key, &Bound { plugin, engine })?;
    // The least recently used go first; where the time can't be set, the oldest do.
    drop(file.set_modified(SystemTime::now()));
    Ok(file)
}

fn verify(file: &File, len: u64, key: &Key, bound: &Bound<'_>) -> Result<(), Refused> {
    let code_len = len.checked_sub(SEAL_LEN).filter(|len| (1..=KEPT_BYTES).contains(len));
    let code_len = code_len.ok_or(Refused::Cut)?;
    let (mut mark, mut stored) = ([0; MARK.len()], [0; MAC_LEN]);
    file.read_exact_at(&mut mark, code_len)?;
    file.read_exact_at(&mut stored, code_len + MARK.len() as u64)?;
    if mark != MARK {
        return Err(Refused::Cut);
    }
    let mac = mac_of(key, bound, code_len, |from, piece| file.read_exact_at(piece, from))?;
    // Compared in the same time wherever they differ, by `blake3::Hash`.
    if mac == blake3::Hash::from_bytes(stored) { Ok(()) } else { Err(Refused::Mac) }
}

/// Keeps code. All or nothing: a reader sees the old file, the new one, or none.
pub(super) fn write(
    folder: &Path,
    key: &Key,
    plugin: &Digest,
    engine: &str,
    code: &[u8],
) -> Result<(), CodeStoreError> {
    let opened = folder::open(folder)?;
    let len = code.len() as u64;
    if len > KEPT_BYTES - SEAL_LEN {
        return Err(std::io::Error::other("it is larger than all that is kept").into());
    }
    let mac = mac_of(key, &Bound { plugin, engine }, len, |from, piece| copy(code, from, piece))?;
    // Removed by its own drop, unless it gets the name that is read.
    let mut part = tempfile::Builder::new().suffix(&format!(".{PART}")).tempfile_in(folder)?;
    part.write_all(code)?;
    part.write_all(&MARK)?;
    part.write_all(mac.as_bytes())?;
    part.as_file().sync_all()?;
    part.persist(folder.join(file_name(plugin, engine))).map_err(|failed| failed.error)?;
    // So that the name outlives a crash too.
    File::from(opened).sync_all()?;
    Ok(())
}

/// Fills `piece` from an offset of `code`.
fn copy(code: &[u8], from: u64, piece: &mut [u8]) -> std::io::Result<()> {
    let beyond = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
    let from = usize::try_from(from).map_err(|_too_far| beyond())?;
    let rest = code.get(from..).and_then(|rest| rest.get(..piece.len())).ok_or_else(beyond)?;
    piece.copy_from_slice(rest);
    Ok(())
}
