//! One message as it came, looked at before `rmcp` reads it: what reads in two ways is refused.
//!
//! `rmcp` reads arguments into a map, where of a key that stands twice one is lost, and takes `null`
//! for none. So the arguments of a call are taken out here, as text, and go to the engine's own
//! reader.

mod typed;

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientJsonRpcMessage,
    ClientRequest, ErrorCode, ErrorData, InputResponses, JsonObject, RequestId, RequestMetaObject,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use self::typed::{is_versioned, typed};
use super::flight::FlightError;

/// The longest id that is taken, in bytes.
const ID_MAX_LEN: usize = 256;
/// The code for too many open requests: outside what JSON-RPC reserves.
const TOO_MANY: ErrorCode = ErrorCode(429);
/// The method of a call.
const CALL: &str = "tools/call";

/// The arguments of a call, as they came; among the extensions of its request.
#[derive(Debug, Clone)]
pub(super) struct RawArguments(pub(super) Arc<str>);

/// A message that is answered with an error at once.
#[derive(Debug)]
pub(super) struct Faulty {
    /// Whose it is; `None`: that can't be told, which is `null` on the wire.
    pub(super) id: Option<RequestId>,
    /// What is wrong.
    pub(super) error: Box<ErrorData>,
}

impl Faulty {
    fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { id, error: Box::new(ErrorData::new(code, message, None)) }
    }

    /// A request that is none of MCP's, or none that may be made.
    pub(super) fn request(id: Option<RequestId>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(id, ErrorCode::INVALID_REQUEST, message)
    }

    fn params(id: &RequestId, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Some(id.clone()), ErrorCode::INVALID_PARAMS, message)
    }

    /// A message above the bound.
    pub(super) fn too_long(max: usize) -> Self {
        Self::request(None, format!("a message has at most {max} bytes"))
    }

    /// Too many of something, which `message` names.
    #[cfg(feature = "http")]
    pub(super) fn too_many(id: Option<RequestId>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(id, TOO_MANY, message)
    }

    /// A request that isn't taken in beside those that are open.
    pub(super) fn refused(id: RequestId, error: FlightError) -> Self {
        let code = match error {
            FlightError::Duplicate => ErrorCode::INVALID_REQUEST,
            FlightError::Full(_) => TOO_MANY,
        };
        Self::new(Some(id), code, error.to_string())
    }

    /// The answer, in one line.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let id = self.id.clone().map(RequestId::into_json_value);
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": self.error});
        let mut line = answer.to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

/// What a message is.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// A call.
    Call(RequestId, Box<CallParams<'a>>),
    /// Any other request.
    Request {
        /// Its id.
        id: RequestId,
        /// Whether it begins a session of the older era.
        #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "sessions are http's"))]
        initialize: bool,
    },
    /// A notification; where it cancels, what.
    Notification(Option<RequestId>),
    /// An answer to a request of ours.
    Response,
}

/// The parts of any message, each at most once.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// The parameters of a call, each at most once.
#[derive(Debug, Deserialize)]
pub(super) struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(default, rename = "_meta")]
    meta: Option<JsonObject>,
    #[serde(default, rename = "inputResponses")]
    input_responses: Option<InputResponses>,
    #[serde(default, rename = "requestState")]
    request_state: Option<String>,
}

/// Also `null` is something: an `Option` alone would take it for nothing.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&'a RawValue>::deserialize(from).map(Some)
}

/// Says what a message is.
///
/// # Errors
/// What is answered instead of handing it on.
pub(super) fn inspect(raw: &[u8]) -> Result<Incoming<'_>, Faulty> {
    if raw.trim_ascii_start().first() == Some(&b'[') {
        return Err(match serde_json::from_slice::<IgnoredAny>(raw) {
            Ok(_) => Faulty::request(None, "a message is one object: batches are not part of MCP"),
            Err(error) => unreadable(&error),
        });
    }
    if raw.trim_ascii_start().first() != Some(&b'{')
        && serde_json::from_slice::<IgnoredAny>(raw).is_ok()
    {
        return Err(Faulty::request(None, "a message is one object"));
    }
    let envelope: Envelope<'_> = serde_json::from_slice(raw).map_err(|error| unreadable(&error))?;
    let id = envelope.id.map(request_id).transpose()?;
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return Err(Faulty::request(id, "expected `jsonrpc` to be `2.0`"));
    }
    // By their places in an array they could be read as well, past whoever checks names.
    let is_list = envelope.params.is_some_and(|raw| raw.get().starts_with('['));
    match (envelope.method.as_deref(), id) {
        (Some(_), Some(id)) if is_list => {
            Err(Faulty::params(&id, "`params` must be an object, not an array"))
        }
        (Some(CALL), Some(id)) => {
            let params = call_params(&id, envelope.params)?;
            Ok(Incoming::Call(id, Box::new(params)))
        }
        (Some(method), Some(id)) => {
            let params = envelope.params.map(RawValue::get).unwrap_or_default();
            typed(&id, method, params)?;
            Ok(Incoming::Request { id, initialize: method == "initialize" })
        }
        (Some("notifications/cancelled"), None) if !is_list => {
            let params = envelope.params.map(RawValue::get).unwrap_or_default();
            let params = serde_json::from_str::<CancelledNotificationParam>(params).ok();
            Ok(Incoming::Notification(params.and_then(|params| params.request_id)))
        }
        (Some(_), None) => Ok(Incoming::Notification(None)),
        (None, _) if envelope.result.is_some() || envelope.error.is_some() => {
            let parts = [envelope.result, envelope.error];
            match parts.into_iter().flatten().all(|part| part.get().starts_with('{')) {
                true => Ok(Incoming::Response),
                false => Err(Faulty::request(None, "a `result` or an `error` is an object")),
            }
        }
        (None, id) => Err(Faulty::request(id, "a request names its `method`")),
    }
}

