//! Source A's rule for tools whose only answer is text (A18 and its exit-code addition).
//!
//! The last resort: a WIT `result`, a trap or a limit is a fact and never comes here.

use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::message;
use crate::contract::ids::CallId;
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;

/// Whether a plain string that a tool returns is read for an error in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextRule {
    /// By A18.
    #[default]
    On,
    /// Every plain string is success.
    Off,
}

/// What a text says of how its call went.
pub(super) enum Verdict {
    Success,
    /// With a message, where the text has one.
    Error(Option<String>),
}

/// The result of a call of which only its text is known (A18).
///
/// A JSON object with a key `error` is an error, whatever the value; the value is the message if it
/// is a string that isn't blank. Without that key, an `exit_code` other than zero is an error
/// without a message. Everything else is success: other JSON, a text that isn't wholly JSON, plain
/// words. The text is the content, byte for byte.
///
/// Where source A leaves `exit_code` to JavaScript's `Number`, belljar says: a number, or a string
/// that is a decimal number (`"1"`, `" 0 "`), counts; `0`, `-0`, `0.0` are zero, `0.5` isn't;
/// `null`, booleans, other strings (`"x"`, `""`), arrays and objects state no exit code and so no
/// failure. Of a repeated key the last one counts, as in `JSON.parse`.
pub fn normalise_text(call_id: CallId, raw: &str, duration_ms: Option<u64>) -> ToolResult {
    let mut result = match verdict(raw) {
        Verdict::Success => ToolResult::new(call_id, Outcome::Success, raw),
        Verdict::Error(message) => {
            let mut result = ToolResult::new(call_id, Outcome::ToolError, raw);
            result.error_message = message;
            result
        }
    };
    result.duration_ms = duration_ms;
    result
}

pub(super) fn verdict(raw: &str) -> Verdict {
    // Most texts are plain words, and an error of the parser's is dear to make.
    if !raw.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{') {
        return Verdict::Success;
    }
    let Ok(Signs { error, exit_code }) = serde_json::from_str(raw) else {
        return Verdict::Success;
    };
    match (error, exit_code) {
        (Some(Sign::Text(text)), _) if !text.trim().is_empty() => {
            Verdict::Error(Some(message::bounded(text)))
        }
        (Some(_), _) => Verdict::Error(None),
        (None, Some(code)) if is_failure(&code) => Verdict::Error(None),
        (None, _) => Verdict::Success,
    }
}

fn is_failure(exit_code: &Sign) -> bool {
    let number = match exit_code {
        Sign::Number(number) => Some(*number),
        // Rust's parser also reads `inf` and `nan`, which are no exit codes.
        Sign::Text(text) => text.trim().parse().ok().filter(|code: &f64| code.is_finite()),
        Sign::Other => None,
    };
    number.is_some_and(|code| code != 0.0)
}

/// The two keys that matter; the rest of the text is checked to be JSON and not built, so that a
/// huge or deep text costs neither memory nor stack.
struct Signs {
    error: Option<Sign>,
    exit_code: Option<Sign>,
}

/// As much of a value as the rule asks for.
enum Sign {
    Text(String),
    Number(f64),
    Other,
}

impl<'de> Deserialize<'de> for Signs {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(SignsVisitor)
    }
}

struct SignsVisitor;

impl<'de> Visitor<'de> for SignsVisitor {
    type Value = Signs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Signs, A::Error> {
        let mut signs = Signs { error: None, exit_code: None };
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                "error" => signs.error = Some(entries.next_value()?),
                "exit_code" => signs.exit_code = Some(entries.next_value()?),
                _ => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(signs)
    }
}

impl<'de> Deserialize<'de> for Sign {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SignVisitor)
    }
}

struct SignVisitor;

impl<'de> Visitor<'de> for SignVisitor {
    type Value = Sign;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Sign, E> {
        Ok(Sign::Text(text.to_owned()))
    }

    // Only whether a number is zero matters, which rounding to a double doesn't change.
    fn visit_i64<E>(self, number: i64) -> Result<Sign, E> {
        Ok(Sign::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Sign, E> {
        Ok(Sign::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Sign, E> {
        Ok(Sign::Number(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Sign, E> {
        Ok(Sign::Other)
    }

    fn visit_unit<E>(self) -> Result<Sign, E> {
        Ok(Sign::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sign, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Sign::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Sign, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Sign::Other)
    }
}

#[cfg(test)]
mod tests;
