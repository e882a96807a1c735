//! Reads one text, number or switch.
//!
//! Knows no path and no line.

use belljar_metadata::tags::quantity;
use toml::de::DeValue;

use super::super::error::shown;
use super::super::schema::{Kind, TEXT_MAX, Text};
use super::super::value::Value;
use super::near;

/// Why a value isn't one of its kind.
pub(super) enum Fault {
    /// It is something else altogether.
    Mismatch,
    /// In words.
    Said(String),
}

/// Whether a value has the form that a kind wants, good or bad.
pub(super) fn takes(kind: &Kind, value: &DeValue<'_>) -> bool {
    match kind {
        Kind::Bool => value.is_bool(),
        Kind::Text(_) | Kind::Choice(_) => value.is_str(),
        Kind::Count { .. } | Kind::Duration { .. } | Kind::Size { .. } => {
            value.is_str() || value.is_integer() || value.is_float()
        }
        Kind::List(_) => value.is_array(),
        Kind::Limits | Kind::Table(_) | Kind::Map(_) => value.is_table(),
        Kind::Either(kinds) => kinds.iter().any(|kind| takes(kind, value)),
    }
}

/// One value of a kind that holds no others.
pub(super) fn read(kind: &Kind, value: &DeValue<'_>) -> Result<Value, Fault> {
    match kind {
        Kind::Bool => value.as_bool().map(Value::Bool).ok_or(Fault::Mismatch),
        Kind::Text(kind) => text(kind, value),
        Kind::Choice(words) => choice(words, value),
        Kind::Count { min, max } => bounded(count(value), *min, *max).map(Value::Count),
        Kind::Duration { min, max } => bounded(duration(value), *min, *max).map(Value::Millis),
        Kind::Size { min, max } => bounded(size(value), *min, *max).map(Value::Bytes),
        _ => Err(Fault::Mismatch),
    }
}

fn text(kind: &Text, value: &DeValue<'_>) -> Result<Value, Fault> {
    let text = value.as_str().ok_or(Fault::Mismatch)?;
    if text.len() > TEXT_MAX {
        let said = format!("it has {} bytes, at most {TEXT_MAX} fit", text.len());
        return Err(Fault::Said(said));
    }
    let said = |why: String| {
        Fault::Said(format!("expected {}, found `\"{}\"`: {why}", kind.what, shown(text)))
    };
    (kind.check)(text).map_err(said)?;
    Ok(Value::Text(text.to_owned()))
}

fn choice(words: &[&str], value: &DeValue<'_>) -> Result<Value, Fault> {
    let text = value.as_str().ok_or(Fault::Mismatch)?;
    if words.contains(&text) {
        return Ok(Value::Text(text.to_owned()));
    }
    let names: Vec<_> = words.iter().map(ToString::to_string).collect();
    match near::nearest(text, &names) {
        Some(near) => {
            let listed = near::listed(&names);
            Err(Fault::Said(format!(
                "expected one of {listed}, found `\"{}\"`, did you mean `{near}`?",
                shown(text)
            )))
        }
        None => Err(Fault::Mismatch),
    }
}

fn bounded(value: Option<u64>, min: u64, max: u64) -> Result<u64, Fault> {
    value.filter(|value| (min..=max).contains(value)).ok_or(Fault::Mismatch)
}

/// A whole number: `8`, `2e9`, `"2e9"`.
fn count(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        DeValue::Float(number) => quantity::parse_count(number.as_str()).ok(),
        DeValue::String(text) if text == "0" => Some(0),
        DeValue::String(text) => quantity::parse_count(text).ok(),
        _ => None,
    }
}

/// A time with its unit, in milliseconds. A bare number is none: of what?
fn duration(value: &DeValue<'_>) -> Option<u64> {
    let text = value.as_str()?;
    if ["0s", "0ms", "0m"].contains(&text) {
        return Some(0);
    }
    u64::try_from(quantity::parse_duration(text).ok()?.as_millis()).ok()
}

/// Bytes: `65536`, `"64KiB"`.
fn size(value: &DeValue<'_>) -> Option<u64> {
    match value.as_str() {
        Some(text) => quantity::parse_bytes(text).ok(),
        None => count(value),
    }
}
