//! Gemini's calls and results.
//!
//! Facts: the Python package `google-genai` 3.6 (`FunctionCall`, `FunctionResponse`): ids are
//! optional, responses stand in the order of the calls, and `output` and `error` are the keys of a
//! response. Its own `model_dump` writes `function_call`, the wire `functionCall`: both are read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::answer::{answer, is_error};
use super::{Asked, Call, MessagesError, is_of, text};
use crate::contract::result::ToolResult;

/// What a response carries beside JSON.
const CARRIED: &[&str] = &["application/pdf", "image/jpeg", "image/png", "image/webp"];

/// The `functionCall` parts of a model's content.
pub(super) fn calls(message: &Value) -> Result<Vec<Asked<'_>>, MessagesError> {
    let expected = "a content of Gemini's model";
    if !is_of(message, "model") {
        return Err(MessagesError::Shape { expected });
    }
    let parts = match message.get("parts") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(parts)) => parts,
        Some(_) => return Err(MessagesError::Shape { expected }),
    };
    Ok(parts.iter().filter_map(asked).collect())
}

fn asked(part: &Value) -> Option<Asked<'_>> {
    let call = part.get("functionCall").or_else(|| part.get("function_call"))?;
    let call = Some(call).filter(|it| it.is_object())?;
    let arguments = call.get("args").filter(|it| !it.is_null());
    Some(Asked {
        id: call.get("id").and_then(Value::as_str),
        name: text(call, "name"),
        // Left out and null are the same in what protobuf writes.
        arguments: arguments.map(Value::to_string).unwrap_or_default(),
    })
}

/// The one content that answers a turn; none where nothing was asked.
pub(super) fn results(pairs: &[(&Call, &ToolResult)]) -> Vec<Value> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let parts: Vec<Value> = pairs
        .iter()
        .map(|(call, result)| json!({ "functionResponse": response(call, result) }))
        .collect();
    vec![json!({"role": "user", "parts": parts})]
}

fn response(call: &Call, result: &ToolResult) -> Value {
    let mut out = Map::new();
    if let Some(id) = &call.provider_id {
        out.insert("id".to_owned(), id.as_str().into());
    }
    out.insert("name".to_owned(), call.name.as_str().into());
    let mut answer = answer(result, CARRIED);
    let sent = std::mem::take(&mut answer.sent);
    let response = if is_error(result) {
        json!({ "error": answer.whole() })
    } else {
        // The value where there is one and nothing must stand beside it, else the text: never both.
        match &result.structured {
            Some(value) if answer.notices.is_empty() => json!({ "output": value }),
            _ => json!({ "output": answer.whole() }),
        }
    };
    out.insert("response".to_owned(), response);
    if !sent.is_empty() {
        let part = |it: &super::answer::Sent<'_>| json!({"inlineData": {"mimeType": it.mime_type, "data": STANDARD.encode(it.bytes)}});
        out.insert("parts".to_owned(), sent.iter().map(part).collect());
    }
    Value::Object(out)
}
