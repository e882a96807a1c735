//! Ends that our own host functions raise inside a guest, as types, so that telling them apart
//! never depends on a message.

use crate::contract::limits::LimitKind;

/// Raised through wasm and found again by downcast.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HostEnd {
    /// The attempt's deadline has passed.
    #[error("the deadline has passed")]
    DeadlinePassed,
    /// Nobody wants the answer any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// A bound of a host function; the text says what was asked for.
    #[error("{1}")]
    Limit(LimitKind, String),
}
