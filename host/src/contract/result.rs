//! What a call gives back (source A's `ToolResult`): one shape for every end of every path.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::decision::ApprovalMark;
use super::ids::CallId;
use super::outcome::{Executed, Outcome};

/// Success or not, for readers that want no more (A5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The tool answered.
    Success,
    /// Anything else.
    Error,
}

/// What an attempt used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Fuel consumed; `None` where that isn't known exactly: the guest trapped, or was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The most that memories and tables held together, in bytes.
    pub peak_memory_bytes: u64,
    /// From the start of the attempt to its end, in milliseconds.
    pub wall_ms: u64,
    /// Of that, spent in waiting for the host, in milliseconds.
    pub host_wait_ms: u64,
    /// Bytes the guest read through granted files and arguments.
    pub bytes_in: u64,
    /// Bytes the guest wrote, printed and returned.
    pub bytes_out: u64,
}

/// What kind of thing an attachment is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum AttachmentKind {
    /// Bytes without a known type.
    Blob,
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// Something that lives elsewhere.
    ResourceLink {
        /// Where: `uri` is the attachment's own.
        target: String,
        /// What it is called.
        name: String,
    },
    /// Something that lives elsewhere, with its content.
    Resource {
        /// Where: `uri` is the attachment's own.
        target: String,
    },
    /// Output that was too long to show whole.
    FullOutput,
}

/// Something beside the text of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// `belljar://result/<call>/<n>`.
    pub uri: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: AttachmentKind,
    /// Its media type, a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// How many bytes it has.
    pub size: u64,
    /// The bytes, as standard base64 on the wire.
    #[serde(with = "base64_bytes", skip_serializing_if = "Vec::is_empty", default)]
    pub bytes: Vec<u8>,
}

pub(super) mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::contract) fn serialize<S: Serializer>(
        bytes: &[u8],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in crate::contract) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(serde::de::Error::custom)
    }
}

/// How much of an output the model is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    /// Bytes of the whole.
    pub total_bytes: u64,
    /// Bytes of it in `content`.
    pub shown_bytes: u64,
    /// The attachment that holds the whole.
    pub full: String,
}

/// A capability a tool tried to use and wasn't given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingGrant {
    /// `dir`, `env`, `http` or `sockets`.
    pub kind: String,
    /// What was tried, in one line that goes on from "the tool tried": `to open `x``. Names in it
    /// are the guest's, escaped.
    pub tried: String,
    /// What would give it, as an operator writes it; `None`: belljar gives it to nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Why the plugin says it wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How one call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call.
    pub call_id: CallId,
    /// Success or not.
    pub status: Status,
    /// Exactly what the tool produced.
    pub content: String,
    /// What went wrong, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Wall-clock time of the call, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the tool ran.
    pub executed: Executed,
    /// Whether the same call may end otherwise if tried again.
    pub retryable: bool,
    /// The answer as JSON, by the tool's output schema; on an error, the error's own value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What doesn't fit into text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Set where `content` is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
    /// How often it was tried.
    pub attempts: u32,
    /// Who let it through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalMark>,
    /// What it tried to use and wasn't given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_grants: Vec<MissingGrant>,
    /// What it used, where it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What a listener is told beside a result's text (A6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultMeta {
    /// Success or not.
    pub status: Status,
    /// What went wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Wall-clock time of the call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl ToolResult {
    /// A result of `outcome` with this text; everything else by the outcome's own facts.
    pub fn new(call_id: CallId, outcome: Outcome, content: impl Into<String>) -> Self {
        Self {
            call_id,
            status: if outcome == Outcome::Success { Status::Success } else { Status::Error },
            content: content.into(),
            error_message: None,
            duration_ms: None,
            outcome,
            executed: outcome.executed(),
            retryable: outcome.is_retryable(),
            structured: None,
            attachments: Vec::new(),
            truncated: None,
            attempts: 0,
            approval: None,
            missing_grants: Vec::new(),
            usage: None,
        }
    }

    /// An error whose message is also its content: belljar's own words, not the tool's.
    pub fn refused(call_id: CallId, outcome: Outcome, message: impl Into<String>) -> Self {
        let message = message.into();
        let mut result = Self::new(call_id, outcome, message.clone());
        result.error_message = Some(message);
        result
    }

    /// What a listener is told beside the text.
    pub fn meta(&self) -> ResultMeta {
        ResultMeta {
            status: self.status,
            error_message: self.error_message.clone(),
            duration_ms: self.duration_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a5_result_uses_the_sources_names() {
        let mut result = ToolResult::refused("c".parse().unwrap(), Outcome::Denied, "no");
        result.duration_ms = Some(3);
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["callId"], "c");
        assert_eq!(json["status"], "error");
        assert_eq!(json["content"], "no");
        assert_eq!(json["errorMessage"], "no");
        assert_eq!(json["durationMs"], 3);
        assert_eq!(json["outcome"], "denied");
        assert_eq!(serde_json::from_value::<ToolResult>(json).unwrap(), result);
    }

    #[test]
    fn a6_meta_equals_the_result() {
        let mut result = ToolResult::refused("c".parse().unwrap(), Outcome::TimedOut, "late");
        result.duration_ms = Some(200);
        let json = serde_json::to_string(&result.meta()).unwrap();
        assert_eq!(json, r#"{"status":"error","errorMessage":"late","durationMs":200}"#);
    }

    #[test]
    fn attachment_bytes_survive_json() {
        let attachment = Attachment {
            uri: "belljar://result/c/0".into(),
            kind: AttachmentKind::Blob,
            mime_type: None,
            size: 3,
            bytes: vec![0, 255, 10],
        };
        let json = serde_json::to_string(&attachment).unwrap();
        assert!(json.contains("AP8K"), "{json}");
        assert_eq!(serde_json::from_str::<Attachment>(&json).unwrap(), attachment);
    }
}
