//! The queue of requests: one for all channels of a host.
//!
//! Holds store, bus, clock and settings together; `ask` waits, `decide` answers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::broadcast;

use super::error::ApprovalError;
use super::hold::Held;
use super::hook::ApprovalHook;
use super::notice::{self, Notice};
use super::recording;
use super::remembered::RememberedSet;
use super::request::Asking;
use super::seen::Seen;
use super::waiting::Waiting;
use crate::contract::approval::{
    ApprovalEntry, ApprovalRequest, ApprovalState, Approver, Remembered,
};
use crate::contract::decision::AskReason;
use crate::contract::ids::{ApprovalId, Digest};
use crate::events::{Clock, EventBus, EventKind, Journal};
use crate::storage::{ApprovalStore, ListFilter, StorageError, Summary};

/// The longest a request can wait: a day. Whoever answers later answers a call nobody remembers.
const TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Why a request ends whose time is over.
pub(super) const LAPSED: &str = "nobody answered in time, or no call took the answer";

/// How long is waited, and who may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a request can be answered, at most a day.
    pub ttl: Duration,
    /// How long a call in mode `HandBack` waits before it answers `approval_pending`. Many clients
    /// give up after 60 s.
    pub hand_back: Duration,
    /// How often is looked for answers from other processes, while a call waits.
    pub poll: Duration,
    /// Whether a caller may approve its own calls.
    pub self_approval: bool,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(900),
            hand_back: Duration::from_secs(20),
            poll: Duration::from_millis(200),
            self_approval: false,
        }
    }
}

/// The queue. Clones are the same queue.
#[derive(Debug, Clone)]
pub struct ApprovalQueue(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<dyn ApprovalStore>,
    pub(super) bus: EventBus,
    pub(super) clock: Clock,
    pub(super) settings: ApprovalSettings,
    pub(super) hook: Option<Arc<dyn ApprovalHook>>,
    pub(super) waiting: Arc<Waiting>,
    pub(super) held: Held,
    pub(super) notices: broadcast::Sender<Notice>,
    /// Where requests and answers of this process are recorded.
    pub(super) journal: OnceLock<Journal>,
    pub(super) seen: Seen,
}

impl ApprovalQueue {
    /// A queue over a store; `hook` is asked beside whoever else can answer.
    pub fn new(
        store: Arc<dyn ApprovalStore>,
        bus: EventBus,
        clock: Clock,
        mut settings: ApprovalSettings,
        hook: Option<Arc<dyn ApprovalHook>>,
    ) -> Self {
        settings.ttl = settings.ttl.min(TTL_MAX);
        Self(Arc::new(Shared {
            store,
            bus,
            clock,
            settings,
            hook,
            waiting: Arc::default(),
            held: Held::default(),
            notices: broadcast::Sender::new(notice::HELD_MAX),
            journal: OnceLock::new(),
            seen: Seen::default(),
        }))
    }

    /// Records in `journal`, from now on, what is asked and answered by this queue and its clones;
    /// the first journal stays.
    pub fn record_in(&self, journal: Journal) {
        self.0.journal.get_or_init(|| journal);
    }

    /// Whether other processes of this machine see what is asked here, and can answer it.
    pub fn is_seen_elsewhere(&self) -> bool {
        self.0.store.is_shared()
    }

    pub(super) fn now(&self) -> u64 {
        (self.0.clock)()
    }

    /// Makes the request of a call that has to ask, and says of `remembered` what doesn't hold for it
    /// any more. Asks nobody.
    ///
    /// # Errors
    /// Grants that can't be bound, or no random bytes.
    pub fn request(
        &self,
        asking: &Asking<'_>,
        reason: &AskReason,
        remembered: &RememberedSet,
    ) -> Result<ApprovalRequest, ApprovalError> {
        let now = self.now();
        let ttl_ms = u64::try_from(self.0.settings.ttl.as_millis()).unwrap_or(u64::MAX);
        asking.request(reason, now, ttl_ms, remembered.outdated(&asking.asked(), now))
    }

    /// Takes the answer to a request for the call that is about to run. `binding` is made from
    /// what is in force now, so that what changed since the question is refused.
    ///
    /// # Errors
    /// See [`ApprovalStore::take`].
    pub async fn take(
        &self,
        id: &ApprovalId,
        binding: Digest,
    ) -> Result<ApprovalEntry, StorageError> {
        let id = id.clone();
        self.blocking(move |queue| queue.0.store.take(&id, &binding, queue.now())).await
    }

