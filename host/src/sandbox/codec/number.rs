//! Numbers between JSON and WIT, without a silent loss in either direction.
//!
//! Must not know shapes of more than one number.

use serde_json::{Number, Value};

use super::shape::Int;

/// The greatest whole number up to which a double holds every one (IEEE 754: 2^53 − 1).
pub(super) const EXACT: i128 = (1 << 53) - 1;

/// A whole number as JSON, or `None` beyond 64 bits.
pub(super) fn whole(number: i128) -> Option<Number> {
    u64::try_from(number)
        .map(Number::from)
        .or_else(|_| i64::try_from(number).map(Number::from))
        .ok()
}

/// The whole number that `number` is, exactly.
///
/// A literal with a fraction or an exponent has gone through a double, so beyond 2^53 − 1 nobody
/// knows any more which number was written.
fn exact(number: &Number) -> Option<i128> {
    if let Some(found) = number.as_i64() {
        return Some(found.into());
    }
    if let Some(found) = number.as_u64() {
        return Some(found.into());
    }
    let double = number.as_f64().filter(|double| double.fract() == 0.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and a float cast saturates")]
    let found = double as i128;
    (-EXACT..=EXACT).contains(&found).then_some(found)
}

/// Reads an integer argument; gives it back as a plain JSON integer.
///
/// # Errors
/// What was expected and what came instead.
pub(super) fn integer(kind: Int, value: &Value) -> Result<Value, String> {
    let (least, greatest) = kind.range();
    let found = match value {
        Value::Number(number) => exact(number),
        Value::String(text) if kind.is_wide() => decimal(text),
        _ => None,
    };
    found
        .filter(|found| (least..=greatest).contains(found))
        .and_then(whole)
        .map(Value::Number)
        .ok_or_else(|| format!("expected an integer from {least} to {greatest}"))
}

/// Reads the decimal form of an integer; only the form that writing it gives.
fn decimal(text: &str) -> Option<i128> {
    // The longest 64-bit integer, with its sign, has 20 characters.
    let found: i128 = Some(text).filter(|text| text.len() <= 20)?.parse().ok()?;
    (found.to_string() == text).then_some(found)
}

/// An integer that a tool returned: a JSON integer where every reader can hold it, else its decimal
/// form as a string.
pub(super) fn returned(number: i128) -> Value {
    match whole(number).filter(|_| (-EXACT..=EXACT).contains(&number)) {
        Some(number) => Value::Number(number),
        None => Value::String(number.to_string()),
    }
}

/// A double as JSON in its shortest form (a whole one as an integer); null where it isn't finite.
pub(super) fn double(number: f64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is a double")]
    let bound = EXACT as f64;
    let negative_zero = number == 0.0 && number.is_sign_negative();
    if number.fract() == 0.0 && number.abs() <= bound && !negative_zero {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// A single as JSON: the shortest decimal that reads back as this single, not its widened double.
pub(super) fn single(number: f32) -> Value {
    number.to_string().parse().map_or(Value::Null, double)
}

/// Reads a double argument; gives back the number that the tool will see.
pub(super) fn read_double(value: &Value) -> Option<Value> {
    value.as_f64().filter(|number| number.is_finite()).map(double)
}

/// Reads a single argument; gives back the number that the tool will see.
pub(super) fn read_single(value: &Value) -> Option<Value> {
    Some(to_single(value.as_f64()?)).filter(|number| number.is_finite()).map(single)
}

/// The nearest single.
pub(super) fn to_single(number: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is what f32 means")]
    let single = number as f32;
    single
}
