//! From the typed end of an attempt to the result of its call.
//!
//! Which case a value came by, which limit was met and who is at fault are facts here; only a plain
//! string is ever read for a meaning.

use serde_json::Value;

use super::output::{result_uri, shorten, wrapped};
use super::text::{TextRule, Verdict};
use super::{fault, message, text};
use crate::contract::attempt::{Answer, AttemptEnd, End, GuestFault, ReturnCase, Returned};
use crate::contract::ids::CallId;
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::{Attachment, AttachmentKind, MissingGrant, ToolResult, Usage};

/// What is known of a call besides how its last attempt ended.
#[derive(Debug, Clone, Copy)]
pub struct Settling<'a> {
    /// The call.
    pub call_id: &'a CallId,
    /// The bounds it ran under.
    pub limits: &'a Limits,
    /// How its plain strings are read.
    pub text_rule: TextRule,
    /// How often it was tried.
    pub attempts: u32,
    /// Wall-clock time of the call, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// The result of a call whose last attempt ended so. Leaves `approval` to the caller.
pub fn settle(settling: &Settling<'_>, end: AttemptEnd) -> ToolResult {
    let AttemptEnd { end, mut usage, missing_grants: missing } = end;
    let (limits, started) = (settling.limits, !matches!(end, End::Refused(_)));
    let mut result = match end {
        End::Returned(returned) => {
            let mut result = settle_returned(settling, returned, &mut usage);
            if result.outcome != Outcome::Success {
                result.error_message = message::with_grants(result.error_message, &missing);
            }
            result
        }
        End::Answered(answer) => settle_answered(settling, answer, &mut usage),
        End::Lost(why) => {
            let mut result = failed(settling, (Outcome::Unavailable, why), &missing);
            // Better known than by the outcome alone: it had begun.
            result.executed = Executed::Maybe;
            result
        }
        End::Guest(fault) => {
            // A limit explains itself; what was missing before it was met is listed, not blamed.
            let blamed = if matches!(fault, GuestFault::Limit(..)) { &[] } else { &missing[..] };
            failed(settling, fault::of_guest(fault, limits), blamed)
        }
        End::Host(what) => failed(settling, (Outcome::HostFault, what), &missing),
        End::Refused(refusal) => {
            let (outcome, why) = fault::of_refusal(refusal, limits);
            let why = message::bounded(why);
            let mut result = ToolResult::refused(settling.call_id.clone(), outcome, why);
            // Better known than by the outcome alone: `timed_out` says maybe.
            result.executed = Executed::No;
            result
        }
        End::Interrupted => {
            ToolResult::refused(settling.call_id.clone(), Outcome::Interrupted, fault::INTERRUPTED)
        }
    };
    result.attempts = settling.attempts;
    result.duration_ms = settling.duration_ms;
    result.missing_grants = missing;
    result.usage = started.then_some(usage);
    result
}

/// A fault of the guest or the host, in the form of A17.
fn failed(
    settling: &Settling<'_>,
    (outcome, what): (Outcome, String),
    missing: &[MissingGrant],
) -> ToolResult {
    let message = message::with_grants(Some(what), missing).unwrap_or_default();
    let content = format!("Tool execution failed: {message}");
    let mut result = ToolResult::new(settling.call_id.clone(), outcome, content);
    result.error_message = Some(message);
    result
}

