//! The places of connections: among all, among those of one token, and, before anybody known has
//! spoken on one, among the strangers.
//!
//! Strangers can't keep others out: where there are too many, the one that has been there longest
//! has to go, and whoever has a token shows it sooner than that. Accepts nothing itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::problem::Problem;
use super::tokens::{CONNECTIONS_OF_ONE, Speaker};

/// Connections at once on which nobody known has spoken: a quarter of all.
pub(super) const STRANGERS_MAX: usize = 256;

/// The connections of strangers, by when they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Strangers(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    all: BTreeMap<u64, CancellationToken>,
}

impl Waiting {
    fn oldest_goes(&mut self) {
        if let Some((_, oldest)) = self.all.pop_first() {
            oldest.cancel();
        }
    }
}

/// A stranger's place. Dropped, it is free.
#[derive(Debug)]
pub(super) struct Stranger {
    number: u64,
    among: Strangers,
    /// It has to go.
    pub(super) out: CancellationToken,
}

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in, for whom the oldest may have to go.
    pub(super) fn enter(&self) -> Stranger {
        let (mut waiting, out) = (self.lock(), CancellationToken::new());
        waiting.last += 1;
        let number = waiting.last;
        waiting.all.insert(number, out.clone());
        if waiting.all.len() > STRANGERS_MAX {
            waiting.oldest_goes();
        }
        drop(waiting);
        Stranger { number, among: self.clone(), out }
    }

    /// Ends the one that has been there longest.
    pub(super) fn oldest_goes(&self) {
        self.lock().oldest_goes();
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.among.lock().all.remove(&self.number);
    }
}

/// The place of a connection, which a stream of events gives back for one of its own.
#[derive(Debug, Clone)]
pub(super) struct ConnectionPlace(Arc<Mutex<Held>>);

#[derive(Debug)]
struct Held {
    among_all: Option<OwnedSemaphorePermit>,
    of_token: Option<OwnedSemaphorePermit>,
    stranger: Option<Stranger>,
}

impl ConnectionPlace {
    /// The place of a connection on which nobody has spoken yet.
    pub(super) fn new(among_all: OwnedSemaphorePermit, stranger: Stranger) -> Self {
        let (among_all, stranger) = (Some(among_all), Some(stranger));
        Self(Arc::new(Mutex::new(Held { among_all, of_token: None, stranger })))
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody known has spoken on it.
    pub(super) fn is_strangers(&self) -> bool {
        self.lock().stranger.is_some()
    }

    /// Notes that this one has spoken: from now on the connection is one of its token's.
    ///
    /// # Errors
    /// 429 where the token has too many.
    pub(super) fn known(&self, speaker: &Speaker) -> Result<(), Problem> {
        let mut held = self.lock();
        if held.stranger.is_none() {
            return Ok(());
        }
        let place = Arc::clone(&speaker.connections).try_acquire_owned().map_err(|_full| {
            Problem::too_many(format!("{CONNECTIONS_OF_ONE} connections of this token are open"))
        })?;
        (held.of_token, held.stranger) = (Some(place), None);
        Ok(())
    }

    /// Frees it, for a connection that has a place elsewhere.
    pub(super) fn give_back(&self) {
        let mut held = self.lock();
        (held.among_all, held.of_token) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;
    use crate::frontends::http::budget::BodyBudget;

    #[test]
    fn one_token_has_at_most_half_of_the_connections() {
        let places = Arc::new(Semaphore::new(1_024));
        let connection = || {
            let place = Arc::clone(&places).try_acquire_owned().unwrap();
            ConnectionPlace::new(place, Strangers::default().enter())
        };
        let budget = BodyBudget::new(0);
        let speaker = |name| Speaker::new(name, Vec::new(), None, &budget);
        let (one, other) = (speaker("one"), speaker("other"));
        let held: Vec<_> = (0..512).map(|_| connection()).collect();
        for own in &held {
            own.known(&one).unwrap();
            own.known(&one).unwrap();
            assert!(!own.is_strangers());
        }
        let next = connection();
        assert_eq!(next.known(&one).unwrap_err().document()["status"], 429);
        assert!(next.is_strangers());
        next.known(&other).unwrap();
        // A stream of events has a place elsewhere.
        held[0].give_back();
        connection().known(&one).unwrap();
        assert_eq!(places.available_permits(), 1_024 - 512);
    }

    #[test]
    fn where_there_are_too_many_strangers_the_oldest_goes() {
        let strangers = Strangers::default();
        let mut all: Vec<_> = (0..STRANGERS_MAX).map(|_| strangers.enter()).collect();
        drop(all.remove(0));
        let next = strangers.enter();
        assert!(all.iter().all(|it| !it.out.is_cancelled()), "one had gone by itself");
        let last = strangers.enter();
        assert!(all[0].out.is_cancelled() && !all[1].out.is_cancelled());
        assert!(!next.out.is_cancelled() && !last.out.is_cancelled());
        assert_eq!(strangers.lock().all.len(), STRANGERS_MAX);
        drop((all, next, last));
        assert!(strangers.lock().all.is_empty());
    }
}
