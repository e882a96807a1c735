//! A result as MCP's: the text exactly as the tool made it, and all else beside it.
//!
//! Changes no content. Paths of this machine are in no part of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::{Value, json};

use crate::contract::descriptor::{ToolDescriptor, ToolSource};
use crate::contract::escape::escaped_line;
use crate::contract::normalise::wrapped;
use crate::contract::outcome::Outcome;
use crate::contract::result::{Attachment, AttachmentKind, MissingGrant, Status, ToolResult};

/// What belljar knows of a result beside what MCP has a place for, under `_meta`.
pub(super) const META_RESULT: &str = "belljar/result";
/// Bytes of attachments that one result carries itself. Others stand under their address.
const INLINE_MAX: usize = 4 << 20;

/// The result of a call of `tool`.
pub(super) fn answer(mut result: ToolResult, tool: &ToolDescriptor) -> CallToolResult {
    let mut fine = result.status == Status::Success;
    let structured = result.structured.take();
    let (structured, error) = if fine { (structured, None) } else { (None, structured) };
    let meta = meta(&result, error);
    let mut content = vec![ContentBlock::text(std::mem::take(&mut result.content))];
    content.extend(result.missing_grants.iter().map(missing));
    let mut room = INLINE_MAX;
    content.extend(result.attachments.iter().map(|it| block(it, &mut room)));
    let structured = match (&tool.output_schema, structured) {
        (Some(schema), found) if fine => {
            // What is proven by a component's types needs no second look.
            let proven = tool.source != ToolSource::Mcp;
            let found = found.filter(|it| proven || conforms(schema, it));
            debug_assert!(found.as_ref().is_none_or(|it| conforms(schema, it)), "{found:?}");
            let made = found.or_else(|| fitting(schema, &content));
            // A client takes a result without what the schema promises for a broken server.
            if made.is_none() {
                fine = false;
                content.push(ContentBlock::text(NO_STRUCTURE));
            }
            made
        }
        _ => None,
    };
    let mut made = match fine {
        true => CallToolResult::success(content),
        false => CallToolResult::error(content),
    };
    made.structured_content = structured;
    made.meta = Some(meta);
    made
}

/// Whether a result says that its call was ended from outside.
pub(super) fn was_stopped(made: &CallToolResult) -> bool {
    let told = made.meta.as_ref().and_then(|meta| meta.get(META_RESULT)?.get("outcome"));
    let stopped = [Outcome::Cancelled, Outcome::Interrupted];
    stopped.iter().any(|it| told.and_then(Value::as_str) == Some(it.name()))
}

/// Why a call that went well is told as an error.
const NO_STRUCTURE: &str = "[belljar: the call went well; only its text is here, since its \
                            structured result was cut or isn't what the tool's schema promises]";

/// What the schema asks for, where the text alone is an answer of that shape: one that was cut, or a
/// person's, given in the tool's place.
fn fitting(schema: &Value, content: &[ContentBlock]) -> Option<Value> {
    let text = &content.first()?.as_text()?.text;
    let fits = |value: &Value| conforms(schema, value);
    let read: Option<Value> = serde_json::from_str(text).ok();
    if read.as_ref().is_some_and(fits) {
        return read;
    }
    let read = read.map(wrapped).filter(fits);
    read.or_else(|| Some(wrapped(text.as_str().into())).filter(fits))
}

/// A schema that can't be used promises what nothing keeps.
fn conforms(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).is_ok_and(|schema| schema.is_valid(value))
}

fn meta(result: &ToolResult, error: Option<Value>) -> MetaObject {
    let told = json!({
        "callId": result.call_id,
        "outcome": result.outcome,
        "executed": result.executed,
        "retryable": result.retryable,
        "attempts": result.attempts,
        "durationMs": result.duration_ms,
        "usage": result.usage,
        "approval": result.approval,
        "truncated": result.truncated,
    });
    let mut meta = MetaObject::new();
    let told = match told {
        Value::Object(told) => {
            // Moved, since it may be large.
            let told = told.into_iter().chain(error.map(|error| ("error".to_owned(), error)));
            told.filter(|(_, value)| !value.is_null()).collect()
        }
        other => other,
    };
    meta.insert(META_RESULT.to_owned(), told);
    meta
}

