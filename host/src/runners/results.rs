//! `results.read`: reads what an earlier call left beside its text, a piece at a time.
//!
//! Gives nobody what another caller's call left, and never more than a model is shown.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::own::{OwnTool, ended};
use crate::contract::approval::CallerContext;
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd};
use crate::contract::ids::ToolId;
use crate::contract::limits::LimitKind;
use crate::engine::KeptResults;
use crate::engine::ports::ToolRunner;
use crate::events::Clock;

mod piece;

use piece::{Wanted, piece};

/// Bytes of an address.
const URI_MAX_LEN: usize = 1_000;
/// Bytes of a text to be looked for.
const FIND_MAX_LEN: usize = 1_000;
/// Bytes that are read where no length is said.
const LENGTH_DEFAULT: u64 = 32 << 10;
/// What an answer takes beside the piece: its other fields.
const FIELDS_LEN: usize = 2_000;

/// The tool.
#[derive(Debug)]
pub(super) struct ReadResults {
    kept: KeptResults,
    clock: Clock,
}

impl ReadResults {
    /// Reads from what is kept.
    pub(super) fn new(kept: KeptResults, clock: Clock) -> Self {
        Self { kept, clock }
    }

    /// What it is.
    pub(super) fn tool() -> OwnTool {
        OwnTool {
            id: "results.read",
            wire_name: "results_read",
            title: "Read a kept result",
            description: "Reads a piece of what one of your calls left: output that was too long \
                          to show whole, or an attachment, by its address. `nextOffset` is where \
                          to go on; without it that was all.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "uri": { "type": "string", "minLength": 1, "maxLength": URI_MAX_LEN,
                        "description": "The address, such as belljar://result/CALL/0." },
                    "offset": { "type": "integer", "minimum": 0, "default": 0,
                        "description": "The byte to begin at." },
                    "length": { "type": "integer", "minimum": 1, "default": LENGTH_DEFAULT,
                        "description": "How many bytes at most; fewer where they don't fit." },
                    "find": { "type": "string", "minLength": 1, "maxLength": FIND_MAX_LEN,
                        "description": "Begin where this text next stands, from `offset` on." },
                },
                "required": ["uri"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "uri": { "type": "string" },
                    "mimeType": { "type": "string" },
                    "size": { "type": "integer", "description": "Bytes of the whole." },
                    "encoding": { "enum": ["text", "base64"] },
                    "offset": { "type": "integer" },
                    "length": { "type": "integer", "description": "Bytes in `text`." },
                    "nextOffset": { "type": "integer" },
                    "found": { "type": "boolean" },
                    "text": { "type": "string" },
                },
                "required": ["uri", "size", "encoding", "offset", "length", "text"],
                "additionalProperties": false,
            }),
            asks_a_person: false,
        }
    }

    fn read(
        &self,
        caller: &CallerContext,
        arguments: &Map<String, Value>,
        shown: usize,
    ) -> Result<Value, String> {
        let uri = arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        let attachment = self.kept.get(caller, uri, (self.clock)()).ok_or_else(|| {
            "nothing is kept there for you: it may be too old, or another caller's".to_owned()
        })?;
        let wanted = Wanted {
            offset: size(number("offset").unwrap_or_default()),
            length: size(number("length").unwrap_or(LENGTH_DEFAULT)),
            find: arguments.get("find").and_then(Value::as_str),
            json_max: shown.saturating_sub(FIELDS_LEN),
        };
        let piece = piece(&attachment.bytes, &wanted)?;
        let mut answer = json!({
            "uri": uri,
            "size": attachment.bytes.len(),
            "encoding": piece.encoding,
            "offset": piece.offset,
            "length": piece.length,
            "text": piece.text,
        });
        let mime_type = attachment.mime_type.clone().filter(|it| it.len() <= URI_MAX_LEN / 4);
        for (name, value) in [
            ("mimeType", mime_type.map(Value::from)),
            ("nextOffset", piece.next.map(Value::from)),
            ("found", piece.found.map(Value::from)),
        ] {
            if let (Some(value), Value::Object(answer)) = (value, &mut answer) {
                answer.insert(name.to_owned(), value);
            }
        }
        Ok(answer)
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl ArgumentCheck for ReadResults {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        let mut failures = Vec::new();
        for (name, value) in &args {
            let why = match name.as_str() {
                "uri" => wrong_text(value, URI_MAX_LEN),
                "find" => wrong_text(value, FIND_MAX_LEN),
                "offset" if value.is_u64() => None,
                "offset" => Some("expected a whole number from 0 on".to_owned()),
                "length" if value.as_u64().is_some_and(|length| length > 0) => None,
                "length" => Some("expected a whole number from 1 on".to_owned()),
                _ => Some("there is no such argument".to_owned()),
            };
            failures.extend(why.map(|why| {
                let name = name.replace('~', "~0").replace('/', "~1");
                ArgumentFailure::new(format!("/{name}"), why)
            }));
        }
        if !args.contains_key("uri") {
            failures.push(ArgumentFailure::new("", "`uri` is missing"));
        }
        if failures.is_empty() { Ok(args) } else { Err(failures) }
    }
}

fn wrong_text(value: &Value, max_len: usize) -> Option<String> {
    let fits = value.as_str().is_some_and(|text| (1..=max_len).contains(&text.len()));
    (!fits).then(|| format!("expected a text of 1 to {max_len} bytes"))
}

#[async_trait]
impl ToolRunner for ReadResults {
    async fn run(&self, _tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        // Without a caller it reads what callers without a name left.
        let caller = attempt.asked_by.map(|asked| asked.caller).unwrap_or_default();
        let shown = attempt.limits.size(LimitKind::OutputShown);
        ended(self.read(&caller, attempt.arguments.value(), shown))
    }
}

#[cfg(test)]
mod tests;
