//! The standard streams as a protocol reads and writes them.
//!
//! A pipe is opened anew, so that it can be waited for without a thread and without changing how
//! whoever else holds it sees it. Anything else goes through a thread, which the end of the process
//! doesn't wait for.

use rustix::pipe::fcntl_setpipe_size;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe::OpenOptions;

/// Bytes that a pipe is asked to hold, which is what Linux lets any user have (pipe(7)). A long list of
/// tools then goes out at once, not a sixteenth of it each time that the client has read.
const PIPE_BYTES: usize = 1 << 20;

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
        Ok(pipe) => {
            // Where it is refused, the client is waited for more often, and that is all.
            fcntl_setpipe_size(&pipe, PIPE_BYTES).ok();
            Box::new(pipe)
        }
        Err(_no_pipe) => Box::new(tokio::io::stdout()),
    }
}
