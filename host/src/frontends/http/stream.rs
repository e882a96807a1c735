//! The bytes of a connection, of which a client may have ended its own side.
//!
//! A client that has gone and one that has only said all look the same: nothing more comes. Whoever
//! is still there takes what is sent, and for whoever isn't the system answers with a reset. So an
//! interim answer goes out (100, which a client of HTTP/1.1 passes over: RFC 9110, section 15.2),
//! and the request goes on until its answer or the reset. Knows of a request only that there is one.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::Version;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Interval, MissedTickBehavior};

/// What asks whether somebody is there.
const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// How often is looked whether a reset has come.
const LOOK: Duration = Duration::from_millis(20);

/// What a connection is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Doing {
    #[default]
    Nothing,
    /// A request has no answer yet. Whether an interim one may go out: HTTP/1.0 knows none.
    Asked { may_be_told: bool },
    /// An answer goes out that has an end.
    Answering,
    /// One that goes on until its client leaves.
    Streaming,
}

/// What is known of a connection's request, by who reads the bytes and by who answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    doing: Doing,
    /// Nothing more comes.
    is_half: bool,
}

impl Requests {
    fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A request came; it is one until the guard is gone. A connection has one at a time.
    pub(super) fn asked(&self, version: Version) -> Asked {
        let may_be_told = version >= Version::HTTP_11;
        self.with(|state| state.doing = Doing::Asked { may_be_told });
        Asked(self.clone())
    }
}

/// A request that isn't through.
#[derive(Debug)]
pub(super) struct Asked(Requests);

impl Asked {
    /// This is its answer, as far as its head.
    pub(super) fn answered(&self, answer: &Response) {
        let kind = answer.headers().get(CONTENT_TYPE);
        let is_stream = kind.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
        let doing = if is_stream { Doing::Streaming } else { Doing::Answering };
        self.0.with(|state| state.doing = doing);
    }

    /// The body of the request, which breaks off where nothing more comes.
    pub(super) fn reading(&self, body: Body) -> Body {
        match body.is_end_stream() {
            true => body,
            false => Body::new(Reading { body, requests: self.0.clone() }),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.with(|state| state.doing = Doing::Nothing);
    }
}

struct Reading {
    body: Body,
    requests: Requests,
}

impl HttpBody for Reading {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending if self.requests.with(|state| state.is_half) => {
                let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                Poll::Ready(Some(Err(axum::Error::new(error))))
            }
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The bytes.
#[derive(Debug)]
pub(super) struct ClientStream {
    stream: TcpStream,
    requests: Requests,
    /// Whether all of what was begun has been written, so that something may go between.
    is_flushed: bool,
    /// Whether somebody was asked to be there, once nothing more came.
    was_told: bool,
    look: Option<Interval>,
}

impl ClientStream {
    pub(super) fn new(stream: TcpStream, requests: Requests) -> Self {
        Self { stream, requests, is_flushed: true, was_told: false, look: None }
    }

    /// Nothing more comes. Ready where that means the end.
    fn poll_half(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let doing = self.requests.with(|state| {
                state.is_half = true;
                state.doing
            });
            match doing {
                Doing::Nothing | Doing::Streaming => return Poll::Ready(Ok(())),
                Doing::Asked { .. } if self.was_told => {}
                Doing::Asked { may_be_told } => {
                    let may_be_told = may_be_told && self.is_flushed;
                    // Where it can't go out whole nobody can be told apart.
                    if !may_be_told || self.stream.try_write(INTERIM).ok() != Some(INTERIM.len()) {
                        return Poll::Ready(Ok(()));
                    }
                    self.was_told = true;
                }
                // What is written is answered by a reset as well.
                Doing::Answering => {}
            }
            let look = self.look.get_or_insert_with(|| {
                let mut look = tokio::time::interval(LOOK);
                look.set_missed_tick_behavior(MissedTickBehavior::Delay);
                look
            });
            ready!(look.poll_tick(context));
            if let Some(gone) = self.stream.take_error()? {
                return Poll::Ready(Err(gone));
            }
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.remaining();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        if into.remaining() < before || before == 0 {
            return Poll::Ready(Ok(()));
        }
        self.poll_half(context)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.is_flushed = true;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