fn settle_returned(settling: &Settling<'_>, returned: Returned, usage: &mut Usage) -> ToolResult {
    let Returned { case, value, wrapped: is_wrapped, attachments } = returned;
    let content = content_of(value.as_ref());
    let returned_len = content.len() + attachments.iter().map(|a| a.bytes.len()).sum::<usize>();
    usage.bytes_out = usage.bytes_out.saturating_add(returned_len as u64);
    if returned_len > settling.limits.size(LimitKind::OutputKept) {
        return too_large(settling, returned_len);
    }

    let mime_type = match value {
        Some(Value::String(_)) | None => "text/plain; charset=utf-8",
        Some(_) => "application/json",
    };
    // Rich output comes as its text, unwrapped: text for the model, not a value of the tool.
    let rich = case != ReturnCase::Err && !is_wrapped && matches!(value, Some(Value::String(_)));
    let (outcome, error_message) = match rich {
        true => (Outcome::Success, None),
        false => verdict(settling.text_rule, case, value.as_ref()),
    };
    let mut result = ToolResult::new(settling.call_id.clone(), outcome, content);
    result.error_message = error_message;
    result.attachments = attachments;
    result.structured = match (case, outcome) {
        // The error's own value, never wrapped: no output schema speaks of it.
        (ReturnCase::Err, _) => value,
        // An error by the text rule has no value but its text.
        (_, Outcome::ToolError) => None,
        _ if rich => None,
        _ if is_wrapped => value.map(wrapped),
        _ => value,
    };
    shorten(&mut result, settling.limits.size(LimitKind::OutputShown), mime_type);
    result
}

/// The answer says itself whether it is an error, and what its text is.
fn settle_answered(settling: &Settling<'_>, answer: Answer, usage: &mut Usage) -> ToolResult {
    let Answer { is_error, content, structured, attachments } = answer;
    let json = structured.as_ref().map(Value::to_string).unwrap_or_default();
    let beside: usize = attachments.iter().map(|it| it.bytes.len()).sum();
    let answered_len = content.len() + json.len() + beside;
    usage.bytes_out = usage.bytes_out.saturating_add(answered_len as u64);
    if answered_len > settling.limits.size(LimitKind::OutputKept) {
        return too_large(settling, answered_len);
    }
    let outcome = if is_error { Outcome::ToolError } else { Outcome::Success };
    let words = Value::String(content.clone());
    let mut result = ToolResult::new(settling.call_id.clone(), outcome, content);
    result.error_message = is_error.then(|| error_words(Some(&words)));
    result.structured = structured;
    result.attachments = attachments;
    let shown_max = settling.limits.size(LimitKind::OutputShown);
    if json.len() > shown_max {
        result.structured = None;
        result.attachments.push(Attachment {
            uri: result_uri(settling.call_id, result.attachments.len()),
            kind: AttachmentKind::FullOutput,
            mime_type: Some("application/json".to_owned()),
            size: json.len() as u64,
            bytes: json.into_bytes(),
        });
    }
    shorten(&mut result, shown_max, "text/plain; charset=utf-8");
    result
}

/// A string is its own text, everything else compact JSON, nothing nothing.
fn content_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn verdict(rule: TextRule, case: ReturnCase, value: Option<&Value>) -> (Outcome, Option<String>) {
    match (case, value) {
        (ReturnCase::Err, value) => (Outcome::ToolError, Some(error_words(value))),
        (ReturnCase::Plain, Some(Value::String(raw))) if rule == TextRule::On => {
            match text::verdict(raw) {
                Verdict::Success => (Outcome::Success, None),
                Verdict::Error(message) => (Outcome::ToolError, message),
            }
        }
        _ => (Outcome::Success, None),
    }
}

/// A string error, or the `message` of a record, where they say anything; else the value as JSON.
fn error_words(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::Object(record)) => record.get("message").and_then(Value::as_str),
        Some(other) => other.as_str(),
        None => None,
    };
    match (text.filter(|text| !text.trim().is_empty()), value) {
        (Some(text), _) => message::bounded(text.to_owned()),
        (None, None | Some(Value::Null | Value::String(_))) => {
            "the tool returned an error without words".to_owned()
        }
        (None, Some(value)) => message::bounded(value.to_string()),
    }
}

fn too_large(settling: &Settling<'_>, returned_len: usize) -> ToolResult {
    let used = format!("the tool returned {returned_len} bytes");
    let sentence = settling.limits.sentence(LimitKind::OutputKept, &used);
    let mut result = failed(settling, (Outcome::OutputTooLarge, sentence), &[]);
    // It came to its own end; only its answer is refused.
    result.executed = Executed::Yes;
    result
}
