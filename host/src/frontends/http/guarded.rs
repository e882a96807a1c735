//! A body that holds something until it is through, or given up.
//!
//! Changes nothing of what the body says.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// Bytes that are handed on at once. Whoever writes them takes no more before most of what it has is
/// written, so that what is held is held until then.
const PIECE_LEN: usize = 32 << 10;

/// The body, and what it holds.
struct Guarded<G> {
    body: Body,
    /// What of the body is to be handed on before any more of it is asked for.
    rest: Bytes,
    guard: Option<G>,
}

/// The same answer, whose body holds `guard` as long as anybody may still read of it.
pub(super) fn guarded<G: Send + Unpin + 'static>(answer: Response, guard: G) -> Response {
    answer.map(|body| Body::new(Guarded { body, rest: Bytes::new(), guard: Some(guard) }))
}

impl<G> Guarded<G> {
    fn piece(&mut self) -> Bytes {
        self.rest.split_to(self.rest.len().min(PIECE_LEN))
    }
}

impl<G: Unpin> HttpBody for Guarded<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(self.piece()))));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match polled {
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(match frame.into_data() {
                Ok(bytes) => {
                    self.rest = bytes;
                    Frame::data(self.piece())
                }
                Err(other) => other,
            }))),
            Poll::Ready(None) => {
                self.guard = None;
                Poll::Ready(None)
            }
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower().saturating_add(rest));
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper.saturating_add(rest));
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn what_is_held_is_held_until_the_last_piece_is_taken() {
        let held = Arc::new(());
        let text: Vec<u8> = (0..=250).cycle().take(2 * PIECE_LEN + 5).collect();
        let answer = Response::new(Body::from(text.clone()));
        let mut body = guarded(answer, Arc::clone(&held)).into_body();
        let mut read = Vec::new();
        for left in [2 * PIECE_LEN + 5, PIECE_LEN + 5, 5] {
            assert_eq!(body.size_hint().exact(), Some(left as u64));
            assert!(!body.is_end_stream() && Arc::strong_count(&held) == 2);
            let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
            read.extend(frame.await.unwrap().unwrap().into_data().unwrap());
        }
        assert!(body.is_end_stream() && read == text);
        drop(body);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
