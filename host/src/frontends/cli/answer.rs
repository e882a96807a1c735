//! How a call's result reads for people: its content for stdout, all else for stderr.
//!
//! Decides nothing: every word is in the result already.

use serde_json::Value;

use super::show::indented;
use crate::contract::escape::clipped_line;
use crate::contract::limits::LimitKind;
use crate::contract::outcome::Outcome;
use crate::contract::result::{Attachment, AttachmentKind, MissingGrant, ToolResult, Usage};

/// Longest address or type that is shown, in bytes.
const PART_MAX_LEN: usize = 300;
/// Attachments and grants that are listed one by one.
const LISTED_MAX: usize = 20;

/// The two halves of an answer, unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// What the tool produced, with a line feed at its end; empty where it failed.
    pub(super) content: String,
    /// Belljar's words about it, one a line.
    pub(super) remarks: Vec<String>,
}

/// Words for a result.
pub(super) fn answer(result: &ToolResult) -> Answer {
    let (content, mut remarks) = if result.outcome == Outcome::Success {
        // A failed call's message names its missing grants itself.
        let noted = result.missing_grants.iter().take(LISTED_MAX).map(missing_grant);
        (content(result), noted.collect())
    } else {
        (String::new(), vec![failure(result)])
    };
    if result.outcome == Outcome::NotFound {
        remarks.push("note: `belljar tools` lists the tools; --plugin FILE adds a plugin's".into());
    }
    if let Some(cut) = &result.truncated {
        remarks.push(format!(
            "note: shown are {} of {} bytes; --output SIZE shows more",
            cut.shown_bytes, cut.total_bytes
        ));
    }
    remarks.extend(result.attachments.iter().take(LISTED_MAX).map(attachment));
    let unlisted = result.attachments.len().saturating_sub(LISTED_MAX);
    if unlisted > 0 {
        remarks.push(format!("note: {unlisted} more attachments; --json has them all"));
    }
    Answer { content, remarks }
}

/// A string as it is, a typed answer as JSON to read.
fn content(result: &ToolResult) -> String {
    let value = match &result.structured {
        Some(Value::Object(fields)) => match (fields.len(), fields.get("result")) {
            // The wrapping of an answer that is no object belongs to the protocol, not to people.
            (1, Some(inner)) if is_text_of(inner, &result.content) => Some(inner),
            (1, Some(Value::String(text))) if *text == result.content => None,
            _ => result.structured.as_ref(),
        },
        other => other.as_ref(),
    };
    let pretty = value.and_then(|value| serde_json::to_string_pretty(value).ok());
    let mut content = pretty.unwrap_or_else(|| result.content.clone());
    if !content.is_empty() && !content.ends_with('\n') {
        content.push('\n');
    }
    content
}

fn is_text_of(value: &Value, text: &str) -> bool {
    let own = value.to_string();
    own == text
}

fn failure(result: &ToolResult) -> String {
    let outcome = result.outcome.name();
    match &result.error_message {
        Some(message) => format!("error[{outcome}]: {}", indented(message, "  ")),
        None if result.content.trim().is_empty() => {
            format!("error[{outcome}]: the tool gave no reason")
        }
        None => {
            let content = indented(result.content.trim_end(), "  ");
            format!("error[{outcome}]: the tool gave no reason, only this:\n  {content}")
        }
    }
}

fn missing_grant(missing: &MissingGrant) -> String {
    let part = |text: &str| clipped_line(text, PART_MAX_LEN);
    let given = match &missing.grant {
        Some(grant) => format!("{} gives that", part(grant)),
        None => "no grant gives that".to_owned(),
    };
    let tried = part(&missing.tried);
    format!("note: a grant was missing ({}): it tried {tried}; {given}", part(&missing.kind))
}

fn attachment(attachment: &Attachment) -> String {
    let part = |text: &str| clipped_line(text, PART_MAX_LEN);
    let kind = match &attachment.kind {
        AttachmentKind::Blob => "bytes".to_owned(),
        AttachmentKind::Image => "image".to_owned(),
        AttachmentKind::Audio => "audio".to_owned(),
        AttachmentKind::ResourceLink { target, .. } => format!("link to {}", part(target)),
        AttachmentKind::Resource { target } => format!("copy of {}", part(target)),
        AttachmentKind::FullOutput => "the whole output".to_owned(),
    };
    let mime_type = attachment.mime_type.as_deref().unwrap_or("no type");
    format!(
        "attachment {}: {kind}, {}, {} bytes; --json has them",
        part(&attachment.uri),
        part(mime_type),
        attachment.size
    )
}

