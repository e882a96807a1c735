//! Reads an array or object that came as its own text, as some models send them.
//!
//! Only where the type takes no string, so that nothing which could be meant as a string is ever
//! read. Must not check what was read: `check` does, by the same rules as all else.

use serde_json::Value;

use crate::contract::arguments::{ArgumentFailure, ArgumentsError, joined, parse_value};

use super::limits::DEPTH;
use super::shape::Shape;

/// Whether a text may stand for a value of this type: the type takes arrays or objects and no
/// string at all, and the text begins like one of them.
pub(super) fn may_be_text_of(shape: &Shape, text: &str) -> bool {
    opening(shape).is_some_and(|opening| text.trim_start().starts_with(opening))
}

/// What every value of the type begins with; none where one may be a string or a scalar.
fn opening(shape: &Shape) -> Option<char> {
    match shape {
        Shape::List(_) | Shape::Tuple(_) | Shape::Flags(_) => Some('['),
        Shape::Record(_) | Shape::Result(..) => Some('{'),
        // A case that carries nothing is a string.
        Shape::Variant(_, payloads) => payloads.iter().all(Option::is_some).then_some('{'),
        Shape::Option(inner) => match &**inner {
            Shape::Option(_) => Some('{'),
            inner => opening(inner),
        },
        Shape::Bool
        | Shape::Int(_)
        | Shape::F32
        | Shape::F64
        | Shape::Char
        | Shape::String
        | Shape::Bytes
        | Shape::Enum(_) => None,
    }
}

/// The value that a text holds. A type is at most `DEPTH` deep, and so is a value that fits it.
///
/// # Errors
/// Why it is none, as a clause about the text.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    parse_value(text, DEPTH).map_err(|error| match error {
        ArgumentsError::Truncated(at) => format!("it is truncated: it stops at {at}"),
        ArgumentsError::Trailing(at) => format!("it goes on after its end, at {at}"),
        ArgumentsError::DuplicateKey { path, .. } => format!("it names `{path}` twice"),
        ArgumentsError::TooDeep { max_depth, .. } => {
            format!("it is nested too deep: expected at most {max_depth} levels")
        }
        ArgumentsError::Syntax { reason, position, .. } => {
            format!("it has a fault: {reason} at {position}")
        }
        error => error.to_string(),
    })
}

/// The clause for a value that doesn't fit, with the first reason and their number.
pub(super) fn refusal(failures: &[ArgumentFailure]) -> String {
    let (first, rest) = failures.split_at(failures.len().min(1));
    let more = if rest.is_empty() { "" } else { " and more" };
    format!("it doesn't fit: {}{more}", joined(first))
}