fn unreadable(error: &serde_json::Error) -> Faulty {
    match error.classify() {
        serde_json::error::Category::Data => Faulty::request(None, error.to_string()),
        _ => Faulty::new(None, ErrorCode::PARSE_ERROR, format!("not JSON: {error}")),
    }
}

fn request_id(raw: &RawValue) -> Result<RequestId, Faulty> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Number(i64),
        Text(String),
    }
    match serde_json::from_str(raw.get()) {
        Ok(Id::Number(number)) => Ok(RequestId::Number(number)),
        Ok(Id::Text(text)) if text.len() <= ID_MAX_LEN => Ok(RequestId::String(text.into())),
        Ok(Id::Text(_)) => {
            Err(Faulty::request(None, format!("an `id` has at most {ID_MAX_LEN} bytes")))
        }
        Err(_) => Err(Faulty::request(None, "an `id` is a text or a whole number of 64 bits")),
    }
}

fn call_params<'a>(id: &RequestId, raw: Option<&'a RawValue>) -> Result<CallParams<'a>, Faulty> {
    let raw = raw.map(RawValue::get).unwrap_or("{}");
    let params: CallParams<'a> = serde_json::from_str(raw)
        .map_err(|error| Faulty::params(id, format!("`params` can't be used: {error}")))?;
    is_versioned(id, params.meta.as_ref())?;
    let found = match params.arguments.map(|raw| raw.get().as_bytes().first().copied()) {
        None | Some(Some(b'{')) => return Ok(params),
        Some(Some(b'n')) => "null; leave it out where there are none",
        Some(Some(b'[')) => "an array",
        Some(Some(b'"')) => "a string; it must be the object itself, not its text",
        Some(Some(b't' | b'f')) => "a boolean",
        _ => "a number",
    };
    Err(Faulty::params(id, format!("`arguments` must be an object, not {found}")))
}

impl CallParams<'_> {
    /// The arguments, as they came; left out they are the empty text, which the engine reads as
    /// `{}`.
    pub(super) fn arguments(&self) -> RawArguments {
        RawArguments(self.arguments.map(RawValue::get).unwrap_or_default().into())
    }

    /// The call as `rmcp` has it, its arguments beside it.
    pub(super) fn into_message(self, id: RequestId) -> ClientJsonRpcMessage {
        let arguments = self.arguments();
        let mut params = CallToolRequestParams::new(self.name.into_owned());
        params.input_responses = self.input_responses;
        params.request_state = self.request_state;
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = self.meta {
            request.extensions.insert(RequestMetaObject::from(meta));
        }
        request.extensions.insert(arguments);
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), id)
    }

    /// The call as a message without its arguments.
    #[cfg(feature = "http")]
    pub(super) fn without_arguments(&self, id: &RequestId) -> Vec<u8> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            name: &'a str,
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
            meta: Option<&'a JsonObject>,
            #[serde(skip_serializing_if = "Option::is_none")]
            input_responses: Option<&'a InputResponses>,
            #[serde(skip_serializing_if = "Option::is_none")]
            request_state: Option<&'a str>,
        }
        let params = Params {
            name: &self.name,
            meta: self.meta.as_ref(),
            input_responses: self.input_responses.as_ref(),
            request_state: self.request_state.as_deref(),
        };
        let message =
            serde_json::json!({"jsonrpc": "2.0", "id": id, "method": CALL, "params": params});
        message.to_string().into_bytes()
    }
}

/// The message as `rmcp` has it; `None`: one that is neither understood nor answered.
///
/// # Errors
/// What is answered instead of handing it on.
pub(super) fn read(raw: &[u8]) -> Result<Option<(Kind, ClientJsonRpcMessage)>, Faulty> {
    let (kind, id) = match inspect(raw)? {
        Incoming::Call(id, params) => {
            let message = params.into_message(id.clone());
            return Ok(Some((Kind::Request(id), message)));
        }
        Incoming::Request { id, .. } => (Kind::Request(id.clone()), Some(id)),
        Incoming::Notification(cancels) => (Kind::Notification(cancels), None),
        Incoming::Response => (Kind::Response, None),
    };
    match (serde_json::from_slice(raw), id) {
        (Ok(message), _) => Ok(Some((kind, message))),
        (Err(error), Some(id)) => {
            Err(Faulty::request(Some(id), format!("the request can't be read: {error}")))
        }
        // Nothing that isn't a request is answered.
        (Err(_), None) => Ok(None),
    }
}

/// What a message is, for whoever hands it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A request of this id.
    Request(RequestId),
    /// A notification; where it cancels, what.
    Notification(Option<RequestId>),
    /// An answer to a request of ours.
    Response,
}