/// What a call used, in one line.
pub(super) fn usage(usage: &Usage) -> String {
    let fuel = match usage.fuel {
        Some(fuel) => LimitKind::Fuel.show(fuel),
        None => "unknown fuel".to_owned(),
    };
    format!(
        "usage | {fuel}, peak memory {}, {} ms in all, {} ms of it waiting for the host, {} bytes \
         in, {} bytes out",
        LimitKind::Memory.show(usage.peak_memory_bytes),
        usage.wall_ms,
        usage.host_wait_ms,
        usage.bytes_in,
        usage.bytes_out
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(outcome: Outcome, content: &str) -> ToolResult {
        ToolResult::new("c".parse().unwrap(), outcome, content)
    }

    fn success(structured: Option<Value>, content: &str) -> String {
        let mut result = result(Outcome::Success, content);
        result.structured = structured;
        answer(&result).content
    }

    #[test]
    fn strings_are_text_and_typed_answers_are_json_to_read() {
        assert_eq!(success(Some(json!({"result": "a\nb"})), "a\nb"), "a\nb\n");
        assert_eq!(success(Some(json!({"result": 5})), "5"), "5\n");
        assert_eq!(success(Some(json!({"result": [1]})), "[1]"), "[\n  1\n]\n");
        assert_eq!(success(Some(json!({"x": 1})), "{\"x\":1}"), "{\n  \"x\": 1\n}\n");
        let own = json!({"result": "a"});
        assert_eq!(success(Some(own.clone()), &own.to_string()), "{\n  \"result\": \"a\"\n}\n");
        assert_eq!(success(None, "plain"), "plain\n");
        assert_eq!(success(None, ""), "");
    }

    #[test]
    fn a_failure_is_one_remark_and_no_content() {
        let mut failed = result(Outcome::TimedOut, "content");
        failed.error_message = Some("too late\nerror[x]: forged".into());
        let answer = answer(&failed);
        assert_eq!(answer.content, "");
        assert_eq!(answer.remarks, ["error[timed_out]: too late\n  error[x]: forged"]);
    }

    #[test]
    fn a_tool_that_says_no_without_words_is_quoted() {
        let quoted = answer(&result(Outcome::ToolError, "{\"exit_code\":1}\n")).remarks;
        assert!(quoted[0].ends_with("only this:\n  {\"exit_code\":1}"), "{quoted:?}");
        let silent = answer(&result(Outcome::ToolError, " ")).remarks;
        assert_eq!(silent, ["error[tool_error]: the tool gave no reason"]);
    }

    #[test]
    fn grants_that_a_success_went_without_are_named_with_what_gives_them() {
        let mut result = result(Outcome::Success, "done");
        result.missing_grants = vec![MissingGrant {
            kind: "dir".into(),
            tried: "to read `a\u{1b}`".into(),
            grant: Some("--dir HOST".into()),
            why: None,
        }];
        assert_eq!(
            answer(&result).remarks,
            [
                "note: a grant was missing (dir): it tried to read `a<U+001B>`; --dir HOST gives that"
            ]
        );
    }

    #[test]
    fn attachments_are_listed_without_their_bytes_and_counted_beyond_a_bound() {
        let mut result = result(Outcome::Success, "");
        result.attachments = vec![
            Attachment {
                uri: "belljar://result/c/0".into(),
                kind: AttachmentKind::Image,
                mime_type: Some("image/png".into()),
                size: 3,
                bytes: b"PNG".to_vec(),
            };
            LISTED_MAX + 2
        ];
        let remarks = answer(&result).remarks;
        assert_eq!(remarks.len(), LISTED_MAX + 1);
        assert_eq!(
            remarks[0],
            "attachment belljar://result/c/0: image, image/png, 3 bytes; --json has them"
        );
        assert!(remarks[LISTED_MAX].contains("2 more attachments"), "{remarks:?}");
    }
}
