//! A body that holds something until it is through, or given up.
//!
//! Changes nothing of what the body says.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The body, and what it holds.
struct Guarded<G> {
    body: Body,
    guard: Option<G>,
}

/// The same answer, whose body holds `guard` as long as anybody may still read of it.
pub(super) fn guarded<G: Send + Unpin + 'static>(answer: Response, guard: G) -> Response {
    answer.map(|body| Body::new(Guarded { body, guard: Some(guard) }))
}

impl<G: Unpin> HttpBody for Guarded<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) {
            self.guard = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
