//! The audit log: what was decided, before it ran, and how it ended. Nothing it took is lost.
//!
//! Two stages, so that a call pays one write and several processes share one log:
//!
//! ```text
//! begin, finish, note ─► lane (one for each process, lanes/) ─► drainer ─► log (one chain, log/)
//! ```
//!
//! A record is safe from `kill -9` once it is in its lane, and from a power cut once that is synced
//! (`durable`). The drainer's entries carry the lane and the number there, so a copy that was cut
//! off goes on where it stopped. A lane goes away when the log holds all of it for good.
//!
//! Knows nothing of gate or engine: it writes what it is told.

mod aside;
mod cursor;
mod drain;
mod error;
mod frame;
mod handle;
mod lane;
mod lane_end;
mod lane_file;
mod lanes;
mod log;
mod options;
mod private;
mod read;
mod record;
mod recover;
mod rest;
mod retain;
mod segment;
mod syncer;
mod tail;
mod verify;

pub use error::JournalError;
pub use handle::{Journal, OpenEntry};
pub use options::JournalOptions;
pub use read::{Entries, Entry, Filter, Head, head, read};
pub use record::{
    ARGUMENTS_MAX_LEN, ApprovalDecided, ApprovalRequested, CallFinished, CallNotRun, CallStarted,
    NAME_MAX_LEN, Record, TEXT_MAX_LEN,
};
pub use recover::{CutOffListener, InterruptedCall, Recovered, recover};
pub use retain::Retention;
pub use verify::{Verified, VerifyError, verify};

#[cfg(test)]
mod tests;
