//! What can go wrong with what is kept, each with what to do.
//!
//! Paths in here are the operator's: what a caller may read is [`StorageError::without_path`].

use crate::contract::ids::ApprovalId;

/// Why an operation did nothing. None leaves half of itself behind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The file holds something else than it should.
    #[error(
        "`{path}` is damaged: {reason}; move it away to begin anew, what was remembered is then \
         lost"
    )]
    Damaged {
        /// The file.
        path: String,
        /// In SQLite's words, or which row.
        reason: String,
    },
    /// A newer belljar wrote it.
    #[error(
        "`{path}` has format {found} and this belljar reads up to {known}: use the belljar that \
         wrote it, or move it away to begin anew"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its format.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// A database of another program.
    #[error("`{path}` is a database of another program: name another file")]
    NotOurs {
        /// The file.
        path: String,
    },
    /// Somebody else could approve by writing to it.
    #[error("`{path}` isn't used: it must be this user's and closed to others, and it is {found}")]
    NotPrivate {
        /// The file or its folder.
        path: String,
        /// What is wrong.
        found: String,
    },
    /// It can be read and not written.
    #[error("`{path}` is read-only: make it and its folder writable for this user")]
    ReadOnly {
        /// The file.
        path: String,
    },
    /// The disk holds no more.
    #[error("`{path}` can't grow: the disk is full")]
    DiskFull {
        /// The file.
        path: String,
    },
    /// Another process holds it.
    #[error("`{path}` was locked by another process for more than {seconds} s: try again")]
    Locked {
        /// The file.
        path: String,
        /// How long this one waited.
        seconds: u64,
    },
    /// Anything else between here and the disk.
    #[error("`{path}` can't be used: {reason}")]
    Unusable {
        /// The file.
        path: String,
        /// In the system's words.
        reason: String,
    },
    /// The host is going down.
    #[error("the store has stopped: the host is going down")]
    Stopped,
    /// As many as are kept.
    #[error("there are {max} {what} already: expected no more")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The bound, in `what`.
        max: u64,
    },
    /// Something that has no JSON, such as a path that isn't UTF-8.
    #[error("the {what} can't be kept: {reason}")]
    Unstorable {
        /// What it is.
        what: &'static str,
        /// In the words of the JSON library.
        reason: String,
    },
    /// Two requests with one id.
    #[error("there is a request `{0}` already")]
    SameId(ApprovalId),
    /// Nothing has this id.
    #[error("there is no approval `{0}`: it never was, or it ended long ago")]
    NotFound(ApprovalId),
    /// Somebody was first.
    #[error("`{id}` is answered already: `{decision}` by `{by}`")]
    AlreadyDecided {
        /// The request.
        id: ApprovalId,
        /// Who answered.
        by: String,
        /// What.
        decision: &'static str,
    },
    /// Nobody has answered.
    #[error("`{0}` isn't answered yet")]
    NotDecided(ApprovalId),
    /// A call has taken the answer.
    #[error("the answer to `{0}` was used by another call: an answer admits one")]
    Used(ApprovalId),
    /// Too late.
    #[error("`{0}` has expired: the call must be made again")]
    Expired(ApprovalId),
    /// Nobody wants the answer any more.
    #[error("`{id}` was withdrawn: {reason}")]
    Withdrawn {
        /// The request.
        id: ApprovalId,
        /// Why.
        reason: String,
    },
    /// The answer was given for something else.
    #[error(
        "the answer to `{0}` was given for another call: its tool, build, arguments, grants, \
         limits, caller or policy differ"
    )]
    OtherBinding(ApprovalId),
    /// Nothing can be said of what is older or newer.
    #[error(
        "the clock has gone back: it says {now_unix_ms} ms since 1970, and what it is asked about \
         is of {then_unix_ms}; set the clock"
    )]
    ClockWentBack {
        /// What was stored.
        then_unix_ms: u64,
        /// What the clock says.
        now_unix_ms: u64,
    },
    /// The claim isn't this call's, or is gone.
    #[error("the idempotency key isn't held by the call `{0}`")]
    NotClaimed(String),
}

impl StorageError {
    /// The same for whoever may not know where things are on this machine.
    pub fn without_path(&self) -> String {
        match self {
            Self::Damaged { .. } => "the store of approvals is damaged".into(),
            Self::Newer { .. } => "the store of approvals was written by a newer belljar".into(),
            Self::NotOurs { .. } => "the store of approvals is another program's".into(),
            Self::NotPrivate { .. } => "the store of approvals isn't private".into(),
            Self::ReadOnly { .. } => "the store of approvals is read-only".into(),
            Self::DiskFull { .. } => "the disk of the store of approvals is full".into(),
            Self::Locked { .. } => "the store of approvals is locked by another process".into(),
            Self::Unusable { .. } => "the store of approvals can't be used".into(),
            other => other.to_string(),
        }
    }
}
