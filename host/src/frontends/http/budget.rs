//! How many bytes of bodies may lie in memory at once, of all requests together.
//!
//! A share is taken before the first byte is read, by the length that the request says, and given
//! back when its answer is through. Reads nothing of a body but its length.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// Bytes of the bodies of all requests, where the longest body isn't more than half of it.
const BODIES_MAX: usize = 256 << 20;
/// A body up to here takes no share, so that a short request is never refused for long ones: as many
/// of these as there are connections are 64 MiB.
pub(super) const SHORT_LEN: usize = 64 << 10;
/// What one permit stands for.
const UNIT: usize = 1 << 10;

/// What is left for bodies. One token has at most half of it.
#[derive(Debug)]
pub(super) struct BodyBudget {
    left: Arc<Semaphore>,
    body_max: usize,
    of_one: usize,
}

/// A request's share of it.
#[derive(Debug)]
pub(super) struct BodyShare(Mutex<[OwnedSemaphorePermit; 2]>);

impl BodyBudget {
    /// A budget for bodies of at most `body_max` bytes each.
    pub(super) fn new(body_max: usize) -> Self {
        let of_one = (BODIES_MAX / 2).max(body_max).div_ceil(UNIT);
        Self { left: Arc::new(Semaphore::new(2 * of_one)), body_max, of_one }
    }

    /// What one token may hold, to be made once for each.
    pub(super) fn of_one(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.of_one))
    }

    /// Takes the share of a body, where it needs one. One that doesn't say its length counts as the
    /// longest until it has been read.
    ///
    /// # Errors
    /// 503 where there is no room.
    pub(super) fn take(
        &self,
        of_token: &Arc<Semaphore>,
        body: Body,
    ) -> Result<(Body, Option<Arc<BodyShare>>), Problem> {
        let said = body.size_hint().upper().map(|len| usize::try_from(len).unwrap_or(usize::MAX));
        let len = said.unwrap_or(self.body_max).min(self.body_max);
        if len <= SHORT_LEN {
            return Ok((body, None));
        }
        let units = u32::try_from(len.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let taken = |from: &Arc<Semaphore>| Arc::clone(from).try_acquire_many_owned(units);
        let (Ok(own), Ok(all)) = (taken(of_token), taken(&self.left)) else {
            let detail = "the bodies of other requests take all the room that there is for them";
            return Err(Problem::unavailable(detail));
        };
        let share = Arc::new(BodyShare(Mutex::new([own, all])));
        let read = Read { body, read: 0, share: Arc::clone(&share) };
        Ok((Body::new(read), Some(share)))
    }
}

impl BodyShare {
    /// Gives back what a body of this length doesn't need.
    fn shrink(&self, len: usize) {
        let needs = if len <= SHORT_LEN { 0 } else { len.div_ceil(UNIT) };
        let mut permits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for permit in permits.iter_mut() {
            drop(permit.split(permit.num_permits().saturating_sub(needs)));
        }
    }
}

/// A body whose bytes are counted as they are read.
struct Read {
    body: Body,
    read: usize,
    share: Arc<BodyShare>,
}

impl HttpBody for Read {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => self.read += frame.data_ref().map_or(0, Bytes::len),
            Poll::Ready(None) => self.share.shrink(self.read),
            _ => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn long(len: usize) -> Body {
        Body::from(vec![b'x'; len])
    }

    /// The same bytes without their length.
    fn pieces(len: usize) -> Body {
        let piece = Ok::<_, std::convert::Infallible>(vec![b'x'; len]);
        Body::from_stream(futures_util::stream::iter([piece]))
    }

    #[test]
    fn all_bodies_together_are_bounded_and_those_of_one_token_by_half() {
        let budget = BodyBudget::new(8 << 20);
        let (one, other) = (budget.of_one(), budget.of_one());
        let take = |token: &Arc<Semaphore>| budget.take(token, long(8 << 20));
        let held: Vec<_> = (0..16).map(|_| take(&one).unwrap()).collect();
        let refused = take(&one).unwrap_err().document();
        assert_eq!(refused["status"], 503, "{refused}");
        let others: Vec<_> = (0..16).map(|_| take(&other).unwrap()).collect();
        assert!(take(&budget.of_one()).is_err(), "nothing is left");
        let (_, share) = budget.take(&budget.of_one(), long(SHORT_LEN)).unwrap();
        assert!(share.is_none(), "a short one needs no room");
        drop(others);
        assert!(take(&other).is_ok());
        drop(held);
    }

    #[tokio::test]
    async fn a_body_without_a_length_counts_as_the_longest_until_it_is_read() {
        let budget = BodyBudget::new(8 << 20);
        let token = budget.of_one();
        for (len, needs) in [(10, 0), (100 << 10, 100)] {
            let (body, share) = budget.take(&token, pieces(len)).unwrap();
            assert_eq!(token.available_permits(), (120 << 20) / UNIT);
            axum::body::to_bytes(body, usize::MAX).await.unwrap();
            assert_eq!(token.available_permits(), (128 << 20) / UNIT - needs);
            drop(share);
            assert_eq!(token.available_permits(), (128 << 20) / UNIT);
        }
    }

    #[test]
    fn the_longest_body_always_finds_room_where_nobody_else_is() {
        let budget = BodyBudget::new(1 << 30);
        assert!(budget.take(&budget.of_one(), pieces(1)).is_ok());
    }
}
