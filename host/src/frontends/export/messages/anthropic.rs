//! Anthropic's calls and results.
//!
//! Facts: the Python package `anthropic` 2.14 (`ToolUseBlock`, `ToolResultBlockParam`), and its guide
//! to tool use: all results of a turn are the first blocks of the one next user message, and a
//! result that is an error holds text alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::answer::{answer, is_error};
use super::{Asked, Call, MessagesError, answered_id, is_of, text};
use crate::contract::result::ToolResult;

/// What a result carries beside text.
const CARRIED: &[&str] = &["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"];

/// The `tool_use` blocks of an assistant message.
pub(super) fn calls(message: &Value) -> Result<Vec<Asked<'_>>, MessagesError> {
    let expected = "an assistant message of Anthropic's Messages";
    if !is_of(message, "assistant") {
        return Err(MessagesError::Shape { expected });
    }
    let blocks = match message.get("content") {
        // A message of text alone may have it as a string.
        Some(Value::String(_)) => return Ok(Vec::new()),
        Some(Value::Array(blocks)) => blocks,
        _ => return Err(MessagesError::Shape { expected }),
    };
    let uses = blocks.iter().filter(|block| block.get("type").is_some_and(|it| it == "tool_use"));
    let asked = uses.map(|block| Asked {
        id: block.get("id").and_then(Value::as_str),
        name: text(block, "name"),
        // A string here is JSON's own, not the text of an object.
        arguments: block.get("input").map(Value::to_string).unwrap_or_default(),
    });
    Ok(asked.collect())
}

/// The one user message that answers a turn; none where nothing was asked.
pub(super) fn results(pairs: &[(&Call, &ToolResult)]) -> Vec<Value> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let blocks: Vec<Value> = pairs.iter().map(|(call, result)| block(call, result)).collect();
    vec![json!({"role": "user", "content": blocks})]
}

fn block(call: &Call, result: &ToolResult) -> Value {
    let failed = is_error(result);
    let mut answer = answer(result, if failed { &[] } else { CARRIED });
    let sent = std::mem::take(&mut answer.sent);
    let text = answer.whole();
    let mut block = Map::new();
    block.insert("type".to_owned(), "tool_result".into());
    block.insert("tool_use_id".to_owned(), answered_id(call).into());
    if sent.is_empty() {
        // An empty text would be refused as a block, and says nothing as a string.
        if !text.is_empty() {
            block.insert("content".to_owned(), text.into());
        }
    } else {
        // Blocks of white space alone are refused as well.
        let text = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
        let sent = sent.iter().map(|it| {
            let kind = if it.mime_type == "application/pdf" { "document" } else { "image" };
            let bytes = STANDARD.encode(it.bytes);
            let source = json!({"type": "base64", "media_type": it.mime_type, "data": bytes});
            json!({"type": kind, "source": source})
        });
        block.insert("content".to_owned(), text.into_iter().chain(sent).collect());
    }
    if failed {
        block.insert("is_error".to_owned(), true.into());
    }
    Value::Object(block)
}
