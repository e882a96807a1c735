//! From a provider's message to calls, and from their results to its next message.
//!
//! A message says which tool and with which arguments, and nothing else of a call: who calls and with
//! what rights is the program's. Arguments stay as they came, so that the engine refuses what is cut
//! or broken; nothing is repaired here. Results find their calls by id, never by place (T3).

mod answer;
mod anthropic;
mod gemini;
mod openai;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::Value;

use super::format::Format;
use super::names::Names;
use crate::contract::escape::clipped_line;
use crate::contract::ids::CallId;
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::host::{Renamed, unique_ids};

/// Most calls that are taken from one message.
pub const CALLS_MAX: usize = 1_024;
/// Longest name that is repeated to the model, in bytes.
const NAME_MAX_LEN: usize = 100;
/// Names that a model which asked for another is told of.
const NEAR_MAX: usize = 3;

/// Why a message or its results can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessagesError {
    /// Not a message of this format's model.
    #[error("the message is not {expected}")]
    Shape {
        /// What was expected.
        expected: &'static str,
    },
    /// More calls than anybody answers.
    #[error("the message has {found} calls, expected at most {CALLS_MAX}")]
    Calls {
        /// How many it has.
        found: usize,
    },
    /// A call without a result: the provider would refuse the next request.
    #[error("the call `{0}` has no result, expected one for each call")]
    Unanswered(CallId),
    /// A call with two results.
    #[error("the call `{0}` has two results, expected one")]
    Twice(CallId),
    /// A result of a call that isn't in the message.
    #[error("a result is of the call `{0}`, which isn't one of the message")]
    Stranger(CallId),
}

/// One call of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Names the call here: the provider's own id where that is one and no other call has it.
    pub id: CallId,
    /// The provider's own id, as it came; `None`: there was none, which Gemini does by itself.
    pub provider_id: Option<String>,
    /// The name that the model wrote.
    pub name: String,
    /// The call to make; or, where the name is none that was exported, the result it has already.
    /// A program with tools of its own puts their results there.
    pub request: Result<ToolInvocation, Box<ToolResult>>,
}

/// The calls of a message, in its order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// The calls.
    pub calls: Vec<Call>,
    /// Those whose ids are not as they came: missing, doubled, or no ids (T5, T6).
    pub renamed: Vec<Renamed>,
}

impl Calls {
    /// What is to be run, in the message's order: for [`crate::Host::batch`].
    pub fn invocations(&self) -> Vec<ToolInvocation> {
        self.calls.iter().filter_map(|call| call.request.as_ref().ok().cloned()).collect()
    }
}

/// What a provider's file reads of a call.
#[derive(Debug)]
struct Asked<'m> {
    id: Option<&'m str>,
    name: &'m str,
    arguments: String,
}

/// The calls of a model's message: OpenAI's assistant message (Chat Completions), its `output` or the
/// response that holds it (Responses), Anthropic's message, Gemini's content. What isn't a call of a
/// function is passed over.
///
/// Each call is `template` with its own id, tool and arguments; an idempotency key of the template
/// is dropped, since it is of one call. Arguments that come as text stay that text, byte for byte;
/// those that come as JSON are written as compact JSON.
///
/// # Errors
/// The message is none of the format's model, or has more than [`CALLS_MAX`] calls.
pub fn invocations(
    format: Format,
    message: &Value,
    names: &Names,
    template: &ToolInvocation,
) -> Result<Calls, MessagesError> {
    let asked = match format {
        Format::OpenaiChat => openai::chat_calls(message),
        Format::OpenaiResponses => openai::responses_calls(message),
        Format::Anthropic => anthropic::calls(message),
        Format::Gemini => gemini::calls(message),
    }?;
    if asked.len() > CALLS_MAX {
        return Err(MessagesError::Calls { found: asked.len() });
    }
    let came: Vec<Option<&str>> = asked.iter().map(|call| call.id).collect();
    let unique = unique_ids(&came);
    let calls = asked.into_iter().zip(unique.ids).map(|(asked, id)| {
        let request = match names.tool(asked.name) {
            Some(tool) => Ok(ToolInvocation {
                call_id: id.clone(),
                tool_name: tool.to_string(),
                arguments_json: asked.arguments,
                idempotency_key: None,
                ..template.clone()
            }),
            None => Err(Box::new(not_offered(id.clone(), asked.name, names))),
        };
        let provider_id = asked.id.map(str::to_owned);
        Call { id, provider_id, name: asked.name.to_owned(), request }
    });
    Ok(Calls { calls: calls.collect(), renamed: unique.renamed })
}

