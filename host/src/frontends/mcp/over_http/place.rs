//! Places of requests that are open, each held until its whole answer was taken.
//!
//! Counts alone; reads no message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use axum::body::Body;
use axum::http::StatusCode;
use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::super::flight::{Flight, FlightError};
use super::super::message::Faulty;

/// Places of requests outside of sessions, by caller: there are no more callers than are configured.
pub(super) struct Places {
    max: usize,
    of_callers: Mutex<HashMap<Option<String>, Arc<Semaphore>>>,
}

impl Places {
    pub(super) fn new(max: usize) -> Self {
        Self { max, of_callers: Mutex::default() }
    }

    /// A place for a request of this caller.
    pub(super) fn place(
        &self,
        caller: Option<String>,
        id: RequestId,
    ) -> Result<Place, (StatusCode, Faulty)> {
        let mut of_callers = self.of_callers.lock().unwrap_or_else(PoisonError::into_inner);
        let places = of_callers.entry(caller).or_insert_with(|| Arc::new(Semaphore::new(self.max)));
        match Arc::clone(places).try_acquire_owned() {
            Ok(permit) => Ok(Place::OfCaller { _permit: permit }),
            Err(_) => {
                let max = self.max;
                let why = format!("{max} requests of this caller are open: wait for answers");
                Err((StatusCode::TOO_MANY_REQUESTS, Faulty::too_many(Some(id), why)))
            }
        }
    }
}

/// A request's place among the open ones, until its answer is through.
pub(super) enum Place {
    /// Of a session, where ids must differ.
    OfSession {
        flight: Arc<Flight>,
        id: RequestId,
        /// Whether the whole answer was taken.
        through: bool,
    },
    /// Of a caller, whose requests each stand alone.
    OfCaller { _permit: OwnedSemaphorePermit },
}

impl Place {
    /// The place of a request of a session.
    pub(super) fn of_session(
        flight: Arc<Flight>,
        id: RequestId,
    ) -> Result<Self, (StatusCode, Faulty)> {
        match flight.enter(&id) {
            Ok(()) => Ok(Self::OfSession { flight, id, through: false }),
            Err(error) => {
                let status = match error {
                    FlightError::Duplicate => StatusCode::BAD_REQUEST,
                    FlightError::Full(_) => StatusCode::TOO_MANY_REQUESTS,
                };
                Err((status, Faulty::refused(id, error)))
            }
        }
    }

    fn saw<T>(&mut self, part: &Poll<Option<T>>) {
        if let Self::OfSession { through, .. } = self {
            *through |= matches!(part, Poll::Ready(None));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        match self {
            Self::OfSession { flight, id, through: true } => flight.answered(id),
            // Its call may go on without its stream, and what it answers then must not reach another
            // request of this id.
            Self::OfSession { flight, id, through: false } => flight.cancelled(id),
            Self::OfCaller { .. } => {}
        }
    }
}

/// The same body, which keeps its request's place while it is read. `call` goes along.
pub(super) fn held(body: Body, mut place: Place, call: Option<TaskTrackerToken>) -> Body {
    let mut parts = body.into_data_stream();
    Body::from_stream(poll_fn(move |context| {
        let _held = &call;
        let part = parts.poll_next_unpin(context);
        // By a method, so that the place as a whole is held here.
        place.saw(&part);
        part
    }))
}
