//! OpenAI's calls and results, of Chat Completions and of Responses.
//!
//! Facts: the Python package `openai` 3.57 (`ChatCompletionToolMessageParam`, `FunctionCallOutput`).
//! Neither can mark an error, so its text begins with one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::answer::{Answer, answer, is_error};
use super::{Asked, Call, MessagesError, answered_id, is_of, raw, text};
use crate::contract::result::ToolResult;

/// What an output of Responses carries beside text.
const CARRIED: &[&str] = &["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"];

/// The `tool_calls` of an assistant message.
pub(super) fn chat_calls(message: &Value) -> Result<Vec<Asked<'_>>, MessagesError> {
    const EXPECTED: &str = "an assistant message of Chat Completions";
    if !is_of(message, "assistant") {
        return Err(MessagesError::Shape { expected: EXPECTED });
    }
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err(MessagesError::Shape { expected: EXPECTED }),
    };
    let functions = calls.iter().filter(|it| it.get("type").is_none_or(|kind| kind == "function"));
    let asked = functions.map(|call| {
        let function = call.get("function").unwrap_or(&Value::Null);
        let id = call.get("id").and_then(Value::as_str);
        Asked { id, name: text(function, "name"), arguments: raw(function.get("arguments")) }
    });
    Ok(asked.collect())
}

/// The `function_call` items of a response's output.
pub(super) fn responses_calls(message: &Value) -> Result<Vec<Asked<'_>>, MessagesError> {
    let items = message.as_array().or_else(|| message.get("output")?.as_array());
    let expected = "a response of Responses, or its output";
    let items = items.ok_or(MessagesError::Shape { expected })?;
    let calls =
        items.iter().filter(|item| item.get("type").is_some_and(|it| it == "function_call"));
    let asked = calls.map(|call| Asked {
        id: call.get("call_id").and_then(Value::as_str),
        name: text(call, "name"),
        arguments: raw(call.get("arguments")),
    });
    Ok(asked.collect())
}

/// A message of the role `tool`.
pub(super) fn chat_result((call, result): (&Call, &ToolResult)) -> Value {
    let content = marked(result, answer(result, &[])).whole();
    json!({"role": "tool", "tool_call_id": answered_id(call), "content": content})
}

/// A `function_call_output` item: a text alone, or a list where there is more.
pub(super) fn responses_result((call, result): (&Call, &ToolResult)) -> Value {
    let mut answer = marked(result, answer(result, CARRIED));
    let sent = std::mem::take(&mut answer.sent);
    let text = answer.whole();
    let output = if sent.is_empty() {
        Value::String(text)
    } else {
        let text = (!text.is_empty()).then(|| json!({"type": "input_text", "text": text}));
        let sent = sent.iter().enumerate().map(|(at, it)| {
            let url = format!("data:{};base64,{}", it.mime_type, STANDARD.encode(it.bytes));
            if it.mime_type == "application/pdf" {
                let name = format!("attachment-{}.pdf", at + 1);
                json!({"type": "input_file", "filename": name, "file_data": url})
            } else {
                json!({"type": "input_image", "image_url": url})
            }
        });
        text.into_iter().chain(sent).collect()
    };
    json!({"type": "function_call_output", "call_id": answered_id(call), "output": output})
}

fn marked<'r>(result: &ToolResult, answer: Answer<'r>) -> Answer<'r> {
    if !is_error(result) {
        return answer;
    }
    let outcome = serde_json::to_value(result.outcome).unwrap_or_default();
    let outcome = outcome.as_str().unwrap_or("error");
    Answer { text: format!("Error ({outcome}): {}", answer.text), ..answer }
}
