//! From what a server answered to the typed end of an attempt.
//!
//! Alters no text and decides nothing about retries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

use crate::contract::attempt::{Answer, End, GuestFault};
use crate::contract::ids::CallId;
use crate::contract::normalise::{result_uri, wrapped};
use crate::contract::result::{Attachment, AttachmentKind};
use crate::runners::schema::SchemaCheck;

/// Most blocks of one answer.
const BLOCKS_MAX: usize = 256;

/// The end that a result is. `output`: the schema that the server gave for it.
pub(super) fn end_of(call: &CallId, result: CallToolResult, output: Option<&SchemaCheck>) -> End {
    let blocks = result.content.len();
    if blocks > BLOCKS_MAX {
        return crashed(format!(
            "the server answered in {blocks} blocks, at most {BLOCKS_MAX} are taken"
        ));
    }
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in result.content {
        let made = match block {
            ContentBlock::Text(text) => {
                texts.push(text.text);
                continue;
            }
            other => attachment(other),
        };
        let Some((kind, mime_type, bytes)) = made else {
            return crashed("the server answered with bytes that aren't base64".to_owned());
        };
        let uri = result_uri(call, attachments.len());
        attachments.push(Attachment { uri, kind, mime_type, size: bytes.len() as u64, bytes });
    }
    let is_error = result.is_error == Some(true);
    let mut content = texts.join("\n");
    if let Some(structured) = result.structured_content.as_ref().filter(|_| content.is_empty()) {
        content = structured.to_string();
    }
    if !is_error && let Some(broken) = broken_promise(output, result.structured_content.as_ref()) {
        return End::Answered(Answer {
            is_error: true,
            content: format!("{broken}\n{content}"),
            structured: None,
            attachments,
        });
    }
    let structured = result.structured_content.map(|value| match value {
        object @ Value::Object(_) => object,
        other => wrapped(other),
    });
    End::Answered(Answer { is_error, content, structured, attachments })
}

pub(super) fn crashed(why: String) -> End {
    End::Guest(GuestFault::Trapped(why))
}

/// How an answer breaks the schema that the server gave for it.
fn broken_promise(output: Option<&SchemaCheck>, structured: Option<&Value>) -> Option<String> {
    let output = output?;
    let Some(value) = structured else {
        return Some("the server's answer lacks the structured part that it promises".to_owned());
    };
    let misfit = output.misfit(value)?;
    Some(format!("the server's answer breaks its own output schema: {misfit}"))
}

type Made = (AttachmentKind, Option<String>, Vec<u8>);

/// What a block is beside the text; `None` where its bytes can't be read.
fn attachment(block: ContentBlock) -> Option<Made> {
    Some(match block {
        ContentBlock::Image(it) => {
            (AttachmentKind::Image, Some(it.mime_type), STANDARD.decode(it.data).ok()?)
        }
        ContentBlock::Audio(it) => {
            (AttachmentKind::Audio, Some(it.mime_type), STANDARD.decode(it.data).ok()?)
        }
        ContentBlock::ResourceLink(it) => {
            let kind = AttachmentKind::ResourceLink { target: it.uri, name: it.name };
            (kind, it.mime_type, Vec::new())
        }
        ContentBlock::Resource(it) => match it.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                (AttachmentKind::Resource { target: uri }, mime_type, text.into_bytes())
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let bytes = STANDARD.decode(blob).ok()?;
                (AttachmentKind::Resource { target: uri }, mime_type, bytes)
            }
            _ => return None,
        },
        ContentBlock::Text(it) => (AttachmentKind::Blob, None, it.text.into_bytes()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
