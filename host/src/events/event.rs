//! The kinds of events, and how they read as JSON.
//!
//! Data only. Who makes one also vouches for it.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::contract::approval::{ApprovalState, Approver};
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::ApprovedBy;
use crate::contract::ids::{ApprovalId, CallId, Digest, PluginName, ToolId};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::{Status, Usage};
use crate::contract::sink::{LogLevel, Progress, Stream};

/// Something that happened. JSON: one object, the kind's name under `type` and its fields beside
/// the others, in camelCase.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Rises by one from event to event of a bus, from 1.
    pub sequence: u64,
    /// When it was published, in milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
    /// The call it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Whose call that is, so that nobody need be shown another's. Not in the JSON.
    #[serde(skip)]
    pub caller: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What the gate said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Let through.
    Allow,
    /// Refused.
    Deny,
    /// Left to a person.
    Ask,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// A plugin's tools can be called from now on.
    PluginLoaded {
        /// Its name.
        plugin: PluginName,
        /// The SHA-256 of its bytes.
        digest: Digest,
        /// What it offers.
        tools: Vec<ToolId>,
    },
    /// A plugin could not be loaded.
    PluginFailed {
        /// Where it was to come from, as the operator named it.
        source: String,
        /// What was wrong.
        reason: String,
    },
    /// Tools came or went, with whoever runs them.
    ToolsChanged {
        /// The upstream server's, the client's or the host's own name.
        source: PluginName,
        /// What it offers now.
        tools: Vec<ToolId>,
    },
    /// An upstream MCP server answers, and its tools can be called.
    UpstreamUp {
        /// Its name.
        server: PluginName,
    },
    /// An upstream MCP server could not be started, or went away.
    UpstreamDown {
        /// Its name.
        server: PluginName,
        /// What was wrong, escaped.
        reason: String,
        /// In how many milliseconds it is started again.
        again_ms: u64,
    },
    /// A tool of an upstream MCP server is not offered, or not wholly as the server has it.
    UpstreamFinding {
        /// The server.
        server: PluginName,
        /// The tool's name there, escaped, or `#` and its place in the list.
        tool: String,
        /// What is odd about it, escaped.
        finding: String,
    },
    /// A call came in; nothing has been checked yet.
    CallReceived {
        /// The name it asks for.
        tool_name: String,
        /// Who asks.
        #[serde(skip_serializing_if = "Option::is_none")]
        caller: Option<String>,
        /// The length of its arguments as they came.
        argument_bytes: u64,
    },
    /// The gate answered.
    Decision {
        /// The tool.
        tool: ToolId,
        /// The SHA-256 of the canonical arguments it was asked about.
        arguments_hash: Digest,
        /// Its answer.
        verdict: Verdict,
        /// What decided, for an answer that lets through.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<ApprovedBy>,
        /// Why.
        reason: String,
    },
    /// A person is asked (source B's `ToolApprovalRequestEvent`).
    ToolApprovalRequest {
        /// Names the request; an answer names it too.
        request_id: ApprovalId,
        /// The tool.
        tool_name: String,
        /// What it would be called with, canonical.
        arguments: Box<CheckedArguments>,
        /// Why a person is asked.
        reason: String,
        /// From when on no answer counts, in milliseconds since 1970 (UTC).
        expires_unix_ms: u64,
    },
    /// A request was answered.
    ApprovalDecided {
        /// Names the request.
        request_id: ApprovalId,
        /// The answer's name: `once`, `session`, `always`, `deny`, `deny-always`, `edit`, `answer`
        /// or `cancel`.
        decision: String,
        /// Who answered.
        approver: Approver,
    },
    /// A request ended without an answer that a call took.
    ApprovalEnded {
        /// Names the request.
        request_id: ApprovalId,
        /// How.
        state: ApprovalState,
    },
    /// A remembered answer stands no longer.
    ApprovalRevoked {
        /// Names the request it answered.
        request_id: ApprovalId,
    },
    /// A runner was handed the call.
    AttemptStarted {
        /// 1 for the first try.
        number: u32,
    },
    /// An attempt failed in a way that may pass, and another follows.
    AttemptRetried {
        /// The attempt that follows.
        number: u32,
        /// How the one before ended.
        after_outcome: Outcome,
        /// How long it waits first, in milliseconds.
        delay_ms: u64,
    },
    /// The guest says how far it is.
    Progress(Progress),
    /// A line of the guest's log.
    Log {
        /// How grave the guest calls it.
        level: LogLevel,
        /// The guest's words.
        message: String,
    },
    /// What the guest wrote to one of its streams, once it has ended.
    Printed {
        /// Which stream.
        stream: Stream,
        /// The guest's words.
        text: String,
        /// Bytes missing from `text`.
        dropped: u64,
    },
    /// A backtrace or another word for the plugin's author, never for the model.
    AuthorNote {
        /// The words.
        text: String,
    },
    /// A call ended, however it did (source B's `ToolCallInvokeEvent`).
    ToolCallInvoke(Box<CallReport>),
}

