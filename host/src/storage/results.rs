//! The port behind which results of calls with an idempotency key are kept.
//!
//! A key is claimed once the start of its call is on record, before it runs, and settled when it has
//! ended, so that a repeat gets the result instead of a second run, and a crash leaves no claim that
//! the audit log doesn't name.

use std::fmt::Debug;

use super::error::StorageError;
use crate::contract::ids::{CallId, Digest, ToolId};
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;

/// A key with all that it is scoped to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultKey {
    /// The caller that made it up.
    pub caller: Option<String>,
    /// The tool.
    pub tool: ToolId,
    /// The build.
    pub plugin_digest: Digest,
    /// The SHA-256 of the key, which is all that the audit log holds of it.
    pub key_hash: Digest,
}

/// A call with a key that a crash cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutOff {
    /// Its key.
    pub key: ResultKey,
    /// The call.
    pub call_id: CallId,
}

/// What a claim finds.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// The key is free, and now this call's: settle, or release.
    Mine,
    /// The call has ended with this.
    Finished(Box<ToolResult>),
    /// The call has ended, and its result was too large to keep.
    NotKept {
        /// The call that ran.
        call_id: CallId,
        /// How it ended.
        outcome: Outcome,
    },
    /// Another call holds it, hasn't ended, and may still be running: no call runs for long.
    InFlight {
        /// That call.
        call_id: CallId,
    },
    /// It was used with other arguments.
    OtherArguments {
        /// The call that used it.
        call_id: CallId,
    },
}

/// Where results are kept. Times are milliseconds since 1970 (UTC).
pub trait ResultStore: Send + Sync + Debug {
    /// What a claim would find now; `None`: the key is free.
    ///
    /// # Errors
    /// A store at fault.
    fn known(
        &self,
        key: &ResultKey,
        arguments_hash: &Digest,
        now: u64,
    ) -> Result<Option<Claim>, StorageError>;

    /// Claims a key for a call, unless it is known.
    ///
    /// # Errors
    /// Too many keys, or a store at fault.
    fn claim(
        &self,
        key: &ResultKey,
        arguments_hash: &Digest,
        call_id: &CallId,
        now: u64,
    ) -> Result<Claim, StorageError>;

    /// Keeps the result of the call that holds the key.
    ///
    /// # Errors
    /// `NotClaimed`, or a store at fault.
    fn settle(&self, key: &ResultKey, result: &ToolResult) -> Result<(), StorageError>;

    /// Gives a key back: its call certainly didn't run.
    ///
    /// # Errors
    /// `NotClaimed`, or a store at fault.
    fn release(&self, key: &ResultKey, call_id: &CallId) -> Result<(), StorageError>;

    /// Settles what these calls hold as `interrupted`: a crash cut them off, and whether they ran
    /// is not known. Other calls of the same id are let be. How many there were.
    ///
    /// # Errors
    /// A store at fault.
    fn interrupt(&self, calls: &[CutOff]) -> Result<u64, StorageError>;
}
