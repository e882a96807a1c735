//! Clocks as coarse as a tool needs: fine ones are a tool for timing attacks.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

/// What both clocks are rounded down to.
const STEP: Duration = Duration::from_millis(1);

/// Time of day, to the millisecond.
pub(crate) struct CoarseWall;

impl HostWallClock for CoarseWall {
    fn resolution(&self) -> Duration {
        STEP
    }

    fn now(&self) -> Duration {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        rounded(since)
    }
}

/// Time since the store was made, to the millisecond.
pub(crate) struct CoarseMonotonic(Instant);

impl CoarseMonotonic {
    /// Begins at zero, now.
    pub(crate) fn starting(now: Instant) -> Self {
        Self(now)
    }
}

impl HostMonotonicClock for CoarseMonotonic {
    fn resolution(&self) -> u64 {
        u64::try_from(STEP.as_nanos()).unwrap_or(u64::MAX)
    }

    fn now(&self) -> u64 {
        u64::try_from(rounded(self.0.elapsed()).as_nanos()).unwrap_or(u64::MAX)
    }
}

fn rounded(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_finer_than_a_millisecond_is_told() {
        let monotonic = CoarseMonotonic::starting(Instant::now());
        for _ in 0..100 {
            assert_eq!(CoarseWall.now().subsec_nanos() % 1_000_000, 0);
            assert_eq!(monotonic.now() % 1_000_000, 0);
        }
    }
}
