//! How long to wait before a retry.
//!
//! Sleeps for nobody: it only says how long.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::engine::settings::RETRY_DELAY_MAX_MS;

const PAUSE_MAX: Duration = Duration::from_millis(RETRY_DELAY_MAX_MS);

/// The pause before the retry that follows `attempts` attempts: `delay`, doubled from retry to
/// retry, a quarter more or less by `random` so that calls which failed together don't come back
/// together, and never above a minute.
pub(crate) fn pause_before(attempts: u32, delay: Duration, random: u64) -> Duration {
    let doubled = 2_u32.checked_pow(attempts.saturating_sub(1));
    let grown = doubled.map_or(PAUSE_MAX, |times| delay.saturating_mul(times)).min(PAUSE_MAX);
    // 750 to 1,250 thousandths.
    let thousandths = 750 + u32::try_from(random % 501).unwrap_or(0);
    (grown * thousandths / 1_000).min(PAUSE_MAX)
}

/// Numbers that differ from process to process and from call to call. Not for secrets.
#[derive(Debug)]
pub(crate) struct Randomness(AtomicU64);

impl Randomness {
    /// Begins where nobody knows: the standard library seeds its maps at random.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(RandomState::new().hash_one(0)))
    }

    /// The next number: SplitMix64 (Steele, Lea and Flood, 2014), whose state is a plain sum and
    /// so needs no lock.
    pub(crate) fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Default for Randomness {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither more nor less.
    const EVEN: u64 = 250;

    fn ms(attempts: u32, delay: u64, random: u64) -> u128 {
        pause_before(attempts, Duration::from_millis(delay), random).as_millis()
    }

    #[test]
    fn b7_the_pause_doubles_from_retry_to_retry() {
        let pauses: Vec<_> = (1..=5).map(|attempts| ms(attempts, 500, EVEN)).collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000]);
        assert_eq!(ms(1, 0, 7), 0);
    }

    #[test]
    fn b7_the_pause_is_a_quarter_more_or_less() {
        assert_eq!((ms(1, 1_000, 0), ms(1, 1_000, 500)), (750, 1_250));
        for random in 0..2_000 {
            assert!((750..=1_250).contains(&ms(1, 1_000, random)));
        }
    }

    #[test]
    fn b7_no_pause_is_longer_than_a_minute() {
        for attempts in [8, 31, 32, 33, u32::MAX] {
            assert_eq!(ms(attempts, 60_000, 500), 60_000, "{attempts}");
        }
        assert_eq!(ms(1, u64::MAX, 500), 60_000);
    }

    #[test]
    fn randomness_spreads() {
        // The first numbers of the published algorithm from 0.
        let zero = Randomness(AtomicU64::new(0));
        let first = [zero.next(), zero.next(), zero.next()];
        assert_eq!(first, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
        assert_ne!(Randomness::new().next(), Randomness::new().next());
    }
}