/// All that is told of a call when it has ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallReport {
    /// The name it asked for.
    pub tool_name: String,
    /// The tool, where that name has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolId>,
    /// Success or not.
    pub status: Status,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the tool ran.
    pub executed: Executed,
    /// What went wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// What it was called with, where that passed the check; JSON: `arguments` and
    /// `argumentsHash`.
    #[serde(flatten, serialize_with = "with_hash")]
    pub arguments: Option<Arc<CheckedArguments>>,
    /// How often it was tried.
    pub attempts: u32,
    /// What it used, where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Wall-clock time of the call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Progress and log events that were over the call's share and so not published.
    pub events_dropped: u64,
}

#[expect(clippy::ref_option, reason = "the shape serde calls")]
fn with_hash<S: Serializer>(
    arguments: &Option<Arc<CheckedArguments>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap as _;
    let mut map = serializer.serialize_map(None)?;
    if let Some(arguments) = arguments {
        map.serialize_entry("argumentsHash", &arguments.hash())?;
        map.serialize_entry("arguments", arguments.as_ref())?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn event(kind: EventKind) -> serde_json::Value {
        let call_id = Some("c1".parse().unwrap());
        serde_json::to_value(Event { sequence: 4, at_unix_ms: 1000, call_id, caller: None, kind })
            .unwrap()
    }

    fn report(arguments: Option<Arc<CheckedArguments>>) -> EventKind {
        EventKind::ToolCallInvoke(Box::new(CallReport {
            tool_name: "files.read".into(),
            tool: Some("files.read".parse().unwrap()),
            status: Status::Success,
            outcome: Outcome::Success,
            executed: Executed::Yes,
            error_message: None,
            arguments,
            attempts: 2,
            usage: Some(Usage::default()),
            duration_ms: Some(7),
            events_dropped: 0,
        }))
    }

    #[test]
    fn b16_a_finished_call_reads_as_the_source_has_it() {
        let map = json!({"path": "a"}).as_object().unwrap().clone();
        let arguments = Arc::new(CheckedArguments::new(map));
        let json = event(report(Some(Arc::clone(&arguments))));
        assert_eq!(json["type"], "ToolCallInvoke");
        assert_eq!(json["sequence"], 4);
        assert_eq!(json["callId"], "c1");
        assert_eq!(json["toolName"], "files.read");
        assert_eq!(json["status"], "success");
        assert_eq!(json["arguments"], json!({"path": "a"}));
        assert_eq!(json["argumentsHash"], arguments.hash().to_string());
        assert_eq!(json["attempts"], 2);
        assert_eq!(json["usage"]["peakMemoryBytes"], 0);
        assert_eq!(json["durationMs"], 7);
    }

    #[test]
    fn arguments_that_failed_their_check_are_absent() {
        let json = event(report(None));
        assert!(json.get("arguments").is_none() && json.get("argumentsHash").is_none());
        let none = event(report(Some(Arc::new(CheckedArguments::new(Map::new())))));
        assert_eq!(none["arguments"], json!({}));
    }

    #[test]
    fn b17_a_request_for_approval_reads_as_the_source_has_it() {
        let request_id: ApprovalId = "abcdefghijkl".parse().unwrap();
        let map = json!({"path": "a"}).as_object().unwrap().clone();
        let json = event(EventKind::ToolApprovalRequest {
            request_id: request_id.clone(),
            tool_name: "files.write".into(),
            arguments: Box::new(CheckedArguments::new(map)),
            reason: "writes".into(),
            expires_unix_ms: 9,
        });
        assert_eq!(json["type"], "ToolApprovalRequest");
        assert_eq!(json["requestId"], "abcdefghijkl");
        assert_eq!((&json["callId"], &json["toolName"]), (&json!("c1"), &json!("files.write")));
        assert_eq!(json["arguments"], json!({"path": "a"}));
        assert_eq!((&json["reason"], &json["expiresUnixMs"]), (&json!("writes"), &json!(9)));

        let json = event(EventKind::ApprovalEnded { request_id, state: ApprovalState::Expired });
        assert_eq!(
            (&json["requestId"], &json["state"]),
            (&"abcdefghijkl".into(), &"expired".into())
        );
    }

    #[test]
    fn every_kind_is_one_object_with_its_type() {
        let progress = Progress { done: 1, total: None, message: Some("half\u{1b}".into()) };
        let json = event(EventKind::Progress(progress));
        assert_eq!((&json["type"], &json["done"]), (&json!("Progress"), &json!(1)));
        assert_eq!(json["message"], "half\u{1b}", "kept as it came");

        let json = event(EventKind::CallReceived {
            tool_name: "x".into(),
            caller: None,
            argument_bytes: 2,
        });
        assert_eq!(json["argumentBytes"], 2);
        assert!(json.get("caller").is_none());
    }
}
