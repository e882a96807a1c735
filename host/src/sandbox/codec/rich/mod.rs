//! Rich output, the type `output` of `belljar:tool/types`: text beside pictures, sound, resources.
//!
//! The text items become the result's text, one a line or more, and all others attachments. Must not
//! fetch a link or believe a media type.

mod dynamic;
mod shape;
mod typed;

use serde_json::Value;
use wasmtime::Engine;
use wasmtime::component::types;

use crate::contract::result::AttachmentKind;

use super::from_val::{Collector, FromValError};

pub(super) use dynamic::items;
pub(super) use shape::output as output_shape;
pub(super) use typed::Output;

/// Whether a component imports the interface that defines rich output, in a version known here.
///
/// Types are structural, so a return counts as rich where its component imports the interface and
/// the return has the very type that is defined there.
pub fn is_imported(component: &types::Component, engine: &Engine) -> bool {
    component.imports(engine).any(|(name, _)| name.starts_with("belljar:tool/types@0.1."))
}

/// One item of an output, without its hints.
#[derive(Debug, PartialEq)]
pub(super) enum Item {
    Text(String),
    Link { uri: String, name: String, mime_type: Option<String>, size: Option<u64> },
    Bytes { kind: AttachmentKind, mime_type: Option<String>, bytes: Vec<u8> },
}

/// Keeps what isn't text beside the result, and gives the text.
pub(super) fn collect(
    collector: &mut Collector<'_>,
    items: impl Iterator<Item = Item>,
) -> Result<Value, FromValError> {
    let mut texts = Vec::new();
    for item in items {
        match item {
            Item::Text(text) => texts.push(text),
            Item::Link { uri, name, mime_type, size } => {
                let kind = AttachmentKind::ResourceLink { target: uri, name };
                collector.attach(kind, mime_type, Vec::new())?;
                if let (Some(link), Some(size)) = (collector.attachments.last_mut(), size) {
                    link.size = size;
                }
            }
            Item::Bytes { kind, mime_type, bytes } => {
                collector.attach(kind, mime_type, bytes)?;
            }
        }
    }
    Ok(texts.join("\n").into())
}
