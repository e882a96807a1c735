//! What outlives a run: approvals, remembered answers, and results of calls with an idempotency key.
//!
//! Two small ports with one implementation. Decides nothing: whether an answer is allowed and what
//! it covers is `gate::approval`'s. Knows no clock; the time comes with each operation.

mod approvals;
mod error;
mod results;
mod sqlite;

pub use approvals::{
    ApprovalStore, Inserted, ListFilter, RememberedMark, Revision, SessionEnd, Summary,
};
pub use error::StorageError;
pub use results::{Claim, CutOff, ResultKey, ResultStore};
pub use sqlite::SqliteStore;

/// Requests that may wait for an answer, in one store; one more is refused.
pub const PENDING_MAX: u64 = 10_000;
/// Bytes of all waiting requests together, as JSON: 10,000 requests can hold 10,000 MiB of arguments.
pub const PENDING_MAX_BYTES: u64 = 256 << 20;
/// Answers that may be remembered; one more is refused.
pub const REMEMBERED_MAX: u64 = 10_000;
/// How far a clock may run behind what was stored before it is said to have gone back: hosts on one
/// store don't agree to the millisecond.
pub const CLOCK_SLACK_MS: u64 = 60_000;

/// Until when an answer admits the identical call: as long again after the request's expiry as the
/// request itself lived. Whoever answers in the last second must leave time for the repeat.
pub fn admits_until(created_unix_ms: u64, expires_unix_ms: u64) -> u64 {
    expires_unix_ms.saturating_add(expires_unix_ms.saturating_sub(created_unix_ms))
}
