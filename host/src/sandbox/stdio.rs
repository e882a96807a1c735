//! What a guest prints: the first and the last of it, the rest counted.
//!
//! A full stream never fails and never blocks: a plugin that prints too much loses words, not its
//! call. Nothing here reaches the process's own stdout.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes a guest may write in one go.
const WRITE_PERMIT: usize = 64 << 10;

#[derive(Debug)]
struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
    written: u64,
}

/// One of a guest's two streams.
#[derive(Debug, Clone)]
pub(crate) struct Printed {
    kept: Arc<Mutex<Kept>>,
    half: usize,
}

impl Printed {
    /// Keeps at most `max` bytes: half from the beginning, half from the end.
    pub(crate) fn new(max: usize) -> Self {
        let kept = Kept { head: Vec::new(), tail: VecDeque::new(), dropped: 0, written: 0 };
        Self { kept: Arc::new(Mutex::new(kept)), half: max / 2 }
    }

    fn keep(&self, mut bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.written += bytes.len() as u64;
        let room = self.half.saturating_sub(kept.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        kept.head.extend_from_slice(first);
        bytes = rest;
        if let Some(excess) = bytes.len().checked_sub(self.half) {
            kept.dropped += excess as u64;
            bytes = bytes.get(excess..).unwrap_or_default();
        }
        let overflow = (kept.tail.len() + bytes.len()).saturating_sub(self.half);
        kept.dropped += overflow as u64;
        let oldest = overflow.min(kept.tail.len());
        kept.tail.drain(..oldest);
        kept.tail.extend(bytes);
    }

    /// Bytes that were written, kept or not.
    pub(crate) fn written(&self) -> u64 {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    /// Takes the bytes that were kept, and says how many are missing from their middle.
    pub(crate) fn take_bytes(&self) -> (Vec<u8>, u64) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = std::mem::take(&mut kept.head);
        bytes.extend(kept.tail.drain(..));
        (bytes, kept.dropped)
    }

    /// The same within another bound.
    pub(crate) fn within(&self, max: usize) -> Self {
        if self.half <= max / 2 {
            return self.clone();
        }
        let smaller = Self::new(max);
        let (bytes, dropped) = self.take_bytes();
        smaller.keep(&bytes);
        let mut kept = smaller.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.dropped += dropped;
        drop(kept);
        smaller
    }

    /// The text that was kept, a line saying what is missing in its middle, and how many bytes
    /// are. `None`: nothing was printed.
    pub(crate) fn text(&self) -> Option<(String, u64)> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.head.is_empty() && kept.tail.is_empty() {
            return None;
        }
        let mut text = String::from_utf8_lossy(&kept.head).into_owned();
        if kept.dropped > 0 {
            text.push_str(&format!("\n[{} bytes dropped]\n", kept.dropped));
        }
        text.push_str(&String::from_utf8_lossy(kept.tail.make_contiguous()));
        Some((text, kept.dropped))
    }
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for it, which is refused at load.
        Box::new(tokio::io::sink())
    }

    // The default would be `AsyncWriteStream`, whose queue grows without bound by empty writes
    // (GHSA-5m8g, open in wasmtime-wasi 48.0.8).
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_PERMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_are_kept() {
        let printed = Printed::new(8);
        for piece in ["ab", "cdef", "ghijkl", "m"] {
            printed.keep(piece.as_bytes());
        }
        let (text, dropped) = printed.text().unwrap();
        assert_eq!((text.as_str(), dropped), ("abcd\n[5 bytes dropped]\njklm", 5));
    }

    #[test]
    fn a_flood_stays_within_its_bound() {
        let printed = Printed::new(1000);
        let megabyte = vec![b'x'; 1 << 20];
        for _ in 0..64 {
            printed.keep(&megabyte);
        }
        let (text, dropped) = printed.text().unwrap();
        assert!(text.len() < 1100, "{}", text.len());
        assert_eq!(dropped, (64 << 20) - 1000);
    }

    #[test]
    fn a_smaller_bound_keeps_the_first_and_the_last_of_what_was_kept() {
        let printed = Printed::new(100);
        printed.keep(&[b'a'; 50]);
        printed.keep(&[b'b'; 60]);
        let (text, dropped) = printed.within(8).text().unwrap();
        assert_eq!((text.as_str(), dropped), ("aaaa\n[102 bytes dropped]\nbbbb", 102));
    }

    #[test]
    fn silence_is_nothing() {
        assert_eq!(Printed::new(10).text(), None);
        Printed::new(10).keep(b"");
        assert_eq!(Printed::new(0).text(), None);
    }

    #[test]
    fn short_output_is_whole() {
        let printed = Printed::new(8);
        printed.keep(b"abcdefgh");
        assert_eq!(printed.text(), Some(("abcdefgh".to_owned(), 0)));
    }
}
