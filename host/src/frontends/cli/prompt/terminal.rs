//! Reads lines from the terminal behind stdin, so that nobody is stuck who no longer needs one.
//!
//! A thread of its own waits: neither the runtime nor the end of the process waits for it.

use std::io::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::oneshot;

/// Longest line. A terminal hands over 4095 bytes of one at most (Linux, `N_TTY_BUF_SIZE`).
const LINE_MAX_LEN: usize = 64 << 10;
/// How often is looked whether the line is still wanted.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Text(String),
    /// A line that can't be used, with the reason.
    Unfit(&'static str),
    /// The end of input, or a terminal that is gone.
    Ended,
}

/// Drops what was typed and not read.
pub(super) fn forget_typed() {
    // A terminal that can't do that has nothing to be afraid of: it isn't one.
    tcflush(stdin(), QueueSelector::IFlush).ok();
}

/// Reads the next line. Dropped while it waits, it leaves what is typed to the next reader.
pub(super) async fn read_line() -> Line {
    let (told, line) = oneshot::channel();
    let wanted = Wanted(Arc::new(AtomicBool::new(true)));
    let is_wanted = Arc::clone(&wanted.0);
    let reader = move || drop(told.send(read(&is_wanted)));
    let spawned = thread::Builder::new().name("approval-prompt".to_owned()).spawn(reader);
    match spawned {
        Ok(_detached) => line.await.unwrap_or(Line::Ended),
        Err(error) => {
            tracing::warn!("the terminal can't be read: {error}");
            Line::Ended
        }
    }
}

/// Tells the thread that nobody wants the line any more.
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

fn read(is_wanted: &AtomicBool) -> Line {
    let stdin = stdin();
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) if is_wanted.load(Ordering::SeqCst) => continue,
            Ok(_) if is_wanted.load(Ordering::SeqCst) => {}
            _ => return Line::Ended,
        }
        let read = match rustix::io::read(&stdin, &mut chunk) {
            Ok(0) | Err(Errno::IO) => return Line::Ended,
            Ok(read) => chunk.get(..read).unwrap_or_default(),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_gone) => return Line::Ended,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(read.get(..end.unwrap_or(read.len())).unwrap_or_default());
        if line.len() > LINE_MAX_LEN {
            forget_typed();
            return Line::Unfit("that line is too long: @FILE is for more");
        }
        if end.is_some() {
            return match String::from_utf8(line) {
                Ok(text) => Line::Text(text),
                Err(_) => Line::Unfit("that line isn't UTF-8"),
            };
        }
    }
}
