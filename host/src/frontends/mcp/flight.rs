//! The requests of one connection that are not answered yet: none twice, and not too many.
//!
//! Knows ids alone.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// Ids of cancelled requests that are remembered. Their calls may end later, and what they answer
/// must never be taken for the answer to another request of the same id.
const CANCELLED_MAX: usize = 1_024;

/// Why a request isn't taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FlightError {
    /// Its id is in use, or was that of a request that was cancelled.
    #[error("a request of this id is open, or was cancelled: ids of a connection must differ")]
    Duplicate,
    /// Too many.
    #[error("{0} requests of this connection are open: wait for answers before asking for more")]
    Full(usize),
}

/// Which requests are open.
#[derive(Debug)]
pub(super) struct Flight {
    max: usize,
    state: Mutex<State>,
    landed: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: HashSet<RequestId>,
    cancelled: VecDeque<RequestId>,
}

impl Flight {
    pub(super) fn new(max: usize) -> Self {
        Self { max, state: Mutex::default(), landed: Notify::new() }
    }

    /// Takes a request in.
    pub(super) fn enter(&self, id: &RequestId) -> Result<(), FlightError> {
        let mut state = self.lock();
        if state.open.contains(id) || state.cancelled.contains(id) {
            return Err(FlightError::Duplicate);
        }
        if state.open.len() >= self.max {
            return Err(FlightError::Full(self.max));
        }
        state.open.insert(id.clone());
        Ok(())
    }

    /// Whether nothing is waited for beside at most one answer.
    pub(super) fn is_last(&self) -> bool {
        self.lock().open.len() <= 1
    }

    /// It is answered.
    pub(super) fn answered(&self, id: &RequestId) {
        let mut state = self.lock();
        state.open.remove(id);
        self.tell(&state);
    }

    /// Its client wants no answer. One that isn't open changes nothing.
    pub(super) fn cancelled(&self, id: &RequestId) {
        let mut state = self.lock();
        if state.open.remove(id) {
            if state.cancelled.len() == CANCELLED_MAX {
                state.cancelled.pop_front();
            }
            state.cancelled.push_back(id.clone());
            self.tell(&state);
        }
    }

    /// Waits until none is open.
    pub(super) async fn empty(&self) {
        loop {
            let landed = self.landed.notified();
            if self.lock().open.is_empty() {
                return;
            }
            landed.await;
        }
    }

    fn tell(&self, state: &State) {
        if state.open.is_empty() {
            self.landed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    #[test]
    fn an_id_is_free_again_once_it_is_answered_and_not_once_it_is_cancelled() {
        let flight = Flight::new(4);
        flight.enter(&id(1)).unwrap();
        assert_eq!(flight.enter(&id(1)), Err(FlightError::Duplicate));
        flight.answered(&id(1));
        flight.enter(&id(1)).unwrap();
        flight.cancelled(&id(1));
        assert_eq!(flight.enter(&id(1)), Err(FlightError::Duplicate), "its call may still end");
        flight.cancelled(&id(9));
        flight.enter(&id(9)).unwrap();
    }

    #[test]
    fn one_request_more_than_the_bound_is_refused_and_cancelled_ones_dont_count() {
        let flight = Flight::new(2);
        flight.enter(&id(1)).unwrap();
        flight.enter(&id(2)).unwrap();
        assert_eq!(flight.enter(&id(3)), Err(FlightError::Full(2)));
        flight.cancelled(&id(1));
        flight.enter(&id(3)).unwrap();
    }

    #[test]
    fn of_cancelled_ids_the_newest_are_remembered() {
        let flight = Flight::new(1);
        for number in 0..=i64::try_from(CANCELLED_MAX).unwrap() {
            flight.enter(&id(number)).unwrap();
            flight.cancelled(&id(number));
        }
        assert_eq!(flight.lock().cancelled.len(), CANCELLED_MAX);
        flight.enter(&id(0)).unwrap();
    }

    #[tokio::test]
    async fn who_waits_for_the_last_answer_is_told() {
        let flight = Flight::new(2);
        flight.empty().await;
        flight.enter(&id(1)).unwrap();
        let waiting = flight.empty();
        tokio::pin!(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        flight.answered(&id(1));
        waiting.await;
    }
}
