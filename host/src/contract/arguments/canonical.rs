//! One text for one JSON value: RFC 8785, with integers exact.
//!
//! What is hashed, approved, shown and recorded. Reads nothing back.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// 2⁶⁴ and −2⁶³ bound what an integer of WIT can be.
const INTEGER_END: f64 = 18_446_744_073_709_551_616.0;
const INTEGER_START: f64 = -9_223_372_036_854_775_808.0;

/// `value` in canonical form (RFC 8785: keys by UTF-16 code units, no white space, numbers as
/// ECMAScript writes doubles, shortest escapes), but for one thing: every integral number from
/// −2⁶³ to below 2⁶⁴ is written with all its digits. RFC 8785 would round integers to doubles, and
/// two different arguments must never share a text.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// Like [`to_string`], of an object.
pub fn object_to_string(map: &Map<String, Value>) -> String {
    let mut out = String::new();
    write_object(&mut out, map);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => write_object(out, map),
    }
}

fn write_object(out: &mut String, map: &Map<String, Value>) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by(|(a, _), (b, _)| key_order(a, b));
    out.push('{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(out, key);
        out.push(':');
        write_value(out, value);
    }
    out.push('}');
}

/// By UTF-16 code units, which of ASCII are its bytes.
fn key_order(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(double) if number.is_f64() => write_double(out, double),
        _ => out.push_str(&number.to_string()),
    }
}

fn write_double(out: &mut String, double: f64) {
    if double == 0.0 {
        // Of both signs.
        out.push('0');
    } else if double.fract() == 0.0 && (INTEGER_START..INTEGER_END).contains(&double) {
        // A precision of nought makes Rust write every digit instead of the shortest ones.
        out.push_str(&format!("{double:.0}"));
    } else {
        out.push_str(ryu_js::Buffer::new().format(double));
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, from) = rest.split_at(plain_len(rest));
        out.push_str(plain);
        let mut chars = from.chars();
        let Some(next) = chars.next() else { break };
        write_escape(out, next);
        rest = chars.as_str();
    }
    out.push('"');
}

/// How many bytes of `text`, from its beginning, stand in a JSON string as they are.
pub(crate) fn plain_len(text: &str) -> usize {
    /// Looked at without an early end, so that the compiler takes many bytes at a time.
    const STEP: usize = 32;
    let needs_escape = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    let is_plain = |step: &&[u8]| !step.iter().fold(false, |any, byte| any | needs_escape(byte));
    let steps = text.as_bytes().chunks_exact(STEP).take_while(is_plain).count() * STEP;
    let rest = text.as_bytes().get(steps..).unwrap_or_default();
    steps + rest.iter().position(needs_escape).unwrap_or(rest.len())
}

fn write_escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        _ => out.push_str(&format!("\\u{:04x}", u32::from(c))),
    }
}

#[cfg(test)]
mod tests;
