//! One entry: the code, then what the plugin says, then what says that it is whole and ours.
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

use super::super::content::copy;
use super::folder::{self, not_ours};
use super::key::Key;
use super::mac::{Address, Bound, mac_of};
use super::{CODE, CodeStoreError, Kept, PART};
use crate::contract::ids::Digest;
use crate::sandbox::Code;

/// What every entry of this form ends in, before its MAC.
const MARK: [u8; 8] = *b"bj-code1";
const MAC_LEN: usize = blake3::OUT_LEN;
const DIGEST_LEN: usize = 32;
/// Longest that a plugin's words may be here, in bytes: more than an excerpt ever has.
const WORDS_MAX_LEN: usize = 4 << 20;
/// Bytes behind the words: the plugin's digest, the length of the words, the mark and the MAC.
pub(super) const SEAL_LEN: usize = DIGEST_LEN + size_of::<u32>() + MARK.len() + MAC_LEN;

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
    /// No such entry is written.
    #[error("it is longer than all that is kept")]
    TooLong,
    /// What is in it isn't what was kept under its name by this key.
    #[error("its MAC is wrong: it is damaged, another plugin's, or was kept by another key")]
    Mac,
}

pub(super) fn file_name(plugin: &Address, engine: &str) -> String {
    format!("{}-{engine}.{CODE}", plugin.hex())
}

/// Opens the entry of a plugin for an engine, and checks it. The file is locked as in use as long as
/// it is open. One of more than `most` bytes is none.
pub(super) fn open(
    folder: &Path,
    key: &Key,
    plugin: &Address,
    engine: &str,
    most: u64,
) -> Result<Kept, Refused> {
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
    // By its length, before a byte is read.
    if found.len() > most {
        return Err(Refused::TooLong);
    }
    let (digest, words) = verify(&file, found.len(), key, plugin, engine)?;
    // The least recently used go first; where the time can't be set, the oldest do.
    drop(file.set_modified(SystemTime::now()));
    Ok(Kept { code: Code::File(file), digest, words })
}

/// Gives back what the entry says of its plugin, once that is known to be true.
fn verify(
    file: &File,
    len: u64,
    key: &Key,
    plugin: &Address,
    engine: &str,
) -> Result<(Digest, Vec<u8>), Refused> {
    let before_seal = len.checked_sub(SEAL_LEN as u64).ok_or(Refused::Cut)?;
    let mut seal = [0; SEAL_LEN];
    file.read_exact_at(&mut seal, before_seal)?;
    let (said, end) = seal.split_at(DIGEST_LEN + size_of::<u32>());
    let (mark, stored) = end.split_at(MARK.len());
    let (digest, words_len) = said.split_at(DIGEST_LEN);
    let words_len = u32::from_le_bytes(words_len.try_into().map_err(|_short| Refused::Cut)?);
    let code_len = before_seal.checked_sub(u64::from(words_len)).filter(|len| *len > 0);
    let words_len = usize::try_from(words_len).ok().filter(|len| *len <= WORDS_MAX_LEN);
    let (Some(code_len), Some(words_len), true) = (code_len, words_len, mark == MARK) else {
        return Err(Refused::Cut);
    };
    let mut words = vec![0; words_len];
    file.read_exact_at(&mut words, code_len)?;
    let said = [&words, said].concat();
    let bound = Bound { plugin, engine, said: &said };
    let mac = mac_of(key, &bound, code_len, |from, piece| file.read_exact_at(piece, from))?;
    let stored: [u8; MAC_LEN] = stored.try_into().map_err(|_short| Refused::Cut)?;
    // Compared in the same time wherever they differ, by `blake3::Hash`.
    if mac != blake3::Hash::from_bytes(stored) {
        return Err(Refused::Mac);
    }
    let digest: [u8; DIGEST_LEN] = digest.try_into().map_err(|_short| Refused::Cut)?;
    Ok((Digest::from_bytes(digest), words))
}

/// Keeps code, in a file of `most` bytes at most. All or nothing: a reader sees the old file, the new
/// one, or none.
pub(super) fn write(
    folder: &Path,
    key: &Key,
    plugin: &Address,
    engine: &str,
    kept: (&[u8], &Digest, &[u8]),
    most: u64,
) -> Result<(), CodeStoreError> {
    let (code, digest, words) = kept;
    let opened = folder::open(folder)?;
    let too_much = || std::io::Error::other("it is larger than all that is kept");
    let len = code.len() as u64;
    if len + (words.len() + SEAL_LEN) as u64 > most || words.len() > WORDS_MAX_LEN {
        return Err(too_much().into());
    }
    let words_len = u32::try_from(words.len()).map_err(|_long| too_much())?;
    let said = [words, digest.as_bytes(), &words_len.to_le_bytes()].concat();
    let bound = Bound { plugin, engine, said: &said };
    let mac = mac_of(key, &bound, len, |from, piece| copy(code, from, piece))?;
    // Removed by its own drop, unless it gets the name that is read.
    let mut part = tempfile::Builder::new().suffix(&format!(".{PART}")).tempfile_in(folder)?;
    for piece in [code, &said, &MARK, mac.as_bytes()] {
        part.write_all(piece)?;
    }
    part.as_file().sync_all()?;
    part.persist(folder.join(file_name(plugin, engine))).map_err(|failed| failed.error)?;
    // So that the name outlives a crash too.
    File::from(opened).sync_all()?;
    Ok(())
}
