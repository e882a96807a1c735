//! What a model is told of one result: one copy of its content, and of each attachment either
//! itself or a notice.
//!
//! Knows no provider; each says which attachments it can carry. The media type of an attachment is
//! a claim, and one wrong claim makes a provider refuse the whole request: what is sent as an image
//! is one by its first bytes.

use crate::contract::escape::clipped_line;
use crate::contract::result::{Attachment, AttachmentKind, Status, ToolResult};

/// Largest attachment that is sent, in bytes: Anthropic takes 5 MB of base64, the others more.
const SENT_MAX_LEN: usize = 3_750_000;
/// Most attachments of one result that are sent.
const SENT_MAX: usize = 20;
/// Most attachments of one result that have a notice each.
const NOTICES_MAX: usize = 20;
/// Longest name or address in a notice, in bytes.
const PART_MAX_LEN: usize = 300;

/// An attachment that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent<'r> {
    /// Its media type, by its bytes.
    pub(super) mime_type: &'static str,
    /// The bytes.
    pub(super) bytes: &'r [u8],
}

/// What a model is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer<'r> {
    /// The content, or what went wrong.
    pub(super) text: String,
    /// A line for each attachment that isn't sent; empty where there is none.
    pub(super) notices: String,
    /// Attachments that are sent.
    pub(super) sent: Vec<Sent<'r>>,
}

impl Answer<'_> {
    /// Text and notices together.
    pub(super) fn whole(self) -> String {
        let Self { text, notices, .. } = self;
        match (text.is_empty(), notices.is_empty()) {
            (_, true) => text,
            (true, false) => notices,
            (false, false) => format!("{text}\n{notices}"),
        }
    }
}

/// Whether a call went wrong.
pub(super) fn is_error(result: &ToolResult) -> bool {
    result.status == Status::Error
}

/// What a model is told of `result` by a provider that carries attachments of `types`.
pub(super) fn answer<'r>(result: &'r ToolResult, types: &[&str]) -> Answer<'r> {
    let (mut sent, mut notices) = (Vec::new(), Vec::new());
    for attachment in &result.attachments {
        let carried = sendable(attachment).filter(|it| types.contains(&it.mime_type));
        match carried {
            Some(it) if sent.len() < SENT_MAX => sent.push(it),
            // The content names it where it was cut.
            _ if attachment.kind == AttachmentKind::FullOutput => {}
            _ => notices.push(attachment),
        }
    }
    let unnamed = notices.len().saturating_sub(NOTICES_MAX);
    let mut lines: Vec<String> = notices.into_iter().take(NOTICES_MAX).map(notice).collect();
    if unnamed > 0 {
        lines.push(format!("[{unnamed} more attachments]"));
    }
    let text = if is_error(result) { failure(result) } else { result.content.clone() };
    Answer { text, notices: lines.join("\n"), sent }
}

/// The message and the content of a failure, without saying the same twice.
fn failure(result: &ToolResult) -> String {
    let content = result.content.as_str();
    match result.error_message.as_deref().filter(|it| !it.trim().is_empty()) {
        None if content.trim().is_empty() => "the tool gave no reason".to_owned(),
        None => content.to_owned(),
        Some(message) if content.trim().is_empty() => message.to_owned(),
        Some(message) if content.contains(message) => content.to_owned(),
        Some(message) => format!("{message}\n{content}"),
    }
}

/// An image that is one, or a document that is one and is said to be.
fn sendable(attachment: &Attachment) -> Option<Sent<'_>> {
    let bytes = attachment.bytes.as_slice();
    let mime_type = media_type(bytes).filter(|_| bytes.len() <= SENT_MAX_LEN)?;
    let is_document = mime_type == "application/pdf";
    let sends = match &attachment.kind {
        AttachmentKind::Image => !is_document,
        AttachmentKind::Blob | AttachmentKind::Resource { .. } => {
            attachment.mime_type.as_deref() == Some(mime_type)
        }
        _ => false,
    };
    sends.then_some(Sent { mime_type, bytes })
}

/// By the first bytes, which each format's own specification gives.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let begins = |magic: &[u8]| bytes.starts_with(magic);
    match bytes {
        _ if begins(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        _ if begins(b"\xff\xd8\xff") => Some("image/jpeg"),
        _ if begins(b"GIF87a") || begins(b"GIF89a") => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ if begins(b"%PDF-") => Some("application/pdf"),
        _ => None,
    }
}

fn notice(attachment: &Attachment) -> String {
    let part = |text: &str| clipped_line(text, PART_MAX_LEN);
    let kind = match &attachment.kind {
        AttachmentKind::Blob => "bytes".to_owned(),
        AttachmentKind::Image => "an image".to_owned(),
        AttachmentKind::Audio => "audio".to_owned(),
        AttachmentKind::ResourceLink { target, name } => {
            return format!("[link: {}, {}]", part(name), part(target));
        }
        AttachmentKind::Resource { target } => format!("a copy of {}", part(target)),
        AttachmentKind::FullOutput => "the whole output".to_owned(),
    };
    let mime_type = attachment.mime_type.as_deref().map(|it| format!(", {}", part(it)));
    format!(
        "[attachment {}: {kind}{}, {} bytes, not shown here]",
        part(&attachment.uri),
        mime_type.unwrap_or_default(),
        attachment.size
    )
}
