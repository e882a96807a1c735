//! From what a client answered to the end of an attempt.
//!
//! Whether it is an error is what the client says; only what its own output schema promises is
//! held against it.

use serde_json::Value;

use super::offered::ClientTool;
use crate::contract::attempt::{Answer, End, GuestFault};
use crate::contract::client::{ClientResult, SentAttachment};
use crate::contract::ids::CallId;
use crate::contract::normalise::{result_uri, wrapped};
use crate::contract::result::{Attachment, AttachmentKind};

/// Attachments of one result.
const ATTACHMENTS_MAX: usize = 64;

/// The end that a result is.
pub(super) fn end_of(tool: &ClientTool, call_id: &CallId, result: ClientResult) -> End {
    let ClientResult { request_id: _, content, structured, is_error, attachments } = result;
    let fault = |what: String| End::Guest(GuestFault::Trapped(what));
    if attachments.len() > ATTACHMENTS_MAX {
        return fault(format!(
            "the client sent {} attachments; at most {ATTACHMENTS_MAX} are taken",
            attachments.len()
        ));
    }
    if let Some(output) = tool.output.as_ref().filter(|_| !is_error) {
        let misfit = match &structured {
            Some(structured) => output.misfit(structured),
            None => Some("it has no `structured`".to_owned()),
        };
        if let Some(misfit) = misfit {
            return fault(format!("the answer doesn't fit the tool's output schema: {misfit}"));
        }
    }
    let attachments = attachments.into_iter().enumerate();
    let attachments = attachments.map(|(n, sent)| attachment(result_uri(call_id, n), sent));
    End::Answered(Answer {
        is_error,
        content,
        structured: structured.map(|value| match value {
            Value::Object(_) => value,
            other => wrapped(other),
        }),
        attachments: attachments.collect(),
    })
}

fn attachment(uri: String, sent: SentAttachment) -> Attachment {
    let SentAttachment { kind, mime_type, data } = sent;
    // Only the host says of something that it is the whole of what was cut.
    let kind = if kind == AttachmentKind::FullOutput { AttachmentKind::Blob } else { kind };
    Attachment { uri, kind, mime_type, size: data.len() as u64, bytes: data }
}
