//! The time of events: the one place of this module that reads a clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Says the time, in milliseconds since 1970 (UTC).
pub type Clock = fn() -> u64;

/// The time of this machine; before 1970 it is 0.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
