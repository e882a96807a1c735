//! The standard streams as a protocol reads and writes them.
//!
//! A pipe is opened anew, so that it can be waited for without a thread and without changing how
//! whoever else holds it sees it. Anything else goes through a thread, which the end of the process
//! doesn't wait for.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::OpenOptions;

/// Where the protocol is read.
pub(super) fn input() -> Box<dyn AsyncRead + Send + Unpin> {
    match OpenOptions::new().open_receiver("/proc/self/fd/0") {
        Ok(pipe) => Box::new(pipe),
        Err(_no_pipe) => Box::new(tokio::io::stdin()),
    }
}

/// Where it is written.
pub(super) fn output() -> Box<dyn AsyncWrite + Send + Unpin> {
    match OpenOptions::new().open_sender("/proc/self/fd/1") {
        Ok(pipe) => Box::new(pipe),
        Err(_no_pipe) => Box::new(tokio::io::stdout()),
    }
}
