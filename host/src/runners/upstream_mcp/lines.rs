//! MCP over the standard streams of a child: one message a line, each of bounded length.
//!
//! Knows no method. A line that is too long is never held: where it can be told whose answer it is,
//! that call alone fails; else the server goes. So with an answer that can't be read.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::child::Process;
use super::head::id_in_head;
use super::link::{Link, Spoilt};
use super::unread::{Unread, judge};

/// Lines of a connection that are no messages; a banner has a few.
const UNREADABLE_MAX: usize = 1_000;
/// How long a message may take to be read by the server. What waits to be written is memory.
const WRITE_MAX: Duration = Duration::from_secs(30);

/// One child's streams.
pub(super) struct Lines {
    read: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// The rest of a line that is too long is thrown away.
    discarding: bool,
    line_max: usize,
    unreadable: usize,
    write: Arc<Mutex<Option<ChildStdin>>>,
    process: Process,
    link: Arc<Link>,
}

/// What reading came to.
enum Read {
    Line,
    Overlong,
    End,
}

impl Lines {
    pub(super) fn new(
        process: Process,
        (read, write): (ChildStdout, ChildStdin),
        line_max: usize,
        link: Arc<Link>,
    ) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            discarding: false,
            line_max,
            unreadable: 0,
            write: Arc::new(Mutex::new(Some(write))),
            process,
            link,
        }
    }

    /// Reads on to the end of a line. Safe to drop at its await: what was read stays in `line`.
    async fn read_line(&mut self) -> Read {
        loop {
            let Ok(available) = self.read.fill_buf().await else { return Read::End };
            if available.is_empty() {
                return Read::End;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let was_discarding = self.discarding;
            let mut overlong = false;
            if !was_discarding {
                let room = self.line_max.saturating_sub(self.line.len());
                overlong = taken > room;
                self.line.extend(available.iter().take(taken.min(room)));
            }
            self.read.consume(taken);
            self.discarding = (was_discarding || overlong) && end.is_none();
            if overlong {
                return Read::Overlong;
            }
            if end.is_some() && !was_discarding {
                return Read::Line;
            }
        }
    }

    /// The message of a whole line; `None` where it is none that anybody waits for. `Err`: the
    /// server must go.
    fn message(&mut self) -> Result<Option<RxJsonRpcMessage<RoleClient>>, ()> {
        let line = self.line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        if let Ok(message) = serde_json::from_slice(line) {
            return Ok(Some(message));
        }
        match judge(line) {
            Unread::Answer(id) => Ok(Some(self.spoilt(id, Spoilt::Unreadable))),
            Unread::Broken => {
                self.link.tell_broken();
                Err(())
            }
            Unread::Stray => {
                self.unreadable += 1;
                if self.unreadable > UNREADABLE_MAX {
                    self.link.tell_why("what it writes to its standard output is no MCP");
                    return Err(());
                }
                Ok(None)
            }
        }
    }

    /// Stands for an answer that can't be handed on.
    fn spoilt(&self, id: RequestId, how: Spoilt) -> RxJsonRpcMessage<RoleClient> {
        self.link.spoil(id.clone(), how);
        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, "the answer was spoilt", None);
        JsonRpcMessage::error(error, Some(id))
    }
}

/// Writes a whole line, after those that wait already. A server that doesn't take it in time goes:
/// half a line may be out, so nothing can follow it.
async fn write_line<W: AsyncWrite + Unpin>(
    write: &Mutex<Option<W>>,
    line: &[u8],
    link: &Link,
) -> std::io::Result<()> {
    let writing = async {
        let mut write = write.lock().await;
        let Some(write) = write.as_mut() else {
            return Err(std::io::ErrorKind::NotConnected.into());
        };
        write.write_all(line).await?;
        write.flush().await
    };
    match tokio::time::timeout(WRITE_MAX, writing).await {
        Ok(written) => written,
        Err(_elapsed) => {
            link.tell_why("it doesn't read what it is sent");
            link.gone.cancel();
            Err(std::io::ErrorKind::TimedOut.into())
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (write, link) = (Arc::clone(&self.write), Arc::clone(&self.link));
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            write_line(&write, &line, &link).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.read_line().await {
                Read::End => {
                    if let Some(why) = self.process.last_words().await {
                        self.link.tell_why(why);
                    }
                    return None;
                }
                Read::Line => {
                    let message = self.message();
                    self.line.clear();
                    // A long answer must not hold its memory for as long as the server lives.
                    self.line.shrink_to(64 << 10);
                    match message {
                        Ok(Some(message)) => return Some(message),
                        Ok(None) => {}
                        Err(()) => return None,
                    }
                }
                Read::Overlong => {
                    let id = id_in_head(&self.line);
                    self.line = Vec::new();
                    let Some(id) = id else {
                        let max = self.line_max;
                        self.link.tell_why(format!("it wrote a line of more than {max} bytes"));
                        return None;
                    };
                    return Some(self.spoilt(id, Spoilt::Overlong(self.line_max)));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // Whoever still writes holds the lock, and a child that doesn't read must end all the same.
        if let Ok(mut write) = self.write.try_lock() {
            drop(write.take());
        }
        if let Some(why) = self.process.end().await {
            self.link.tell_why(why);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_takes_no_message_is_gone_and_keeps_none_that_waits() {
        let (write, _unread) = tokio::io::duplex(8);
        let (write, link) = (Mutex::new(Some(write)), Link::default());
        write_line(&write, b"short\n", &link).await.unwrap();
        assert!(!link.gone.is_cancelled());
        let (one, other) = tokio::join!(
            write_line(&write, b"longer than that\n", &link),
            write_line(&write, b"and another\n", &link)
        );
        assert!(one.is_err() && other.is_err() && link.gone.is_cancelled());
        assert_eq!(link.why(), "it doesn't read what it is sent");
    }
}
