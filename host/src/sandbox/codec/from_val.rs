//! Turns what a plugin returned into JSON and attachments.
//!
//! Values come from the engine, which has held them to their types; a value that isn't what the plan
//! says is an error, never a panic. Recursion goes as deep as the type, which is bounded. Must not
//! decide what a returned value means.

use serde_json::{Map, Value};
use wasmtime::component::Val;

use crate::contract::ids::CallId;
use crate::contract::normalise::result_uri;
use crate::contract::result::{Attachment, AttachmentKind};

use super::limits::ATTACHMENTS;
use super::number;
use super::shape::{Record, Shape};

/// Why a returned value is not handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FromValError {
    /// More byte lists or rich items than are kept. It is the guest's doing: too large an output.
    #[error("the result has more than {most} attachments")]
    Attachments {
        /// How many are kept.
        most: usize,
    },
    /// The value is not of the type that the plan was made from.
    #[error("the result doesn't fit the tool's type, expected {expected}")]
    Mismatch {
        /// The kind of type.
        expected: &'static str,
    },
}

/// Collects the attachments of one result.
pub(super) struct Collector<'c> {
    call_id: &'c CallId,
    pub(super) attachments: Vec<Attachment>,
}

impl<'c> Collector<'c> {
    pub(super) fn new(call_id: &'c CallId) -> Self {
        Self { call_id, attachments: Vec::new() }
    }

    /// Keeps bytes beside the result and gives the address that stands for them.
    pub(super) fn attach(
        &mut self,
        kind: AttachmentKind,
        mime_type: Option<String>,
        bytes: Vec<u8>,
    ) -> Result<String, FromValError> {
        let index = self.attachments.len();
        if index >= ATTACHMENTS {
            return Err(FromValError::Attachments { most: ATTACHMENTS });
        }
        let uri = result_uri(self.call_id, index);
        let size = bytes.len() as u64;
        self.attachments.push(Attachment { uri: uri.clone(), kind, mime_type, size, bytes });
        Ok(uri)
    }

    /// A bare byte list.
    pub(super) fn blob(&mut self, bytes: Vec<u8>) -> Result<Value, FromValError> {
        self.attach(AttachmentKind::Blob, None, bytes).map(Value::String)
    }

    /// A value of this type as JSON.
    pub(super) fn value(&mut self, shape: &Shape, value: Val) -> Result<Value, FromValError> {
        Ok(match (shape, value) {
            (Shape::Bool, Val::Bool(value)) => value.into(),
            (Shape::Int(_), value) => integer(&value)?,
            (Shape::F32, Val::Float32(value)) => number::single(value),
            (Shape::F64, Val::Float64(value)) => number::double(value),
            (Shape::Char, Val::Char(value)) => value.to_string().into(),
            (Shape::String, Val::String(value)) | (Shape::Enum(_), Val::Enum(value)) => {
                value.into()
            }
            (Shape::Bytes, value) => self.blob(bytes(value)?)?,
            (Shape::List(inner), Val::List(values)) => {
                let values = values.into_iter().map(|value| self.value(inner, value));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            (Shape::Option(_), Val::Option(None)) => Value::Null,
            (Shape::Option(inner), Val::Option(Some(value))) => {
                let value = self.value(inner, *value)?;
                if matches!(**inner, Shape::Option(_)) { one("some", value) } else { value }
            }
            (Shape::Record(record), Val::Record(fields)) => self.record(record, fields)?,
            (Shape::Tuple(shapes), Val::Tuple(values)) => {
                let values = shapes.iter().zip(values);
                let values = values.map(|(shape, value)| self.value(shape, value));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            (Shape::Variant(names, payloads), Val::Variant(name, payload)) => {
                let at = names.position(&name).ok_or(mismatch("a variant"))?;
                match payloads.get(at).and_then(Option::as_ref) {
                    None => name.into(),
                    Some(shape) => one(&name, self.payload(Some(shape), payload)?),
                }
            }
            (Shape::Flags(_), Val::Flags(names)) => names.into(),
            (Shape::Result(ok, err), Val::Result(value)) => match value {
                Ok(value) => one("ok", self.payload(ok.as_deref(), value)?),
                Err(value) => one("err", self.payload(err.as_deref(), value)?),
            },
            (shape, _) => return Err(mismatch(kind(shape))),
        })
    }

    /// What a case carries; null where it carries nothing.
    pub(super) fn payload(
        &mut self,
        shape: Option<&Shape>,
        value: Option<Box<Val>>,
    ) -> Result<Value, FromValError> {
        match (shape, value) {
            (Some(shape), Some(value)) => self.value(shape, *value),
            (None, None) => Ok(Value::Null),
            _ => Err(mismatch("a payload where the type has one")),
        }
    }

    /// Fields in declared order, without those that are none.
    fn record(
        &mut self,
        record: &Record,
        values: Vec<(String, Val)>,
    ) -> Result<Value, FromValError> {
        if record.fields.len() != values.len() {
            return Err(mismatch("a record"));
        }
        let mut fields = Map::with_capacity(values.len());
        for (field, (_, value)) in record.fields.iter().zip(values) {
            if !matches!(value, Val::Option(None)) {
                fields.insert(field.json.clone(), self.value(&field.shape, value)?);
            }
        }
        Ok(Value::Object(fields))
    }
}

fn mismatch(expected: &'static str) -> FromValError {
    FromValError::Mismatch { expected }
}

fn one(name: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value)]))
}

fn integer(value: &Val) -> Result<Value, FromValError> {
    let number: i128 = match value {
        Val::U8(value) => (*value).into(),
        Val::S8(value) => (*value).into(),
        Val::U16(value) => (*value).into(),
        Val::S16(value) => (*value).into(),
        Val::U32(value) => (*value).into(),
        Val::S32(value) => (*value).into(),
        Val::U64(value) => (*value).into(),
        Val::S64(value) => (*value).into(),
        _ => return Err(mismatch("an integer")),
    };
    Ok(number::returned(number))
}

/// The bytes of a `list<u8>` that came as dynamic values.
pub(super) fn bytes(value: Val) -> Result<Vec<u8>, FromValError> {
    let Val::List(values) = value else { return Err(mismatch("a list of bytes")) };
    let bytes = values.into_iter().map(|value| match value {
        Val::U8(byte) => Ok(byte),
        _ => Err(mismatch("a list of bytes")),
    });
    bytes.collect()
}

fn kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Bool => "a bool",
        Shape::Int(_) => "an integer",
        Shape::F32 => "an f32",
        Shape::F64 => "an f64",
        Shape::Char => "a char",
        Shape::String => "a string",
        Shape::Bytes => "a list of bytes",
        Shape::List(_) => "a list",
        Shape::Option(_) => "an option",
        Shape::Record(_) => "a record",
        Shape::Tuple(_) => "a tuple",
        Shape::Variant(..) => "a variant",
        Shape::Enum(_) => "an enum",
        Shape::Flags(_) => "flags",
        Shape::Result(..) => "a result",
    }
}
