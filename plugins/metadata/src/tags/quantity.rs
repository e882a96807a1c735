//! Reads amounts: fuel, times and sizes, exactly and never zero.
//!
//! Must not round: an amount that isn't a whole number of its unit is refused.

use std::time::Duration;

use crate::finding::quoted;

/// A plain amount such as `2000000000`, `2e9` or `1.5e9`.
///
/// # Errors
/// What was expected and what was found, in words.
pub fn parse_count(text: &str) -> Result<u64, String> {
    exact(text, 1).ok_or_else(|| expected("a whole number above 0, such as `2e9`", text))
}

/// A time in `ms`, `s` or `m`.
///
/// # Errors
/// What was expected and what was found, in words.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1), ("s", 1000), ("m", 60_000)];
    with_unit(text, &units)
        .map(Duration::from_millis)
        .ok_or_else(|| expected("a time above 0, such as `500ms`, `5s` or `2m`", text))
}

/// A size in bytes, or in `KiB`, `MiB` or `GiB`.
///
/// # Errors
/// What was expected and what was found, in words.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1)];
    with_unit(text, &units)
        .ok_or_else(|| expected("a size above 0, such as `65536`, `64KiB` or `64MiB`", text))
}

fn expected(what: &str, found: &str) -> String {
    format!("expected {what}, found {}", quoted(found))
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(suffix, unit)| exact(text.strip_suffix(suffix)?.trim_end(), *unit))
}

/// `digits[.digits][e[+]digits]` times `unit`, if that is a whole number from 1 to `u64::MAX`.
fn exact(text: &str, unit: u64) -> Option<u64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let has_point = mantissa.contains('.');
    if !is_number(whole) || !is_number(exponent) || (has_point && !is_number(fraction)) {
        return None;
    }
    let scaled = format!("{whole}{fraction}").parse::<u128>().ok()?.checked_mul(unit.into())?;
    let shift = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()?;
    let power = 10_u128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
    let value = if shift >= 0 {
        scaled.checked_mul(power)?
    } else if scaled.is_multiple_of(power) {
        scaled / power
    } else {
        return None;
    };
    u64::try_from(value).ok().filter(|value| *value > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        let cases = [
            ("1", Some(1)),
            ("2e9", Some(2_000_000_000)),
            ("1.5e9", Some(1_500_000_000)),
            ("2E+3", Some(2000)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1.5", None),
            ("0", None),
            ("0e9", None),
            ("", None),
            ("e9", None),
            ("1e", None),
            ("1.", None),
            (".5e1", None),
            ("-1", None),
            ("1e-3", None),
            ("1_000", None),
            ("1e99999999999999999999", None),
            ("1e40", None),
            ("٣", None),
        ];
        for (text, value) in cases {
            assert_eq!(parse_count(text).ok(), value, "{text}");
        }
    }

    #[test]
    fn times_need_a_unit_and_sizes_may_have_one() {
        assert_eq!(parse_duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("5").is_err());
        assert!(parse_duration("0.5ms").is_err());
        assert!(parse_duration("0s").is_err());
        assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
        assert_eq!(parse_bytes("1.5 KiB"), Ok(1536));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert!(parse_bytes("64MB").is_err());
        assert!(parse_bytes("99999999999GiB").is_err());
    }
}
