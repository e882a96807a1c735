//! The way out of a connection: lines wait in a bounded queue, and one that nothing waits before goes
//! at once.
//!
//! Knows no message.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Lines that are written in one go.
const TOGETHER_MAX: usize = 64;
/// So much of a buffer is kept once a long line is through.
const KEPT_BUFFER: usize = 64 << 10;

/// Hands lines out. Its clones are the same way.
#[derive(Clone)]
pub(super) struct Outlet {
    queue: mpsc::Sender<Queued>,
    shared: Arc<Shared>,
}

struct Queued {
    line: Vec<u8>,
    _turn: Turn,
}

struct Shared {
    out: Mutex<Out>,
    /// Lines that have a turn and are not written yet.
    waiting: AtomicUsize,
}

/// The place of a line among others, from when it is taken until it is written or given up: no line
/// goes at once while an earlier one has its turn.
pub(super) struct Turn(Arc<Shared>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Outlet {
    /// A way to `to`, where at most so many lines wait. A reader that is gone cancels `stop`.
    pub(super) fn open<W>(to: W, queued: usize, stop: CancellationToken) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (queue, lines) = mpsc::channel(queued);
        let out = Mutex::new(Out { to: Box::new(to), rest: Vec::new() });
        let shared = Arc::new(Shared { out, waiting: AtomicUsize::new(0) });
        let writer = tokio::spawn(write(Arc::clone(&shared), lines, stop));
        (Self { queue, shared }, writer)
    }

    /// Takes the next turn.
    pub(super) fn turn(&self) -> Turn {
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        Turn(Arc::clone(&self.shared))
    }

    /// Waits for room, and leaves the line to be written. False: nobody reads any more.
    pub(super) async fn send(&self, line: Vec<u8>, turn: Turn) -> bool {
        self.queue.send(Queued { line, _turn: turn }).await.is_ok()
    }

    /// Writes a line without waiting, where nothing waits before it; else gives it back. A task less
    /// stands so between an answer and who waits for it, and mostly another thread's waking up.
    ///
    /// # Errors
    /// The line.
    pub(super) fn write_now(&self, line: Vec<u8>) -> Result<(), Vec<u8>> {
        let mut out = self.shared.lock();
        if !out.rest.is_empty() || self.shared.waiting.load(Ordering::Acquire) > 0 {
            return Err(line);
        }
        out.rest = line;
        let mut unwoken = Context::from_waker(Waker::noop());
        if !matches!(out.poll(&mut unwoken, &[], &mut 0), Poll::Ready(Ok(()))) {
            // The writer takes the rest, or meets the error. In a full queue something else wakes it.
            let _turn = self.turn();
            self.queue.try_send(Queued { line: Vec::new(), _turn }).ok();
        }
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Out {
    to: Box<dyn AsyncWrite + Send + Unpin>,
    /// What of a line that went at once didn't fit. It goes before all else.
    rest: Vec<u8>,
}

impl Out {
    /// Writes the rest, then `buffer` from `at`, which it moves on.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        buffer: &[u8],
        at: &mut usize,
    ) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let written = ready!(Pin::new(&mut self.to).poll_write(context, &self.rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.rest.drain(..written.min(self.rest.len()));
        }
        while let Some(left) = buffer.get(*at..).filter(|left| !left.is_empty()) {
            let written = ready!(Pin::new(&mut self.to).poll_write(context, left))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *at += written;
        }
        Pin::new(&mut self.to).poll_flush(context)
    }
}

/// Writes what waits in one go. A reader that is gone stops the connection.
async fn write(shared: Arc<Shared>, mut lines: mpsc::Receiver<Queued>, stop: CancellationToken) {
    let (mut queued, mut buffer) = (Vec::new(), Vec::new());
    while lines.recv_many(&mut queued, TOGETHER_MAX).await > 0 {
        queued.iter().for_each(|it: &Queued| buffer.extend_from_slice(&it.line));
        let mut at = 0;
        let written =
            std::future::poll_fn(|context| shared.lock().poll(context, &buffer, &mut at)).await;
        // Their turns end here, once they are written.
        queued.clear();
        if written.is_err() {
            stop.cancel();
            return;
        }
        buffer.clear();
        buffer.shrink_to(KEPT_BUFFER);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, DuplexStream};

    use super::*;

    /// A way whose reader takes so many bytes before it is read.
    fn outlet(room: usize, queued: usize) -> (Outlet, DuplexStream, JoinHandle<()>) {
        let (to, from) = tokio::io::duplex(room);
        let (outlet, writer) = Outlet::open(to, queued, CancellationToken::new());
        (outlet, from, writer)
    }

    async fn read(from: &mut DuplexStream, len: usize) -> String {
        let mut bytes = vec![0; len];
        from.read_exact(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[tokio::test]
    async fn a_line_that_nothing_waits_before_goes_at_once() {
        let (outlet, mut from, _writer) = outlet(64, 1);
        outlet.write_now(b"now\n".to_vec()).unwrap();
        assert_eq!(read(&mut from, 4).await, "now\n");
    }

    #[tokio::test]
    async fn no_line_overtakes_one_that_has_its_turn() {
        let (outlet, mut from, _writer) = outlet(64, 1);
        let turn = outlet.turn();
        let second = outlet.write_now(b"second\n".to_vec()).unwrap_err();
        assert!(outlet.send(b"first\n".to_vec(), turn).await);
        assert_eq!(read(&mut from, 6).await, "first\n");
        // The writer ends the turn after it has written.
        while outlet.shared.waiting.load(Ordering::Acquire) > 0 {
            tokio::task::yield_now().await;
        }
        outlet.write_now(second).unwrap();
        assert_eq!(read(&mut from, 7).await, "second\n");
    }

    #[tokio::test]
    async fn what_does_not_fit_goes_later_and_before_all_else() {
        let (outlet, mut from, writer) = outlet(4, 2);
        outlet.write_now(b"a long line\n".to_vec()).unwrap();
        assert!(outlet.write_now(b"no\n".to_vec()).is_err(), "a rest waits");
        let turn = outlet.turn();
        assert!(outlet.send(b"next\n".to_vec(), turn).await);
        assert_eq!(read(&mut from, 17).await, "a long line\nnext\n");
        drop(outlet);
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_stops_the_connection() {
        let (to, from) = tokio::io::duplex(64);
        let stop = CancellationToken::new();
        let (outlet, _writer) = Outlet::open(to, 1, stop.clone());
        drop(from);
        outlet.write_now(b"lost\n".to_vec()).unwrap();
        stop.cancelled().await;
    }
}