fn missing(grant: &MissingGrant) -> ContentBlock {
    let mut text = format!("[belljar: the tool tried {}, and has no grant for it", grant.tried);
    if let Some(given) = &grant.grant {
        text.push_str(&format!("; an operator gives it by `{}`", escaped_line(given)));
    }
    if let Some(why) = &grant.why {
        text.push_str(&format!("; the plugin wants it: {}", escaped_line(why)));
    }
    ContentBlock::text(text + "]")
}

/// One attachment: itself where MCP has a place for it and there is room, else where it stands.
fn block(attachment: &Attachment, room: &mut usize) -> ContentBlock {
    let mime = attachment.mime_type.as_deref();
    if let AttachmentKind::ResourceLink { target, name } = &attachment.kind {
        let mut link = Resource::new(target, name);
        link.mime_type = mime.map(str::to_owned);
        return ContentBlock::resource_link(link);
    }
    if attachment.bytes.len() > *room || attachment.bytes.is_empty() {
        return link(attachment);
    }
    let block = match (&attachment.kind, mime) {
        (AttachmentKind::Image, Some(mime)) => {
            ContentBlock::image(STANDARD.encode(&attachment.bytes), mime)
        }
        (AttachmentKind::Audio, Some(mime)) => {
            ContentBlock::audio(STANDARD.encode(&attachment.bytes), mime)
        }
        (AttachmentKind::Resource { target }, _) => {
            ContentBlock::resource(contents(attachment, target))
        }
        _ => return link(attachment),
    };
    *room -= attachment.bytes.len();
    block
}

fn link(attachment: &Attachment) -> ContentBlock {
    ContentBlock::resource_link(resource(attachment))
}

/// An attachment as what stands under its address.
pub(super) fn resource(attachment: &Attachment) -> Resource {
    let what = match &attachment.kind {
        AttachmentKind::FullOutput => "whole output",
        AttachmentKind::Image => "image",
        AttachmentKind::Audio => "audio",
        AttachmentKind::Blob => "bytes",
        AttachmentKind::Resource { .. } | AttachmentKind::ResourceLink { .. } => "resource",
    };
    let mut made = Resource::new(&attachment.uri, what).with_size(attachment.size);
    made.mime_type.clone_from(&attachment.mime_type);
    made
}

/// What stands under an address: text where it is text.
pub(super) fn contents(attachment: &Attachment, uri: &str) -> ResourceContents {
    let mime = attachment.mime_type.as_deref();
    let textual =
        |mime: &str| mime.starts_with("text/") || mime.contains("json") || mime.contains("xml");
    let text = std::str::from_utf8(&attachment.bytes).ok();
    let made = match text.filter(|_| mime.is_none_or(textual)) {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(STANDARD.encode(&attachment.bytes), uri),
    };
    match mime {
        Some(mime) => made.with_mime_type(mime),
        None => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::descriptor::example;
    use crate::contract::effects::Effect;

    #[test]
    fn what_is_too_large_for_the_result_stands_under_its_address() {
        let mut result = ToolResult::new("c".parse().unwrap(), Outcome::Success, "two");
        let picture = |at: usize| Attachment {
            uri: format!("belljar://result/c/{at}"),
            kind: AttachmentKind::Image,
            mime_type: Some("image/png".to_owned()),
            size: 3 << 20,
            bytes: vec![7; 3 << 20],
        };
        result.attachments = vec![picture(0), picture(1)];
        let made = answer(result, &example("a.b", Effect::assumed(false)));
        assert!(made.content[1].as_image().is_some(), "there is room for one");
        assert_eq!(made.content[2].as_resource_link().unwrap().uri, "belljar://result/c/1");
    }

    #[test]
    fn a_cut_record_is_told_as_an_error_that_says_the_call_went_well() {
        let mut tool = example("a.b", Effect::assumed(false));
        tool.output_schema = Some(json!({"type": "object", "required": ["n"]}));
        let result = ToolResult::new("c".parse().unwrap(), Outcome::Success, "{\"m\": [left out]");
        let made = answer(result, &tool);
        assert_eq!((made.is_error, made.structured_content), (Some(true), None));
        assert_eq!(made.content[1].as_text().unwrap().text, NO_STRUCTURE);
    }
}
