//! Calls: what a request says of one, and the one that is waited for.
//!
//! A client that goes away ends its call: what answers is dropped, and the call with it (T27).

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::held_calls::{Standing, location};
use super::{CALLERS, route};
use crate::config::HttpApprovals;
use crate::contract::ids::CallId;
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::frontends::access::{Access, Narrowed};
use crate::frontends::http::Shared;
use crate::frontends::http::admit::{RequestPlace, Route};
use crate::frontends::http::body::{Strict, json as answer, present};
use crate::frontends::http::problem::Problem;

/// Longest name of a tool, and longest idempotency key, in bytes.
const NAME_MAX_LEN: usize = 260;
const KEY_MAX_LEN: usize = 256;
/// Tools that a request names as the only ones.
const TOOLS_MAX: usize = 1_000;
/// The longest time that a request names, in milliseconds: a day. The tool's own bound is shorter.
const TIMEOUT_MAX_MS: u64 = 86_400_000;
/// Length of a `traceparent` of version 00 (W3C Trace Context, section 3.2).
const TRACE_PARENT_LEN: usize = 55;

pub(super) fn routes() -> [Route; 1] {
    [route(Method::POST, "/v1/calls", CALLERS, post(call))]
}

/// A level as a request names it. What is none is refused, and not taken for the lowest: whoever
/// wrote it meant something.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Level {
    ReadOnly,
    ReadWrite,
    Smart,
    Full,
}

/// One call as a request says it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CallBody {
    tool: String,
    #[serde(default, deserialize_with = "present")]
    arguments: Option<Map<String, Value>>,
    #[serde(default, deserialize_with = "present")]
    arguments_json: Option<String>,
    #[serde(default, deserialize_with = "present")]
    pub(super) call_id: Option<CallId>,
    #[serde(default, deserialize_with = "present")]
    timeout_ms: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    level: Option<Level>,
    #[serde(default, deserialize_with = "present")]
    tools: Option<Vec<String>>,
    #[serde(default, deserialize_with = "present")]
    idempotency_key: Option<String>,
    #[serde(default)]
    pub(super) background: bool,
}

impl CallBody {
    /// The call, for whom the token says.
    pub(super) fn invocation(
        self,
        shared: &Shared,
        access: &Access,
        id: CallId,
        headers: &HeaderMap,
    ) -> Result<ToolInvocation, Problem> {
        self.check()?;
        let arguments = match (self.arguments, self.arguments_json) {
            (Some(_), Some(_)) => {
                let detail = "`arguments` and `argumentsJson` are there: expected one of them";
                return Err(Problem::bad_request(detail));
            }
            (Some(map), None) => Value::Object(map).to_string(),
            (None, text) => text.unwrap_or_default(),
        };
        let narrowed = Narrowed {
            level: self.level.map(|level| match level {
                Level::ReadOnly => PermissionLevel::ReadOnly,
                Level::ReadWrite => PermissionLevel::ReadWrite,
                Level::Smart => PermissionLevel::Smart,
                Level::Full => PermissionLevel::Full,
            }),
            tools: self.tools,
            timeout: self.timeout_ms.map(Duration::from_millis),
        };
        let mode = match shared.config.approvals.http {
            HttpApprovals::Queue => ApprovalMode::HandBack,
            HttpApprovals::Deny => ApprovalMode::Deny,
        };
        let mut call = access.call(&shared.host, id, self.tool, arguments, mode, &narrowed);
        call.idempotency_key = self.idempotency_key;
        call.trace_parent = trace_parent(headers);
        Ok(call)
    }

    fn check(&self) -> Result<(), Problem> {
        let key = self.idempotency_key.as_deref();
        let tools = self.tools.as_deref().unwrap_or_default();
        let is_name = |name: &str| !name.is_empty() && name.len() <= NAME_MAX_LEN;
        let wrong = if !is_name(&self.tool) {
            format!("`tool` must have 1 to {NAME_MAX_LEN} bytes")
        } else if key.is_some_and(|key| key.is_empty() || key.len() > KEY_MAX_LEN) {
            format!("`idempotencyKey` must have 1 to {KEY_MAX_LEN} bytes")
        } else if tools.len() > TOOLS_MAX || !tools.iter().all(|it| is_name(it)) {
            format!("`tools` must hold at most {TOOLS_MAX} names of 1 to {NAME_MAX_LEN} bytes")
        } else if self.timeout_ms.is_some_and(|ms| ms == 0 || ms > TIMEOUT_MAX_MS) {
            format!("`timeoutMs` must be 1 to {TIMEOUT_MAX_MS}")
        } else {
            return Ok(());
        };
        Err(Problem::bad_request(wrong))
    }
}

/// The trace that the request belongs to; what is none is as if it weren't there (W3C Trace
/// Context, section 2.2.2).
fn trace_parent(headers: &HeaderMap) -> Option<String> {
    let said = headers.get("traceparent")?.to_str().ok()?;
    let is_one = said.len() >= TRACE_PARENT_LEN
        && said.len() <= 2 * TRACE_PARENT_LEN
        && said.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_one.then(|| said.to_owned())
}

async fn call(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    Extension(place): Extension<RequestPlace>,
    headers: HeaderMap,
    Strict(body): Strict<CallBody>,
) -> Result<Response, Problem> {
    let id = body.call_id.clone().map_or_else(|| shared.ids.next(), Ok)?;
    let is_background = body.background;
    let call = body.invocation(&shared, &access, id, &headers)?;
    let cancel = shared.stop.child_token();
    if is_background {
        let id = call.call_id.clone();
        shared.background.start(&shared.host, call, cancel, place.body())?;
        let mut response = answer(StatusCode::ACCEPTED, &Standing::running(&id));
        if let Ok(location) = HeaderValue::from_str(&location(&id)) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        return Ok(response);
    }
    Ok(ended(&shared.host.call_with(call, cancel).await))
}

/// How the end of a call is answered: the result, whatever the outcome. A tool that isn't there for
/// this caller is an error of the request, whose document holds the result as well.
fn ended(result: &ToolResult) -> Response {
    let problem = match result.outcome {
        Outcome::NotFound => Problem::not_found,
        Outcome::NotAllowed => Problem::forbidden,
        _ => return answer(StatusCode::OK, result),
    };
    let detail = result.error_message.as_deref().unwrap_or("the tool can't be called");
    problem(detail).with("result", json!(result)).into_response()
}
