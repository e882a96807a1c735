//! What a line of a batch asks: a JSON object with the members of an invocation that a request may
//! set.
//!
//! Runs and looks up nothing. A line can only narrow what its caller may do.

use std::time::Duration;

use serde_json::{Map, Value};

use super::input::{LINE_MAX_LEN, Line};
use crate::contract::arguments::{ArgumentBounds, ArgumentsError, parse};
use crate::contract::escape::clipped_line;
use crate::contract::ids::CallId;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::engine::ports::FoundTool;
use crate::frontends::cli::args::LEVELS;
use crate::frontends::cli::caller::Caller;
use crate::gate::{narrow_level, narrow_tools};

/// What a line may say.
const MEMBERS: &[&str] = &[
    "toolName",
    "arguments",
    "argumentsJson",
    "callId",
    "timeoutMs",
    "permissionLevel",
    "allowedTools",
    "idempotencyKey",
];
/// What an invocation has beside these, and only its frontend may set.
const NOT_THE_LINES: &[&str] = &[
    "caller",
    "sessionId",
    "userId",
    "executionUserId",
    "workspace",
    "approvalMode",
    "sessionTools",
    "executionMode",
    "modelConfig",
    "traceParent",
];
/// Longest text of a line that is repeated, in bytes.
const SHOWN_MAX_LEN: usize = 100;
/// Longest key, in bytes, as for `--idempotency-key`.
const KEY_MAX_LEN: usize = 256;

/// A line that was read.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    /// The id it came with, as far as it could be read.
    pub(super) call_id: Option<String>,
    /// What it asks, or why it is no invocation.
    pub(super) asked: Result<Asked, String>,
}

/// What a line asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Asked {
    tool_name: String,
    arguments_json: String,
    timeout: Option<Duration>,
    level: Option<PermissionLevel>,
    allowed_tools: Option<Vec<String>>,
    idempotency_key: Option<String>,
}

impl Asked {
    /// The call of `caller`, narrowed by the line.
    pub(super) fn call(self, id: CallId, caller: &Caller, tools: &[FoundTool]) -> ToolInvocation {
        let mut call = caller.call(id, self.tool_name, self.arguments_json);
        call.permission_level = narrow_level(call.permission_level, self.level);
        // The caller's set holds ids, and a name of the line may be a wire name.
        let ids = self.allowed_tools.map(|names| {
            let id = |name: String| {
                let mut wired = tools.iter().filter(|tool| tool.descriptor.wire_name == name);
                wired.next().map_or(name, |tool| tool.descriptor.id.to_string())
            };
            names.into_iter().map(id).collect::<Vec<_>>()
        });
        call.allowed_tools = narrow_tools(call.allowed_tools.as_deref(), ids.as_deref());
        call.timeout = self.timeout;
        call.idempotency_key = self.idempotency_key;
        call
    }
}

/// Reads a line. Whatever is wrong names the line.
pub(super) fn read_request(line: Line) -> Request {
    let number = line.number;
    let members = line.text.and_then(|text| {
        // The line's own object is one level more than its arguments have.
        let depth = ArgumentBounds::widest().depth;
        let bounds = ArgumentBounds { bytes: LINE_MAX_LEN, depth };
        parse(&text, bounds).map_err(|error| format!("line {number} {}", no_object(&error)))
    });
    let mut members = match members {
        Ok(members) => members,
        Err(why) => return Request { call_id: None, asked: Err(why) },
    };
    // Read first: a line that is wrong otherwise is told under its own id.
    let call_id = text(&mut members, "callId");
    let named = call_id.as_ref().ok().cloned().flatten();
    let asked = call_id.and_then(|_id| asked(&mut members));
    let asked = asked.map_err(|why| format!("line {number} is no invocation: {why}"));
    Request { call_id: named, asked }
}

