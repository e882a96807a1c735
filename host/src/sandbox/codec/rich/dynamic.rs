//! Reads rich output from dynamic values, where a function's parameters keep it off the typed path.
//!
//! Must give the same items as the typed path.

use wasmtime::component::Val;

use crate::contract::result::AttachmentKind;

use super::super::from_val::{FromValError, bytes};
use super::Item;

/// The items of an `output`.
///
/// # Errors
/// The value is no `output`.
pub(in super::super) fn items(value: Val) -> Result<Vec<Item>, FromValError> {
    let items = Fields::of(value).and_then(|mut output| match output.take("content")? {
        Val::List(contents) => contents.into_iter().map(item).collect(),
        _ => None,
    });
    items.ok_or(FromValError::Mismatch { expected: "an output of `belljar:tool/types`" })
}

fn item(content: Val) -> Option<Item> {
    let Val::Variant(name, Some(payload)) = content else { return None };
    let mut fields = Fields::of(*payload)?;
    match name.as_str() {
        "text" => Some(Item::Text(fields.text("text")?)),
        "image" => media(fields, AttachmentKind::Image),
        "audio" => media(fields, AttachmentKind::Audio),
        "resource-link" => Some(Item::Link {
            uri: fields.text("uri")?,
            name: fields.text("name")?,
            mime_type: fields.optional("mime-type")?.and_then(text),
            size: fields.optional("size")?.and_then(|size| match size {
                Val::U64(size) => Some(size),
                _ => None,
            }),
        }),
        "embedded-resource" => {
            let kind = AttachmentKind::Resource { target: fields.text("uri")? };
            let mime_type = fields.optional("mime-type")?.and_then(text);
            let Val::Variant(name, Some(contents)) = fields.take("contents")? else { return None };
            let bytes = match name.as_str() {
                "text" => text(*contents)?.into_bytes(),
                _ => bytes(*contents).ok()?,
            };
            Some(Item::Bytes { kind, mime_type, bytes })
        }
        _ => None,
    }
}

fn media(mut fields: Fields, kind: AttachmentKind) -> Option<Item> {
    let mime_type = Some(fields.text("mime-type")?);
    let bytes = bytes(fields.take("bytes")?).ok()?;
    Some(Item::Bytes { kind, mime_type, bytes })
}

fn text(value: Val) -> Option<String> {
    match value {
        Val::String(text) => Some(text),
        _ => None,
    }
}

/// The fields of a record, each taken once.
struct Fields(Vec<(String, Val)>);

impl Fields {
    fn of(value: Val) -> Option<Self> {
        match value {
            Val::Record(fields) => Some(Self(fields)),
            _ => None,
        }
    }

    fn take(&mut self, name: &str) -> Option<Val> {
        let (_, value) = self.0.iter_mut().find(|(field, _)| field == name)?;
        Some(std::mem::replace(value, Val::Bool(false)))
    }

    fn text(&mut self, name: &str) -> Option<String> {
        text(self.take(name)?)
    }

    fn optional(&mut self, name: &str) -> Option<Option<Val>> {
        match self.take(name)? {
            Val::Option(value) => Some(value.map(|value| *value)),
            _ => None,
        }
    }
}
