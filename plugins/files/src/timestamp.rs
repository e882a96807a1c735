//! Writes a point in time as RFC 3339 in UTC.
//!
//! It reads no clock.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;

/// `time` in whole seconds, rounded down; none if it is beyond the years 0 to 9999.
pub(crate) fn to_rfc_3339(time: SystemTime) -> Option<String> {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).ok()?,
        Err(before) => {
            let part = i64::from(before.duration().subsec_nanos() > 0);
            i64::try_from(before.duration().as_secs()).ok()?.checked_add(part)?.checked_neg()?
        }
    };
    let (year, month, day) = to_date(seconds.div_euclid(SECONDS_PER_DAY));
    if !(0..=9999).contains(&year) {
        return None;
    }
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// The proleptic Gregorian date of a day counted from 1970-01-01.
fn to_date(day: i64) -> (i64, i64, i64) {
    // Years are counted from 1 March, so that the leap day is a year's last, in cycles of 400 years
    // (146,097 days); 719,468 days lie between 0000-03-01 and 1970-01-01.
    let day = day + 719_468;
    let cycle = day.div_euclid(146_097);
    let of_cycle = day.rem_euclid(146_097);
    let year_of_cycle =
        (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    // Months from March have 153 days in each five.
    let from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (cycle * 400 + year_of_cycle + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn known_times_are_written_as_gnu_date_writes_them() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(to_rfc_3339(time).unwrap(), expected);
        }
    }

    #[test]
    fn times_before_1970_round_down() {
        let time = UNIX_EPOCH - Duration::from_millis(1);
        assert_eq!(to_rfc_3339(time).unwrap(), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn years_beyond_four_digits_are_not_written() {
        assert_eq!(to_rfc_3339(UNIX_EPOCH + Duration::from_secs(253_402_300_800)), None);
    }
}
