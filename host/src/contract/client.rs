//! What a connected client and the host say to each other, as plain values.
//!
//! Knows neither sockets nor who is connected. Everything a client says is a claim, and its texts
//! are kept as they came.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::arguments::CheckedArguments;
use super::ids::{CallId, PluginName, ToolId};
use super::invocation::PermissionLevel;
use super::result::{AttachmentKind, base64_bytes};

/// The name and version of the protocol, which a client asks for as its WebSocket subprotocol.
pub const CLIENT_PROTOCOL: &str = "belljar.client.v1";

/// What a client says. Fields that this version doesn't know are passed over; a `type` that it
/// doesn't know is no message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ClientMessage {
    /// Offers tools. The first message, and said once.
    Register(Registration),
    /// How a request ended.
    Result(ClientResult),
    /// How far a request is.
    Progress {
        /// The request.
        request_id: String,
        /// Steps done, in any unit; what doesn't rise is dropped.
        done: u64,
        /// Steps in all, where known.
        #[serde(default)]
        total: Option<u64>,
        /// What it is doing.
        #[serde(default)]
        message: Option<String>,
    },
    /// The level that the client's user sets for the session, from now on.
    Level {
        /// It can only narrow what the token gives.
        permission_level: PermissionLevel,
    },
}

/// A client's first message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// What its tools' ids begin with.
    pub name: String,
    /// The level it begins with; left out, the token's.
    #[serde(default)]
    pub permission_level: Option<PermissionLevel>,
    /// Its tools, each an [`OfferedTool`]: read one by one, so that a bad one spoils no other.
    #[serde(default)]
    pub tools: Vec<Value>,
}

/// A tool that a client offers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferedTool {
    /// The client's own name for it.
    pub name: String,
    /// A short name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it does.
    #[serde(default)]
    pub description: Option<String>,
    /// JSON Schema 2020-12 of its arguments.
    pub input_schema: Value,
    /// JSON Schema 2020-12 of its answer.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// What it says of itself.
    #[serde(default)]
    pub annotations: Annotations,
    /// Set where it is a tool of an MCP server that the client runs (A8).
    #[serde(default)]
    pub mcp: Option<McpOrigin>,
}

/// The hints of MCP's tool annotations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    #[serde(default)]
    pub read_only_hint: Option<bool>,
    /// It may destroy what is there.
    #[serde(default)]
    pub destructive_hint: Option<bool>,
    /// A second identical call changes nothing more.
    #[serde(default)]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond the client's machine.
    #[serde(default)]
    pub open_world_hint: Option<bool>,
}

/// The MCP server behind a client's tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpOrigin {
    /// The client's number for the server.
    pub server_id: u64,
    /// The server's own name for the tool.
    pub original_name: String,
}

/// How a request ended, by the client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResult {
    /// The request.
    pub request_id: String,
    /// Its text.
    #[serde(default)]
    pub content: String,
    /// Its answer as JSON.
    #[serde(default)]
    pub structured: Option<Value>,
    /// Whether the tool failed. A fact: no text is read for it.
    #[serde(default)]
    pub is_error: bool,
    /// What doesn't fit into text.
    #[serde(default)]
    pub attachments: Vec<SentAttachment>,
}

/// Something beside a result's text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentAttachment {
    /// What it is.
    #[serde(flatten)]
    pub kind: AttachmentKind,
    /// Its media type.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The bytes, as standard base64.
    #[serde(default, with = "base64_bytes")]
    pub data: Vec<u8>,
}

/// What the host says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HostMessage {
    /// The tools are there.
    Registered {
        /// The client's name.
        name: PluginName,
        /// Those that can be called.
        tools: Vec<TakenTool>,
        /// Those that can't, each with the reason.
        refused: Vec<RefusedTool>,
    },
    /// The client isn't taken in; the connection closes.
    Refused {
        /// Why, in one line.
        reason: String,
    },
    /// What the client said was taken, and not as it may have meant it.
    Warning {
        /// What was made of it, in one line.
        reason: String,
    },
    /// Run a tool.
    Call(Box<ClientCall>),
    /// Nobody waits for a request any more; its result would be dropped.
    Cancel {
        /// The request.
        request_id: String,
    },
}

/// A request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCall {
    /// Names this request. Each attempt has its own, which nobody else can guess.
    pub request_id: String,
    /// The call it is an attempt of.
    pub call_id: CallId,
    /// The client's own name for the tool.
    pub tool: String,
    /// The arguments, checked against the tool's schema.
    #[serde(serialize_with = "object")]
    pub arguments: Arc<CheckedArguments>,
    /// How long the client has, in milliseconds.
    pub deadline_ms: u64,
    /// 1 for the first try.
    pub attempt: u32,
    /// By which the tool can tell a repeated call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// W3C trace context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

fn object<S: Serializer>(arguments: &Arc<CheckedArguments>, to: S) -> Result<S::Ok, S::Error> {
    arguments.as_ref().serialize(to)
}

/// A tool that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TakenTool {
    /// The client's own name for it.
    pub name: String,
    /// Its id.
    pub id: ToolId,
}

/// A tool that was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedTool {
    /// The client's own name for it, escaped; empty where it gave none.
    pub name: String,
    /// What is wrong with it.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: &Value) -> Result<ClientMessage, serde_json::Error> {
        serde_json::from_str(&json.to_string())
    }

    #[test]
    fn messages_of_a_client_are_read_and_unknown_kinds_are_none() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": "AP8="});
        let said = json!({"type": "result", "requestId": "r", "isError": true,
            "attachments": [image], "later": 1});
        let ClientMessage::Result(result) = read(&said).unwrap() else { panic!("a result") };
        assert!(result.is_error && result.content.is_empty());
        assert_eq!(result.attachments[0].data, [0, 255]);
        assert_eq!(result.attachments[0].kind, AttachmentKind::Image);
        for bad in [
            json!({"type": "shell"}),
            json!({"requestId": "r"}),
            json!([]),
            json!({"type": "result"}),
            json!({"type": "progress", "requestId": "r", "done": -1}),
            json!({"type": "result", "requestId": "r",
                "attachments": [{"type": "image", "data": "!"}]}),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a15_a_level_that_is_none_is_read_only() {
        for said in [json!("ROOT"), json!(7), json!("full")] {
            let message = read(&json!({"type": "level", "permissionLevel": said})).unwrap();
            let permission_level = PermissionLevel::ReadOnly;
            assert_eq!(message, ClientMessage::Level { permission_level });
        }
    }

    #[test]
    fn a_call_has_its_arguments_as_they_were_checked() {
        let arguments: CheckedArguments =
            serde_json::from_value(json!({"n": 9_007_199_254_740_993_u64})).unwrap();
        let call = HostMessage::Call(Box::new(ClientCall {
            request_id: "r".to_owned(),
            call_id: "c".parse().unwrap(),
            tool: "t".to_owned(),
            arguments: Arc::new(arguments),
            deadline_ms: 5,
            attempt: 1,
            idempotency_key: None,
            traceparent: None,
        }));
        assert_eq!(
            serde_json::to_string(&call).unwrap(),
            r#"{"type":"call","requestId":"r","callId":"c","tool":"t","arguments":{"n":9007199254740993},"deadlineMs":5,"attempt":1}"#
        );
    }
}
