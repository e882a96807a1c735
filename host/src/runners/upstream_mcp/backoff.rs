//! How long to wait before a server is started again.
//!
//! Sleeps for nobody: it only says how long.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// The first pause.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause, and how long a server must have been there for the next pause to be short.
const LONGEST: Duration = Duration::from_secs(60);

/// The pauses between starts of one server: each twice the one before, up to a minute, and a
/// quarter more or less. So no server is started more than about 65 times in its first hour, and
/// once a minute after that.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The pause after the server was there for `lived` and went away; nought where it never came
    /// up.
    pub(super) fn pause_after(&mut self, lived: Duration) -> Duration {
        // The standard library seeds its maps at random.
        self.pause(lived, RandomState::new().hash_one(self.failures))
    }

    fn pause(&mut self, lived: Duration, random: u64) -> Duration {
        if lived >= LONGEST {
            self.failures = 0;
        }
        let grown = FIRST.saturating_mul(1 << self.failures.min(6)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        // 750 to 1,250 thousandths.
        let thousandths = 750 + u32::try_from(random % 501).unwrap_or(0);
        (grown * thousandths / 1_000).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: u64 = 250;

    #[test]
    fn pauses_double_to_a_minute() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> =
            (0..8).map(|_| backoff.pause(Duration::ZERO, EVEN).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        backoff.failures = u32::MAX;
        assert_eq!(backoff.pause(Duration::ZERO, 500), LONGEST);
    }

    #[test]
    fn a_minute_of_life_makes_the_next_pause_short_and_less_does_not() {
        let mut backoff = Backoff::default();
        for _ in 0..4 {
            backoff.pause(Duration::ZERO, EVEN);
        }
        assert_eq!(backoff.pause(Duration::from_secs(59), EVEN).as_secs(), 16);
        assert_eq!(backoff.pause(Duration::from_secs(60), EVEN).as_secs(), 1);
    }

    #[test]
    fn pauses_differ_by_a_quarter() {
        let pause = |random| Backoff::default().pause(Duration::ZERO, random).as_millis();
        assert_eq!((pause(0), pause(500)), (750, 1_250));
    }
}
