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
        let out = Mutex::new(Out { to: Box::new(to), rest: Vec::new(), rest_at: 0 });
        let shared = Arc::new(Shared { out, waiting: AtomicUsize::new(0) });
        let writer = tokio::spawn(write(Arc::clone(&shared), lines, stop));
        (Self { queue, shared }, writer)
    }

    /// Takes the next turn.
    pub(super) fn turn(&self) -> Turn {
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        Turn(Arc::clone(&self.shared))
    }

    /// Waits for room, and leaves the line to be written together with others. False: nobody reads
    /// any more.
    pub(super) async fn send(&self, line: Vec<u8>, turn: Turn) -> bool {
        self.queue.send(Queued { line, _turn: turn }).await.is_ok()
    }

    /// The same for a line that its reader waits for: at once where no other has its turn. A task
    /// less stands so between an answer and who waits for it, and mostly another thread's waking up.
    pub(super) async fn send_soon(&self, line: Vec<u8>, turn: Turn) -> bool {
        match self.write_now(line) {
            Ok(()) => true,
            Err(line) => self.send(line, turn).await,
        }
    }

    /// Writes the line of the only turn without waiting, or gives it back.
    fn write_now(&self, line: Vec<u8>) -> Result<(), Vec<u8>> {
        let mut out = self.shared.lock();
        if !out.rest.is_empty() || self.shared.waiting.load(Ordering::Acquire) > 1 {
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
    /// A line that went at once, of which not all fitted. The rest goes before all else.
    rest: Vec<u8>,
    /// Where that begins.
    rest_at: usize,
}

impl Out {
    /// Writes the rest, then `buffer` from `at`, which it moves on.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        buffer: &[u8],
        at: &mut usize,
    ) -> Poll<io::Result<()>> {
        ready!(poll_all(&mut self.to, context, &self.rest, &mut self.rest_at))?;
        (self.rest, self.rest_at) = (Vec::new(), 0);
        ready!(poll_all(&mut self.to, context, buffer, at))?;
        Pin::new(&mut self.to).poll_flush(context)
    }
}

/// Writes `bytes` from `at`, which it moves on.
fn poll_all(
    to: &mut (dyn AsyncWrite + Send + Unpin),
    context: &mut Context<'_>,
    bytes: &[u8],
    at: &mut usize,
) -> Poll<io::Result<()>> {
    while let Some(left) = bytes.get(*at..).filter(|left| !left.is_empty()) {
        let written = ready!(Pin::new(&mut *to).poll_write(context, left))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        *at += written;
    }
    Poll::Ready(Ok(()))
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
        let _turn = outlet.turn();
        outlet.write_now(b"now\n".to_vec()).unwrap();
        assert_eq!(read(&mut from, 4).await, "now\n");
    }

    #[tokio::test]
    async fn no_line_overtakes_one_that_has_its_turn() {
        let (outlet, mut from, _writer) = outlet(64, 1);
        let (first, second) = (outlet.turn(), outlet.turn());
        let line = outlet.write_now(b"second\n".to_vec()).unwrap_err();
        assert!(outlet.send(b"first\n".to_vec(), first).await);
        assert!(outlet.send_soon(line, second).await);
        assert_eq!(read(&mut from, 13).await, "first\nsecond\n");
    }

    #[tokio::test]
    async fn what_does_not_fit_goes_later_and_before_all_else() {
        let (outlet, mut from, writer) = outlet(4, 2);
        assert!(outlet.send_soon(b"a long line\n".to_vec(), outlet.turn()).await);
        assert!(outlet.write_now(b"no\n".to_vec()).is_err(), "a rest waits");
        assert!(outlet.send_soon(b"next\n".to_vec(), outlet.turn()).await);
        assert_eq!(read(&mut from, 17).await, "a long line\nnext\n");
        drop(outlet);
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn a_rest_goes_out_also_where_the_queue_is_full() {
        let (outlet, mut from, writer) = outlet(4, 1);
        // The line that wakes the writer for the rest fills the queue.
        assert!(outlet.send_soon(b"a long line\n".to_vec(), outlet.turn()).await);
        let sender = outlet.clone();
        let sent = tokio::spawn(async move {
            assert!(sender.send_soon(b"second\n".to_vec(), sender.turn()).await);
            assert!(sender.send_soon(b"third\n".to_vec(), sender.turn()).await);
        });
        assert_eq!(read(&mut from, 25).await, "a long line\nsecond\nthird\n");
        sent.await.unwrap();
        drop(outlet);
        writer.await.unwrap();
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_stops_the_connection() {
        let (to, from) = tokio::io::duplex(64);
        let stop = CancellationToken::new();
        let (outlet, _writer) = Outlet::open(to, 1, stop.clone());
        drop(from);
        assert!(outlet.send_soon(b"lost\n".to_vec(), outlet.turn()).await);
        stop.cancelled().await;
    }
}
