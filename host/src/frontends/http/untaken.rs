//! How many bytes of answers to one token lie in memory because it hasn't taken them yet.
//!
//! Counts answers that are there already, so that nothing that ran is lost: who has too many is not
//! served anew. By as much as its calls that run at that moment answer, the bound is passed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::problem::Problem;

/// Bytes from which on no other request of the token is served.
const UNTAKEN_MAX: usize = 128 << 20;

/// Bytes of the answers to one token that are not through.
#[derive(Debug, Clone, Default)]
pub(super) struct Untaken(Arc<AtomicUsize>);

/// An answer that is not through. It is when this is dropped.
#[derive(Debug)]
pub(super) struct Waits {
    untaken: Untaken,
    bytes: usize,
}

impl Untaken {
    /// Counts an answer of so many bytes.
    pub(super) fn add(&self, bytes: usize) -> Waits {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        Waits { untaken: self.clone(), bytes }
    }

    /// Whether one more request may be served.
    ///
    /// # Errors
    /// 503 where too much waits to be taken.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.0.load(Ordering::Relaxed) <= UNTAKEN_MAX {
            return Ok(());
        }
        let detail = "the answers to earlier requests of this token fill the room that there is for \
                      them: take those first";
        Err(Problem::unavailable(detail))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.untaken.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
