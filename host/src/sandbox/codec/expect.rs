//! Words for what a type takes and for what came instead.
//!
//! Must not check anything.

use serde_json::Value;

use super::near::listed;
use super::shape::Shape;

/// Whether a string that holds JSON may be meant as the JSON.
pub(super) fn takes_json(shape: &Shape) -> bool {
    !matches!(shape, Shape::Bool | Shape::Char | Shape::Bytes | Shape::String | Shape::Enum(_))
}

/// What a type takes, for a message.
pub(super) fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "true or false".into(),
        Shape::Int(kind) => {
            let (least, greatest) = kind.range();
            format!("an integer from {least} to {greatest}")
        }
        Shape::F32 | Shape::F64 => "a number".into(),
        Shape::Char => "a string of one character".into(),
        Shape::String => "a string".into(),
        Shape::Bytes => "a base64 string".into(),
        Shape::List(_) => "an array".into(),
        Shape::Option(inner) => format!("null or {}", expected(inner)),
        Shape::Record(_) | Shape::Result(..) => "an object".into(),
        Shape::Tuple(shapes) => format!("an array of {} values", shapes.len()),
        Shape::Variant(names, _) => format!("one of the cases {}", listed("", names.list())),
        Shape::Enum(names) => format!("one of {}", listed("", names.list())),
        Shape::Flags(names) => format!("an array of {}", listed("", names.list())),
    }
}

/// What came instead; texts are not repeated.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a string".into(),
        Value::Array(values) => format!("an array of {}", values.len()),
        Value::Object(_) => "an object".into(),
    }
}
