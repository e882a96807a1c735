//! Why a request or an answer isn't taken.
//!
//! Names what the approver can put right; what the store says is passed on. Paths in here are the
//! operator's: what a caller may read is [`ApprovalError::without_path`].

use crate::contract::arguments::ArgumentsError;
use crate::contract::ids::ApprovalId;
use crate::events::JournalError;
use crate::storage::StorageError;

/// Why nothing was asked or answered.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The caller answers itself.
    #[error("`{0}` made this call and may not approve it: expected another approver")]
    SelfApproval(String),
    /// A question that is let through, where it should be answered.
    #[error(
        "`{id}` is a question, which `{given}` doesn't answer: expected an answer, as by `belljar \
         approvals answer {id} TEXT`, or a refusal"
    )]
    Question {
        /// The request.
        id: ApprovalId,
        /// What was given.
        given: &'static str,
    },
    /// Arguments that nobody could call with.
    #[error("the edited arguments can't be used: {0}")]
    Arguments(#[from] ArgumentsError),
    /// An answer that would be over at once.
    #[error("the approval would end at {expires_unix_ms} ms since 1970, and it is {now_unix_ms}")]
    PastExpiry {
        /// What was asked for.
        expires_unix_ms: u64,
        /// What the clock says.
        now_unix_ms: u64,
    },
    /// More text than is kept.
    #[error("{what} has {len} bytes: expected at most {max}")]
    TooLong {
        /// Of what.
        what: &'static str,
        /// So many.
        len: usize,
        /// And so many are kept.
        max: usize,
    },
    /// A pattern that means nothing, or not this call.
    #[error("the pattern can't be remembered: {0}")]
    Pattern(String),
    /// There is no session to remember it for.
    #[error("the call belongs to no session: expected `once` or `always`")]
    NoSession,
    /// Grants that have no JSON, such as a folder whose path isn't UTF-8.
    #[error("the call can't be bound to an approval: {0}")]
    Unbindable(String),
    /// The system gives no random bytes for an id.
    #[error("no id can be made: {0}")]
    NoRandom(std::io::Error),
    /// The answer can't be recorded, so it isn't given.
    #[error("the audit log can't be written, so nothing is answered: {0}")]
    Unrecorded(#[from] JournalError),
    /// The store's own answer.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl ApprovalError {
    /// The same for whoever may not know where things are on this machine.
    pub fn without_path(&self) -> String {
        match self {
            Self::Unrecorded(_) => "the audit log can't be written, so nothing is answered".into(),
            Self::Storage(error) => error.without_path(),
            other => other.to_string(),
        }
    }
}
