//! One connection of lines: bounded both ways, and never silent about what it can't read.
//!
//! Reads and writes on tasks of its own, so that nothing is lost where `rmcp` drops a read half-way.
//! Knows no tool.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::flight::Flight;
use super::message::{Faulty, Kind, read};
use super::outlet::Outlet;
use super::settings::McpSettings;

/// Requests that wait for `rmcp`.
const WAITING_MAX: usize = 64;
/// So much of a buffer is kept once a long line is through.
const KEPT_BUFFER: usize = 64 << 10;
/// How long the last answers may take to be written once all else is over.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The connection, as `rmcp` has it.
pub(super) struct Wire {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    outgoing: Option<Outlet>,
    flight: Arc<Flight>,
    writer: Option<JoinHandle<()>>,
}

impl Wire {
    /// Begins to read and write. `closing` is cancelled when no more requests come, `stop` when what
    /// still runs then must end.
    pub(super) fn open<R, W>(
        from: R,
        to: W,
        settings: &McpSettings,
        closing: &CancellationToken,
        stop: &CancellationToken,
        shutdown: CancellationToken,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outgoing, writer) = Outlet::open(to, settings.bounds.queued, stop.clone());
        let (requests, incoming) = mpsc::channel(WAITING_MAX);
        let flight = Arc::new(Flight::new(settings.bounds.in_flight));
        let reader = Reader {
            lines: Lines::new(from, settings.bounds.message_bytes),
            requests,
            outgoing: outgoing.clone(),
            flight: Arc::clone(&flight),
            begun: false,
        };
        tokio::spawn(reader.run(closing.clone(), stop.clone(), shutdown, settings.drain));
        Self { incoming, outgoing: Some(outgoing), flight, writer: Some(writer) }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (outgoing, flight) = (self.outgoing.clone(), Arc::clone(&self.flight));
        let turn = outgoing.as_ref().map(Outlet::turn);
        let is_alone = answered(&item).is_some() && flight.is_last();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let (outgoing, turn) = outgoing.zip(turn).ok_or(io::ErrorKind::NotConnected)?;
            let sent = match is_alone {
                true => outgoing.send_soon(line, turn).await,
                false => outgoing.send(line, turn).await,
            };
            // Only now: an answer that nobody reads holds its place.
            if let Some(id) = answered(&item) {
                flight.answered(id);
            }
            if sent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.outgoing = None;
        self.incoming.close();
        if let Some(mut writer) = self.writer.take()
            && tokio::time::timeout(LAST_WORDS, &mut writer).await.is_err()
        {
            writer.abort();
        }
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer {
            writer.abort();
        }
    }
}

/// The request that a message answers.
fn answered(item: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match item {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

struct Reader<R> {
    lines: Lines<R>,
    requests: mpsc::Sender<ClientJsonRpcMessage>,
    outgoing: Outlet,
    flight: Arc<Flight>,
    /// Whether a request came yet. `rmcp` ends a connection that begins with anything else.
    begun: bool,
}

impl<R: AsyncRead + Send + Unpin> Reader<R> {
    async fn run(
        mut self,
        closing: CancellationToken,
        stop: CancellationToken,
        shutdown: CancellationToken,
        drain: Duration,
    ) {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            () = stop.cancelled() => {}
            () = self.read_all() => {}
        }
        closing.cancel();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            ended = tokio::time::timeout(drain, self.flight.empty()) => {
                if ended.is_err() {
                    stop.cancel();
                }
            }
        }
    }

    /// Hands on what comes, until no more does.
    async fn read_all(&mut self) {
        loop {
            let line = match self.lines.next().await {
                Ok(Some(Line::Whole(line))) => line,
                Ok(Some(Line::TooLong(max))) => {
                    if !self.refuse(&Faulty::too_long(max)).await {
                        return;
                    }
                    continue;
                }
                Ok(None) | Err(_) => return,
            };
            let taken = if line.trim_ascii().is_empty() { Ok(None) } else { read(&line) };
            self.lines.give_back(line);
            let goes_on = match taken {
                Ok(None) => true,
                Ok(Some((kind, message))) => self.hand_on(kind, message).await,
                Err(faulty) => self.refuse(&faulty).await,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Whether the connection goes on.
    async fn hand_on(&mut self, kind: Kind, message: ClientJsonRpcMessage) -> bool {
        match kind {
            Kind::Request(id) => {
                if let Err(error) = self.flight.enter(&id) {
                    return self.refuse(&Faulty::refused(id, error)).await;
                }
                self.begun = true;
            }
            Kind::Notification(_) | Kind::Response if !self.begun => return true,
            Kind::Notification(Some(cancelled)) => self.flight.cancelled(&cancelled),
            Kind::Notification(None) | Kind::Response => {}
        }
        self.requests.send(message).await.is_ok()
    }

    async fn refuse(&mut self, faulty: &Faulty) -> bool {
        self.outgoing.send(faulty.to_line(), self.outgoing.turn()).await
    }
}

enum Line {
    Whole(Vec<u8>),
    /// It had more bytes than this, and is dropped.
    TooLong(usize),
}

/// Lines of a stream, none held longer than the bound.
struct Lines<R> {
    from: BufReader<R>,
    max: usize,
    buffer: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(from: R, max: usize) -> Self {
        Self { from: BufReader::with_capacity(KEPT_BUFFER, from), max, buffer: Vec::new() }
    }

    /// The next line; `None` at the end. What stands before the end without its newline counts too:
    /// a client that half-closes its side may have left it out.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = std::mem::take(&mut self.buffer);
        let mut dropped = false;
        loop {
            let there = self.from.fill_buf().await?;
            let end = there.iter().position(|byte| *byte == b'\n');
            let part = there.split_at(end.unwrap_or(there.len())).0;
            let ended = end.is_some() || there.is_empty();
            if there.is_empty() && line.is_empty() && !dropped {
                return Ok(None);
            }
            dropped |= line.len() + part.len() > self.max;
            if dropped {
                line = Vec::new();
            } else {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.from.consume(used);
            if ended {
                return Ok(Some(if dropped { Line::TooLong(self.max) } else { Line::Whole(line) }));
            }
        }
    }

    /// Keeps a buffer for the next line.
    fn give_back(&mut self, mut line: Vec<u8>) {
        line.clear();
        line.shrink_to(KEPT_BUFFER);
        self.buffer = line;
    }
}
