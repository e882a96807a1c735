//! Turns checked arguments into component values.
//!
//! Relies on `check` and repeats none of its work; what doesn't fit is an error of ours, never a
//! panic. Must not look at what a plugin returns.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use wasmtime::component::Val;

use super::number::to_single;
use super::shape::{Int, Record, Shape};

/// Arguments that no check has let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("arguments don't fit the tool's types, expected arguments that its check has passed")]
pub struct ToValError;

/// The values of a record's fields, in declared order.
pub(super) fn fields(record: &Record, fields: &Map<String, Value>) -> Result<Vec<Val>, ToValError> {
    let mut in_order = fields.iter().peekable();
    let values = record.fields.iter().map(|field| {
        let value = match in_order.next_if(|(name, _)| **name == field.json) {
            Some((_, value)) => value,
            None => fields.get(&field.json).unwrap_or(&Value::Null),
        };
        to_val(&field.shape, value)
    });
    values.collect()
}

/// A record's fields with their names.
pub(super) fn named(record: &Record, given: &Map<String, Value>) -> Result<Val, ToValError> {
    let names = record.fields.iter().map(|field| field.wit.clone());
    Ok(Val::Record(names.zip(fields(record, given)?).collect()))
}

fn to_val(shape: &Shape, value: &Value) -> Result<Val, ToValError> {
    Ok(match (shape, value) {
        (Shape::Bool, Value::Bool(value)) => Val::Bool(*value),
        (Shape::Int(kind), Value::Number(_)) => integer(*kind, value).ok_or(ToValError)?,
        (Shape::F32, value) => Val::Float32(to_single(value.as_f64().ok_or(ToValError)?)),
        (Shape::F64, value) => Val::Float64(value.as_f64().ok_or(ToValError)?),
        (Shape::Char, Value::String(text)) => Val::Char(text.chars().next().ok_or(ToValError)?),
        (Shape::String, Value::String(text)) => Val::String(text.clone()),
        (Shape::Bytes, value) => Val::List(bytes(value)?.into_iter().map(Val::U8).collect()),
        (Shape::List(inner), Value::Array(values)) => {
            let values = values.iter().map(|value| to_val(inner, value));
            Val::List(values.collect::<Result<_, _>>()?)
        }
        (Shape::Option(_), Value::Null) => Val::Option(None),
        (Shape::Option(inner), value) => {
            let value = match **inner {
                Shape::Option(_) => value.get("some").ok_or(ToValError)?,
                _ => value,
            };
            Val::Option(Some(Box::new(to_val(inner, value)?)))
        }
        (Shape::Record(record), Value::Object(fields)) => named(record, fields)?,
        (Shape::Tuple(shapes), Value::Array(values)) if shapes.len() == values.len() => {
            let values = shapes.iter().zip(values).map(|(shape, value)| to_val(shape, value));
            Val::Tuple(values.collect::<Result<_, _>>()?)
        }
        (Shape::Variant(..), Value::String(name)) => Val::Variant(name.clone(), None),
        (Shape::Variant(names, payloads), value) => {
            let (name, value) = only(value)?;
            let at = names.position(name).ok_or(ToValError)?;
            let payload = payloads.get(at).and_then(Option::as_ref);
            Val::Variant(name.to_owned(), self::payload(payload, value)?)
        }
        (Shape::Enum(_), Value::String(name)) => Val::Enum(name.clone()),
        (Shape::Flags(_), Value::Array(names)) => {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            Val::Flags(names.collect::<Option<_>>().ok_or(ToValError)?)
        }
        (Shape::Result(ok, err), value) => Val::Result(match only(value)? {
            ("ok", value) => Ok(payload(ok.as_deref(), value)?),
            ("err", value) => Err(payload(err.as_deref(), value)?),
            _ => return Err(ToValError),
        }),
        _ => return Err(ToValError),
    })
}

/// The bytes of a byte list.
pub(super) fn bytes(value: &Value) -> Result<Vec<u8>, ToValError> {
    STANDARD.decode(value.as_str().ok_or(ToValError)?).map_err(|_| ToValError)
}

fn integer(kind: Int, value: &Value) -> Option<Val> {
    Some(match kind {
        Int::U8 => Val::U8(value.as_u64()?.try_into().ok()?),
        Int::U16 => Val::U16(value.as_u64()?.try_into().ok()?),
        Int::U32 => Val::U32(value.as_u64()?.try_into().ok()?),
        Int::U64 => Val::U64(value.as_u64()?),
        Int::S8 => Val::S8(value.as_i64()?.try_into().ok()?),
        Int::S16 => Val::S16(value.as_i64()?.try_into().ok()?),
        Int::S32 => Val::S32(value.as_i64()?.try_into().ok()?),
        Int::S64 => Val::S64(value.as_i64()?),
    })
}

fn payload(shape: Option<&Shape>, value: &Value) -> Result<Option<Box<Val>>, ToValError> {
    shape.map(|shape| to_val(shape, value).map(Box::new)).transpose()
}

fn only(value: &Value) -> Result<(&str, &Value), ToValError> {
    let mut fields = value.as_object().ok_or(ToValError)?.iter();
    match (fields.next(), fields.next()) {
        (Some((name, value)), None) => Ok((name, value)),
        _ => Err(ToValError),
    }
}