    /// What is remembered, for a list; oldest first.
    ///
    /// # Errors
    /// A store at fault.
    pub fn remembered_list(&self) -> Result<Vec<Remembered>, StorageError> {
        self.0.store.remembered(self.now())
    }

    /// Forgets a remembered answer; whether there was one. Taking permission away isn't held up by
    /// the audit log: it takes effect, and is then recorded.
    ///
    /// # Errors
    /// A store at fault.
    pub fn revoke(&self, id: &ApprovalId, by: &Approver) -> Result<bool, StorageError> {
        let revoked = self.0.store.revoke(id, self.now())?;
        self.forget_seen();
        if revoked {
            self.tell_revoked(id, by);
        }
        Ok(revoked)
    }

    fn tell_revoked(&self, id: &ApprovalId, by: &Approver) {
        recording::revoked(self, id, by);
        self.0.bus.publish(None, || EventKind::ApprovalRevoked { request_id: id.clone() });
    }

    /// Requests in one line each. Those whose time is over are ended first.
    ///
    /// # Errors
    /// A store at fault.
    pub fn list(&self, filter: &ListFilter) -> Result<Vec<Summary>, StorageError> {
        self.sweep()?;
        self.0.store.list(filter)
    }

    /// One request, whole.
    ///
    /// # Errors
    /// `NotFound`, or a store at fault.
    pub fn show(&self, id: &ApprovalId) -> Result<ApprovalEntry, StorageError> {
        self.sweep()?;
        self.0.store.get(id)
    }

    /// Ends what a session asked and forgets what was remembered for it: whoever is back under the
    /// same name must not be answered by what another left behind. How many requests that ended.
    ///
    /// For a program that holds the host as a library and has sessions: it says when one is over,
    /// and in whose name. The command line has none.
    ///
    /// # Errors
    /// A store at fault.
    pub fn end_session(&self, session: &str, by: &Approver) -> Result<usize, StorageError> {
        let ended = self.0.store.withdraw_session(session, self.now())?;
        self.forget_seen();
        self.tell_ended(&ended.withdrawn, ApprovalState::Withdrawn, "its session ended");
        for id in &ended.forgotten {
            self.tell_revoked(id, by);
        }
        Ok(ended.withdrawn.len())
    }

    /// Ends what nobody answered or took in time.
    pub(super) fn sweep(&self) -> Result<(), StorageError> {
        let ended = self.0.store.expire(self.now())?;
        self.tell_ended(&ended, ApprovalState::Expired, LAPSED);
        Ok(())
    }

    /// Ends a request that was handed to a call which is called off, also where an answer has come
    /// that no call took. Where calls of this process wait for it, the last of them ends it.
    /// Whether it was ended now.
    ///
    /// # Errors
    /// A store at fault.
    pub fn withdraw(&self, id: &ApprovalId, reason: &str) -> Result<bool, StorageError> {
        if self.0.held.take_back(id) {
            return Ok(false);
        }
        let withdrawn = self.0.store.withdraw(id, reason, self.now())?;
        if withdrawn {
            self.tell_ended(std::slice::from_ref(id), ApprovalState::Withdrawn, reason);
        }
        Ok(withdrawn)
    }

    /// Tells the audit log, watchers and waiters of requests that ended, and why.
    pub(super) fn tell_ended(&self, ended: &[ApprovalId], state: ApprovalState, reason: &str) {
        for id in ended {
            recording::ended(self, id, state, reason);
            let request_id = id.clone();
            self.0.bus.publish(None, || EventKind::ApprovalEnded { request_id, state });
            self.0.waiting.wake(id);
        }
    }

    /// Runs an operation of the store where it may wait for another process without keeping calls
    /// from their turn.
    pub(super) async fn blocking<T: Send + 'static, E: From<StorageError> + Send + 'static>(
        &self,
        operation: impl FnOnce(&Self) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let queue = self.clone();
        let done = tokio::task::spawn_blocking(move || operation(&queue)).await;
        // It ended by a panic, or the runtime is going down.
        done.unwrap_or_else(|_lost| Err(StorageError::Stopped.into()))
    }
}