/// The result of a call of something that wasn't exported: it never reaches the engine, where a tool
/// that the model wasn't told of may have that name.
fn not_offered(id: CallId, name: &str, names: &Names) -> ToolResult {
    let asked: String = name.chars().take(NAME_MAX_LEN).collect();
    let distance = |known: &str| strsim::levenshtein(&asked, known);
    let mut near: Vec<(usize, &str)> =
        names.iter().map(|(known, _)| (distance(known), known)).collect();
    near.retain(|(distance, known)| *distance <= known.len() / 3);
    near.sort_unstable();
    let near: Vec<_> = near.iter().take(NEAR_MAX).map(|(_, it)| format!("`{it}`")).collect();
    let hint = match near.as_slice() {
        [] => String::new(),
        near => format!("; near it are {}", near.join(", ")),
    };
    let name = clipped_line(name, NAME_MAX_LEN);
    ToolResult::refused(id, Outcome::NotFound, format!("no tool is called `{name}`{hint}"))
}

/// What answers a message: messages or items to put behind it, in the order of `calls`, whatever the
/// order of `results`. Each call is answered exactly once, by the provider's own id; one that had
/// none is answered by [`Call::id`], which then belongs into the message too (Gemini: by name and
/// order alone). `results` are those of [`Calls::invocations`].
///
/// # Errors
/// A call without a result or with two, or a result without a call: the provider would refuse it.
pub fn results(
    format: Format,
    calls: &[Call],
    results: &[ToolResult],
) -> Result<Vec<Value>, MessagesError> {
    let mut by_id: HashMap<&CallId, &ToolResult> = HashMap::with_capacity(results.len());
    let own = calls.iter().filter_map(|call| call.request.as_ref().err().map(AsRef::as_ref));
    for result in own.chain(results) {
        if by_id.insert(&result.call_id, result).is_some() {
            return Err(MessagesError::Twice(result.call_id.clone()));
        }
    }
    let mut pairs = Vec::with_capacity(calls.len());
    for call in calls {
        let result = by_id.remove(&call.id);
        pairs.push((call, result.ok_or_else(|| MessagesError::Unanswered(call.id.clone()))?));
    }
    if let Some(stranger) = by_id.into_keys().min() {
        return Err(MessagesError::Stranger(stranger.clone()));
    }
    Ok(match format {
        Format::OpenaiChat => pairs.into_iter().map(openai::chat_result).collect(),
        Format::OpenaiResponses => pairs.into_iter().map(openai::responses_result).collect(),
        Format::Anthropic => anthropic::results(&pairs),
        Format::Gemini => gemini::results(&pairs),
    })
}

/// The id that answers a call, where the provider can't do without.
fn answered_id(call: &Call) -> &str {
    call.provider_id.as_deref().unwrap_or(call.id.as_str())
}

/// Arguments as they came: a text as it is, nothing as nothing, any other JSON as its text.
fn raw(arguments: Option<&Value>) -> String {
    match arguments {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A field of text; what is missing or no text is empty, which is the name of no tool.
fn text<'m>(object: &'m Value, field: &str) -> &'m str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a message is `role`'s, or doesn't say: what a user wrote is never a call.
fn is_of(message: &Value, role: &str) -> bool {
    message.is_object() && message.get("role").is_none_or(|it| it == role)
}
