//! The types of `belljar:tool/types` as Rust types, for the path that doesn't pay for each byte.
//!
//! Must mirror `wit/types.wit`, fields that nothing reads included: the engine compares types whole.

use wasmtime::component::{ComponentType, Lift};

use crate::contract::result::AttachmentKind;

use super::Item;

/// `output`.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(in super::super) struct Output {
    content: Vec<Content>,
}

#[derive(ComponentType, Lift)]
#[component(variant)]
pub(in super::super) enum Content {
    #[component(name = "text")]
    Text(TextContent),
    #[component(name = "image")]
    Image(MediaContent),
    #[component(name = "audio")]
    Audio(MediaContent),
    #[component(name = "resource-link")]
    ResourceLink(ResourceLink),
    #[component(name = "embedded-resource")]
    EmbeddedResource(EmbeddedResource),
}

#[derive(ComponentType, Lift)]
#[expect(dead_code, reason = "results have no place for hints")]
#[component(record)]
pub(in super::super) struct TextContent {
    text: String,
    annotations: Option<Annotations>,
}

#[derive(ComponentType, Lift)]
#[expect(dead_code, reason = "results have no place for hints")]
#[component(record)]
pub(in super::super) struct MediaContent {
    #[component(name = "mime-type")]
    mime_type: String,
    bytes: Vec<u8>,
    annotations: Option<Annotations>,
}

#[derive(ComponentType, Lift)]
#[expect(dead_code, reason = "results have no place for hints")]
#[component(record)]
pub(in super::super) struct ResourceLink {
    uri: String,
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[component(name = "mime-type")]
    mime_type: Option<String>,
    size: Option<u64>,
    annotations: Option<Annotations>,
}

#[derive(ComponentType, Lift)]
#[expect(dead_code, reason = "results have no place for hints")]
#[component(record)]
pub(in super::super) struct EmbeddedResource {
    uri: String,
    #[component(name = "mime-type")]
    mime_type: Option<String>,
    contents: ResourceContents,
    annotations: Option<Annotations>,
}

#[derive(ComponentType, Lift)]
#[component(variant)]
pub(in super::super) enum ResourceContents {
    #[component(name = "text")]
    Text(String),
    #[component(name = "blob")]
    Blob(Vec<u8>),
}

#[derive(ComponentType, Lift)]
#[expect(dead_code, reason = "results have no place for hints")]
#[component(record)]
pub(in super::super) struct Annotations {
    audience: Vec<Audience>,
    priority: Option<f32>,
    #[component(name = "last-modified")]
    last_modified: Option<String>,
}

#[derive(ComponentType, Lift, Clone, Copy)]
#[expect(dead_code, reason = "results have no place for hints")]
#[component(enum)]
#[repr(u8)]
pub(in super::super) enum Audience {
    #[component(name = "user")]
    User,
    #[component(name = "assistant")]
    Assistant,
}

impl Output {
    /// Its items in order.
    pub(in super::super) fn items(self) -> impl Iterator<Item = Item> {
        self.content.into_iter().map(Item::from)
    }
}

impl From<Content> for Item {
    fn from(content: Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text.text),
            Content::Image(media) => media.item(AttachmentKind::Image),
            Content::Audio(media) => media.item(AttachmentKind::Audio),
            Content::ResourceLink(ResourceLink { uri, name, mime_type, size, .. }) => {
                Self::Link { uri, name, mime_type, size }
            }
            Content::EmbeddedResource(EmbeddedResource { uri, mime_type, contents, .. }) => {
                let bytes = match contents {
                    ResourceContents::Text(text) => text.into_bytes(),
                    ResourceContents::Blob(bytes) => bytes,
                };
                Self::Bytes { kind: AttachmentKind::Resource { target: uri }, mime_type, bytes }
            }
        }
    }
}

impl MediaContent {
    fn item(self, kind: AttachmentKind) -> Item {
        Item::Bytes { kind, mime_type: Some(self.mime_type), bytes: self.bytes }
    }
}
