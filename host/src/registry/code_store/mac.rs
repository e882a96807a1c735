//! The MAC of an entry, computed by as many threads as are free.
//!
//! Two levels: each piece of the code has a keyed hash of its own, and the entry's is over these,
//! the plugin's digest and the engine. Opens no file.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use blake3::{Hash, Hasher};

use super::key::Key;
use crate::contract::ids::Digest;

/// Bytes of one piece: what a processor's own cache holds, so that code is fetched from memory once.
const PIECE_LEN: u64 = 256 << 10;
/// Threads that help. The fourth gains little: memory is what is waited for.
const THREADS_MAX: usize = 4;
/// Pieces that are worth a thread of their own.
const PIECES_A_THREAD: u64 = 4;

/// What code is bound to.
pub(super) struct Bound<'a> {
    pub(super) plugin: &'a Digest,
    pub(super) engine: &'a str,
}

/// The MAC of `len` bytes of code that `read` gives: it fills a buffer from an offset.
pub(super) fn mac_of<E: Send>(
    key: &Key,
    bound: &Bound<'_>,
    len: u64,
    read: impl Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<Hash, E> {
    let mut hash = Hasher::new_keyed(&key.whole);
    hash.update(bound.plugin.as_bytes());
    hash.update(&(bound.engine.len() as u64).to_le_bytes());
    hash.update(bound.engine.as_bytes());
    hash.update(&len.to_le_bytes());
    for piece in pieces(key, len, &read)? {
        hash.update(piece.as_bytes());
    }
    Ok(hash.finalize())
}

/// The hash of each piece, in order.
fn pieces<E: Send>(
    key: &Key,
    len: u64,
    read: &(impl Fn(u64, &mut [u8]) -> Result<(), E> + Sync),
) -> Result<Vec<Hash>, E> {
    let count = len.div_ceil(PIECE_LEN);
    let (next, done) = (AtomicU64::new(0), Mutex::new(Ok(Vec::new())));
    let work = || {
        let mine = some_pieces(key, len, &next, read);
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
    Ok(all.into_iter().map(|(_, hash)| hash).collect())
}

/// Takes pieces until none is left.
fn some_pieces<E>(
    key: &Key,
    len: u64,
    next: &AtomicU64,
    read: &impl Fn(u64, &mut [u8]) -> Result<(), E>,
) -> Result<Vec<(u64, Hash)>, E> {
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
        let mut hash = Hasher::new_keyed(&key.pieces);
        hash.update(&index.to_le_bytes());
        mine.push((index, hash.update(piece).finalize()));
    }
}