fn asked(members: &mut Map<String, Value>) -> Result<Asked, String> {
    let tool_name = text(members, "toolName")?.ok_or("expected `toolName`")?;
    let arguments_json = match (members.shift_remove("arguments"), text(members, "argumentsJson")?)
    {
        (Some(_), Some(_)) => return Err("it has both `arguments` and `argumentsJson`".to_owned()),
        (Some(arguments), None) => arguments.to_string(),
        (None, text) => text.unwrap_or_default(),
    };
    let asked = Asked {
        tool_name,
        arguments_json,
        timeout: timeout(members)?,
        level: level(members)?,
        allowed_tools: tools(members)?,
        idempotency_key: key(members)?,
    };
    match members.keys().next() {
        None => Ok(asked),
        Some(name) if NOT_THE_LINES.contains(&name.as_str()) => Err(format!(
            "`{name}` comes from the options and the configuration, and a line may only narrow \
             them by `permissionLevel` and `allowedTools`"
        )),
        Some(name) => {
            let (name, known) = (clipped_line(name, SHOWN_MAX_LEN), MEMBERS.join(", "));
            Err(format!("it has the unknown member `{name}`: expected {known}"))
        }
    }
}

fn text(members: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.shift_remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` is no string")),
    }
}

fn timeout(members: &mut Map<String, Value>) -> Result<Option<Duration>, String> {
    let Some(value) = members.shift_remove("timeoutMs") else { return Ok(None) };
    let millis = value.as_u64().filter(|millis| *millis > 0);
    let wrong = "`timeoutMs` is no whole number of milliseconds above 0";
    millis.map(|millis| Some(Duration::from_millis(millis))).ok_or_else(|| wrong.to_owned())
}

fn level(members: &mut Map<String, Value>) -> Result<Option<PermissionLevel>, String> {
    let Some(name) = text(members, "permissionLevel")? else { return Ok(None) };
    if !LEVELS.contains(&name.as_str()) {
        let (name, levels) = (clipped_line(&name, SHOWN_MAX_LEN), LEVELS.join(", "));
        return Err(format!("`permissionLevel` is `{name}`: expected {levels}"));
    }
    Ok(Some(PermissionLevel::parse_or_read_only(Some(&name))))
}

fn tools(members: &mut Map<String, Value>) -> Result<Option<Vec<String>>, String> {
    let wrong = || "`allowedTools` is no array of strings".to_owned();
    let Some(value) = members.shift_remove("allowedTools") else { return Ok(None) };
    let Value::Array(names) = value else { return Err(wrong()) };
    let name = |name| match name {
        Value::String(name) => Ok(name),
        _ => Err(wrong()),
    };
    names.into_iter().map(name).collect::<Result<_, _>>().map(Some)
}

fn key(members: &mut Map<String, Value>) -> Result<Option<String>, String> {
    let key = text(members, "idempotencyKey")?;
    match key {
        Some(key) if key.is_empty() || key.len() > KEY_MAX_LEN => {
            Err(format!("`idempotencyKey` has {} bytes: expected 1 to {KEY_MAX_LEN}", key.len()))
        }
        key => Ok(key),
    }
}

/// Why a line is no JSON object.
fn no_object(error: &ArgumentsError) -> String {
    let place = |column: usize| format!("at column {column}");
    match error {
        ArgumentsError::Truncated(_) => "stops before its JSON object does".to_owned(),
        ArgumentsError::Syntax { reason, position, .. } => {
            format!("is not JSON: {reason} {}", place(position.column))
        }
        ArgumentsError::Trailing(position) => {
            format!("goes on after its JSON object {}", place(position.column))
        }
        ArgumentsError::DuplicateKey { path, position } => {
            format!("names `{path}` twice, again {}", place(position.column))
        }
        ArgumentsError::TooDeep { position, max_depth, .. } => {
            format!("is nested more than {max_depth} levels deep {}", place(position.column))
        }
        ArgumentsError::ByteOrderMark => "begins with a byte order mark".to_owned(),
        ArgumentsError::NotAnObject { found } => format!("is {found}: expected a JSON object"),
        ArgumentsError::Stringified => "is a string: expected a JSON object".to_owned(),
        ArgumentsError::TooLong { max_bytes, .. } => {
            format!("is longer than the {max_bytes} bytes of a line")
        }
    }
}

#[cfg(test)]
mod tests;
