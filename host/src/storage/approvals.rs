//! The port behind which approvals and remembered answers are kept.
//!
//! Every operation is atomic, also among processes. None waits for a person; each may wait for
//! another process, for a bounded time.

use std::fmt::Debug;

use serde::Serialize;

use super::error::StorageError;
use crate::contract::approval::{
    ApprovalEntry, ApprovalRequest, ApprovalState, Decided, Remembered,
};
use crate::contract::ids::{ApprovalId, CallId, Digest, ToolId};

/// A request in one line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Rises from request to request of a store; the place in its list.
    pub number: u64,
    /// Names the request.
    pub id: ApprovalId,
    /// Where it stands.
    pub state: ApprovalState,
    /// The call that made it.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolId,
    /// Who asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Why a person is asked.
    pub reason: String,
    /// The beginning of its canonical arguments, at most 200 bytes.
    pub arguments_head: String,
    /// When it was made, in milliseconds since 1970 (UTC).
    pub created_unix_ms: u64,
    /// From when on no answer counts, in milliseconds since 1970 (UTC).
    pub expires_unix_ms: u64,
}

/// Which requests a list holds, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFilter {
    /// Those that stand here; `None`: all.
    pub state: Option<ApprovalState>,
    /// Those of one tool; `None`: all.
    pub tool: Option<ToolId>,
    /// Those behind this [`Summary::number`].
    pub after: u64,
    /// So many at most.
    pub limit: u32,
}

impl ListFilter {
    /// All that wait for an answer, which is never more than a list holds.
    pub fn pending() -> Self {
        Self { state: Some(ApprovalState::Pending), tool: None, after: 0, limit: u32::MAX }
    }
}

/// What became of a request that identical calls share.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    /// It is kept.
    New,
    /// An identical call's is there, unanswered or with an answer that no call has taken.
    Existing(Box<ApprovalEntry>),
}

/// Differs from an earlier one of the same store where anything was written since, by whomever.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision {
    /// What other connections did.
    pub others: i64,
    /// What this one did.
    pub own: u64,
}

/// What ended with a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionEnd {
    /// Requests that nobody answered or took.
    pub withdrawn: Vec<ApprovalId>,
    /// Answers that were remembered for it alone.
    pub forgotten: Vec<ApprovalId>,
}

/// Stands for all that is remembered. Numbers only rise and answers never change, so two sets with
/// the same mark are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RememberedMark {
    /// The number of the latest that is there.
    pub latest: u64,
    /// How many there are.
    pub count: u64,
}

/// Where approvals are kept. Times are milliseconds since 1970 (UTC).
pub trait ApprovalStore: Send + Sync + Debug {
    /// Whether anybody outside this process can read and answer what is kept here.
    fn is_shared(&self) -> bool;

    /// Whether [`ApprovalStore::revision`] has nothing to open first, which may have to be waited for.
    fn looks_at_once(&self) -> bool;

    /// Says whether anything has changed. Cheap: no lock that a writer could hold.
    ///
    /// # Errors
    /// A store at fault.
    fn revision(&self) -> Result<Revision, StorageError>;

    /// Keeps a request that one call waits for.
    ///
    /// # Errors
    /// Too many requests wait, or a store at fault.
    fn insert(&self, request: &ApprovalRequest, now: u64) -> Result<(), StorageError>;

    /// Keeps a request that all identical calls share, unless there is one. Of that one `joins` is
    /// asked, before anybody can end it, whether the call joins others that will let go of it
    /// together. Where it doesn't, the request is marked: [`ApprovalStore::let_go`] leaves it alone
    /// from then on. `joins` must not use the store.
    ///
    /// # Errors
    /// Like [`ApprovalStore::insert`].
    fn insert_shared(
        &self,
        request: &ApprovalRequest,
        now: u64,
        joins: &mut dyn FnMut(&ApprovalId) -> bool,
    ) -> Result<Inserted, StorageError>;

    /// A request, whatever became of it.
    ///
    /// # Errors
    /// `NotFound`, or a store at fault.
    fn get(&self, id: &ApprovalId) -> Result<ApprovalEntry, StorageError>;

    /// Where a request stands, without reading it.
    ///
    /// # Errors
    /// `NotFound`, or a store at fault.
    fn state(&self, id: &ApprovalId) -> Result<ApprovalState, StorageError>;

    /// Requests in one line each.
    ///
    /// # Errors
    /// A store at fault.
    fn list(&self, filter: &ListFilter) -> Result<Vec<Summary>, StorageError>;

    /// Answers a request: the first answer stands. `remember` is kept with it or not at all.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyDecided`, `Used`, `Expired`, `Withdrawn`, `ClockWentBack`, too many
    /// remembered, or a store at fault.
    fn decide(
        &self,
        id: &ApprovalId,
        decided: &Decided,
        remember: Option<&Remembered>,
    ) -> Result<ApprovalEntry, StorageError>;

    /// Takes the answer to a request for the one call it is good for.
    ///
    /// # Errors
    /// `NotFound`, `NotDecided`, `Used`, `Expired`, `Withdrawn`, `OtherBinding`, `ClockWentBack`,
    /// or a store at fault.
    fn take(
        &self,
        id: &ApprovalId,
        binding: &Digest,
        now: u64,
    ) -> Result<ApprovalEntry, StorageError>;

    /// Ends what nobody answered or took in time, and says which requests those were.
    ///
    /// # Errors
    /// A store at fault.
    fn expire(&self, now: u64) -> Result<Vec<ApprovalId>, StorageError>;

    /// Ends one request as expired by its asker's own clock, unless it has been answered.
    ///
    /// # Errors
    /// `NotFound`, or a store at fault.
    fn lapse(&self, id: &ApprovalId, now: u64) -> Result<ApprovalEntry, StorageError>;

    /// Ends one request because its call is gone; whether there was anything to end.
    ///
    /// # Errors
    /// A store at fault.
    fn withdraw(&self, id: &ApprovalId, reason: &str, now: u64) -> Result<bool, StorageError>;

    /// Like [`ApprovalStore::withdraw`], but leaves a request alone that a call has found which
    /// whoever lets go can't know of, such as another process's.
    ///
    /// # Errors
    /// A store at fault.
    fn let_go(&self, id: &ApprovalId, reason: &str, now: u64) -> Result<bool, StorageError>;

    /// Ends every request of a session and forgets what was remembered for it alone.
    ///
    /// # Errors
    /// A store at fault.
    fn withdraw_session(&self, session: &str, now: u64) -> Result<SessionEnd, StorageError>;

    /// Differs from an earlier one where what is remembered does. Much cheaper than reading it.
    ///
    /// # Errors
    /// A store at fault.
    fn remembered_mark(&self) -> Result<RememberedMark, StorageError>;

    /// What is remembered and holds at `now`, oldest first.
    ///
    /// # Errors
    /// A store at fault.
    fn remembered(&self, now: u64) -> Result<Vec<Remembered>, StorageError>;

    /// Forgets a remembered answer; whether there was one. Its own request, and those that it
    /// answered along, are withdrawn where no call has taken the answer.
    ///
    /// # Errors
    /// A store at fault.
    fn revoke(&self, id: &ApprovalId, now: u64) -> Result<bool, StorageError>;
}
