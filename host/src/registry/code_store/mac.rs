//! Hashes of large content by as many threads as are free: the address of a plugin, and the MAC of
//! an entry.
//!
//! Both have two levels: each piece has a hash of its own, and the whole's is over these and what
//! else counts. Opens no file.

use std::io::Result;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use blake3::{Hash, Hasher};

use super::key::Key;

/// Bytes of one piece: what a processor's own cache holds, so that content is fetched from memory
/// once.
const PIECE_LEN: u64 = 256 << 10;
/// Threads that help. The fourth gains little: memory is what is waited for.
const THREADS_MAX: usize = 4;
/// Pieces that are worth a thread of their own.
const PIECES_A_THREAD: u64 = 4;

/// The address of a plugin: BLAKE3 of its bytes by pieces. Another hash than the digest that its
/// users see, which no processor computes by pieces: of 12 MB it takes a quarter of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Address(Hash);

impl Address {
    /// Of `len` bytes that `read` gives: it fills a buffer from an offset.
    pub(in super::super) fn of(
        len: u64,
        read: impl Fn(u64, &mut [u8]) -> Result<()> + Sync,
    ) -> Result<Self> {
        let mut hash = Hasher::new_derive_key("belljar code store 1, a plugin");
        hash.update(&len.to_le_bytes());
        let leaf = || Hasher::new_derive_key("belljar code store 1, one piece of a plugin");
        add_pieces(&mut hash, len, &leaf(), &read)?;
        Ok(Self(hash.finalize()))
    }

    pub(super) fn hex(&self) -> String {
        self.0.to_hex().to_string()
    }
}

/// What code is bound to.
pub(super) struct Bound<'a> {
    pub(super) plugin: &'a Address,
    pub(super) engine: &'a str,
    /// What an entry says beside the code.
    pub(super) said: &'a [u8],
}

/// The MAC of an entry with `len` bytes of code that `read` gives.
pub(super) fn mac_of(
    key: &Key,
    bound: &Bound<'_>,
    len: u64,
    read: impl Fn(u64, &mut [u8]) -> Result<()> + Sync,
) -> Result<Hash> {
    let mut hash = Hasher::new_keyed(&key.whole);
    hash.update(bound.plugin.0.as_bytes());
    for part in [bound.engine.as_bytes(), bound.said] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(&len.to_le_bytes());
    add_pieces(&mut hash, len, &Hasher::new_keyed(&key.pieces), &read)?;
    Ok(hash.finalize())
}

/// Adds the hash of each piece, in order; `leaf` is what each begins as.
fn add_pieces(
    whole: &mut Hasher,
    len: u64,
    leaf: &Hasher,
    read: &(impl Fn(u64, &mut [u8]) -> Result<()> + Sync),
) -> Result<()> {
    let count = len.div_ceil(PIECE_LEN);
    let (next, done) = (AtomicU64::new(0), Mutex::new(Ok(Vec::new())));
    let work = || {
        let mine = some_pieces(len, leaf, &next, read);
        let mut all = done.lock().unwrap_or_else(PoisonError::into_inner);
        match (&mut *all, mine) {
            (Ok(all), Ok(mine)) => all.extend(mine),
            (Ok(_), Err(error)) => *all = Err(error),
            (Err(_), _) => {}
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    let worth = usize::try_from(count / PIECES_A_THREAD).unwrap_or(cores);
    std::thread::scope(|scope| {
        for _ in 1..cores.min(worth) {
            // Where no thread can be had, the others do its work.
            drop(std::thread::Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
    let mut all = done.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    all.sort_unstable_by_key(|(index, _)| *index);
    for (_, piece) in all {
        whole.update(piece.as_bytes());
    }
    Ok(())
}

/// Takes pieces until none is left.
fn some_pieces(
    len: u64,
    leaf: &Hasher,
    next: &AtomicU64,
    read: &impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Vec<(u64, Hash)>> {
    let mut buffer = vec![0; usize::try_from(PIECE_LEN.min(len)).unwrap_or_default()];
    let mut mine = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let from = index.saturating_mul(PIECE_LEN);
        if from >= len {
            return Ok(mine);
        }
        let piece_len = usize::try_from(PIECE_LEN.min(len - from)).unwrap_or(buffer.len());
        let Some(piece) = buffer.get_mut(..piece_len) else { return Ok(mine) };
        read(from, piece)?;
        let mut hash = leaf.clone();
        // The index behind: so the piece itself is hashed in the widest steps of the processor.
        mine.push((index, hash.update(piece).update(&index.to_le_bytes()).finalize()));
    }
}
