//! Points and spans of time, as people write and read them.
//!
//! Reads no clock.

use std::time::Duration;

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TimeError {
    /// No span.
    #[error("expected a whole number of s, m, h or d above 0, such as `90s`, `10m`, `12h` or `7d`")]
    Span,
    /// Neither a span nor a point.
    #[error(
        "expected how long ago, such as `10m`, `12h` or `7d`, or milliseconds since 1970, such as \
         `1767225600000`"
    )]
    Since,
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// So long ago.
    Ago(Duration),
    /// Milliseconds since 1970 (UTC).
    At(u64),
}

impl Since {
    /// In milliseconds since 1970 (UTC).
    pub(super) fn unix_ms(self, now_unix_ms: u64) -> u64 {
        match self {
            Self::Ago(span) => now_unix_ms.saturating_sub(milliseconds(span)),
            Self::At(unix_ms) => unix_ms,
        }
    }
}

/// A span in milliseconds.
pub(super) fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// `90s`, `10m`, `12h` or `7d`.
pub(super) fn parse_span(text: &str) -> Result<Duration, TimeError> {
    let units = [("s", 1), ("m", 60), ("h", 60 * 60), ("d", 24 * 60 * 60)];
    let parts = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (number, seconds) = parts.ok_or(TimeError::Span)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse::<u64>().ok().filter(|number| is_number && *number > 0);
    let seconds = number.and_then(|number| number.checked_mul(*seconds));
    seconds.map(Duration::from_secs).ok_or(TimeError::Span)
}

/// A span before now, or a point in milliseconds since 1970.
pub(super) fn parse_since(text: &str) -> Result<Since, TimeError> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Since::At).map_err(|_too_large| TimeError::Since);
    }
    parse_span(text).map(Since::Ago).map_err(|_no_span| TimeError::Since)
}

/// The time in UTC, as RFC 3339 writes it: `2026-01-02T03:04:05.678Z`.
pub(super) fn utc(unix_ms: u64) -> String {
    let (days, ms) = (unix_ms / DAY_MS, unix_ms % DAY_MS);
    let (year, month, day) = date(days);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of a day since 1970 in the Gregorian calendar. Years begin in March here, so
/// that a leap day is the last of its year and months need no table.
fn date(days_since_1970: u64) -> (u64, u64, u64) {
    /// Days of 1, 4, 100 and 400 years that begin in March.
    const YEAR: u64 = 365;
    const FOUR: u64 = 4 * YEAR + 1;
    const CENTURY: u64 = 25 * FOUR - 1;
    const ERA: u64 = 4 * CENTURY + 1;
    /// From 1 March of the year 0 to 1 January 1970.
    const BEFORE_1970: u64 = 719_468;
    let days = days_since_1970 + BEFORE_1970;
    let (eras, rest) = (days / ERA, days % ERA);
    // The last day of an era, of four years and of a year are one more than their share.
    let centuries = (rest / CENTURY).min(3);
    let rest = rest - centuries * CENTURY;
    let fours = rest / FOUR;
    let rest = rest - fours * FOUR;
    let years = (rest / YEAR).min(3);
    let rest = rest - years * YEAR;
    // Five months from March on have 153 days together, and so have those from August on.
    let month = (5 * rest + 2) / 153;
    let day = rest - (153 * month + 2) / 5 + 1;
    let year = eras * 400 + centuries * 100 + fours * 4 + years;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_points_read_as_they_should() {
        // By `date -u -d @N`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (68_169_599, "1972-02-28T23:59:59.000Z"),
            (68_169_600, "1972-02-29T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_700_000_000, "2023-11-14T22:13:20.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(seconds * 1000), text);
        }
        assert_eq!(utc(1_234), "1970-01-01T00:00:01.234Z");
        assert!(utc(u64::MAX).ends_with('Z'));
    }

    #[test]
    fn days_follow_one_another_without_a_gap() {
        let mut before = date(0);
        for days in 1..400 * 366 {
            let (year, month, day) = date(days);
            let follows = (year, month, day) == (before.0, before.1, before.2 + 1)
                || (day == 1 && (year, month) == (before.0, before.1 + 1))
                || ((month, day) == (1, 1) && year == before.0 + 1 && before.1 == 12);
            assert!(follows && day <= 31 && month <= 12, "{before:?} {year}-{month}-{day}");
            before = (year, month, day);
        }
    }

    #[test]
    fn spans_and_points_are_read_and_all_else_is_refused() {
        assert_eq!(parse_span("7d").unwrap(), Duration::from_hours(7 * 24));
        assert_eq!(parse_span("90s").unwrap(), Duration::from_secs(90));
        for bad in ["", "7", "0d", "d", "-1d", "+1d", "1.5h", "7 d", "99999999999999999999d", "1w"]
        {
            assert_eq!(parse_span(bad), Err(TimeError::Span), "{bad}");
        }
        assert_eq!(parse_since("10m").unwrap().unix_ms(1_000_000), 400_000);
        assert_eq!(parse_since("10m").unwrap().unix_ms(1), 0);
        assert_eq!(parse_since("17").unwrap().unix_ms(1), 17);
        for bad in ["", "10w", "yesterday", "99999999999999999999"] {
            assert_eq!(parse_since(bad), Err(TimeError::Since), "{bad}");
        }
    }
}
