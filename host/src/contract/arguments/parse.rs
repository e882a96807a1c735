//! From the text of arguments to their value, once, by one visitor.
//!
//! Repairs nothing: what isn't wholly a JSON object is refused. Knows no tool.

use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::{Map, Value};

use super::error::{ArgumentsError, Position};
use super::walk::{Fault, Node, Walk};
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::unfit::no_json;

/// What is read at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentBounds {
    /// Bytes of the text.
    pub bytes: usize,
    /// Levels of objects and arrays; the arguments' own object is the first. Never more than the
    /// ceiling of the limit, since reading and dropping recurse.
    pub depth: usize,
}

impl ArgumentBounds {
    /// The bounds that `limits` give.
    pub fn of(limits: &Limits) -> Self {
        Self {
            bytes: limits.size(LimitKind::ArgumentBytes),
            depth: limits.size(LimitKind::ArgumentDepth),
        }
    }

    /// What no tool's arguments can pass.
    pub fn widest() -> Self {
        let ceiling = |kind: LimitKind| usize::try_from(kind.facts().ceiling).unwrap_or(usize::MAX);
        Self { bytes: ceiling(LimitKind::ArgumentBytes), depth: ceiling(LimitKind::ArgumentDepth) }
    }
}

/// Reads the arguments of a call. An empty text, or one of JSON's white space alone, is `{}`.
///
/// A number that is written with a fraction or an exponent and is integral becomes an integer
/// where the double is exact (up to ±2⁵³); beyond, it stays a double, as does an integer outside
/// the 64-bit range, so that whoever wants an integer can refuse what may have been rounded.
///
/// # Errors
/// Whatever is not exactly one JSON object within the bounds, each key of an object once.
pub fn parse(raw: &str, bounds: ArgumentBounds) -> Result<Map<String, Value>, ArgumentsError> {
    if raw.len() > bounds.bytes {
        return Err(ArgumentsError::TooLong { bytes: raw.len(), max_bytes: bounds.bytes });
    }
    if raw.starts_with('\u{feff}') {
        return Err(ArgumentsError::ByteOrderMark);
    }
    if raw.trim_matches([' ', '\t', '\n', '\r']).is_empty() {
        return Ok(Map::new());
    }
    match parse_value(raw, bounds.depth)? {
        Value::Object(map) => Ok(map),
        Value::String(text) if holds_object(&text) => Err(ArgumentsError::Stringified),
        other => Err(ArgumentsError::NotAnObject { found: described(&other) }),
    }
}

/// Reads one JSON value of whatever kind by the same rules, `depth` levels deep at most: a value
/// that came as its own text inside the arguments.
///
/// # Errors
/// Whatever is not exactly one JSON value within the bound, each key of an object once.
pub fn parse_value(raw: &str, depth: usize) -> Result<Value, ArgumentsError> {
    let ceiling = usize::try_from(LimitKind::ArgumentDepth.facts().ceiling).unwrap_or(usize::MAX);
    let mut walk = Walk::new(depth.min(ceiling));
    let mut reader = serde_json::Deserializer::from_str(raw);
    // The library's own limit is one level short of our ceiling; `Walk` counts instead.
    reader.disable_recursion_limit();
    let value =
        Node(&mut walk).deserialize(&mut reader).map_err(|error| blame(&walk, raw, &error))?;
    reader.end().map_err(|error| ArgumentsError::Trailing(position(raw, &error)))?;
    Ok(value)
}

fn holds_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The error of ours that an error of the library stands for.
fn blame(walk: &Walk, raw: &str, error: &serde_json::Error) -> ArgumentsError {
    let (path, position) = (walk.path(), position(raw, error));
    match walk.fault {
        Fault::TooDeep => ArgumentsError::TooDeep { path, position, max_depth: walk.max_depth },
        Fault::DuplicateKey => ArgumentsError::DuplicateKey { path, position },
        // A cut between the halves of a surrogate pair is reported as a bad escape.
        Fault::Syntax
            if error.is_eof() || (position.offset + 1 >= raw.len() && stops_open(raw)) =>
        {
            ArgumentsError::Truncated(end_of(raw))
        }
        Fault::Syntax => {
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or_default();
            ArgumentsError::Syntax { reason: no_json(reason).to_owned(), path, position }
        }
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn position(raw: &str, error: &serde_json::Error) -> Position {
    let (line, column) = (error.line(), error.column().max(1));
    let before = raw.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len);
    Position { line, column, offset: before.sum::<usize>() + column - 1 }
}

fn end_of(raw: &str) -> Position {
    let line_start = raw.rfind('\n').map_or(0, |at| at + 1);
    Position {
        line: raw.matches('\n').count() + 1,
        column: raw.len() - line_start + 1,
        offset: raw.len(),
    }
}

/// Whether the text stops within a string, an object or an array.
fn stops_open(raw: &str) -> bool {
    let (mut depth, mut in_string, mut escape) = (0_usize, false, false);
    for byte in raw.bytes() {
        match byte {
            _ if escape => escape = false,
            b'\\' if in_string => escape = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    in_string || depth > 0
}

#[cfg(test)]
mod tests;
