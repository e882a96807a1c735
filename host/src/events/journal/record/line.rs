//! From a record to its JSON: redacted, cut, and straight into the buffer it is written from.
//!
//! The one place that knows the names of fields. Reads no clock and touches no file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Result;

use super::object::Object;
use super::{
    ARGUMENTS_MAX_LEN, ApprovalDecided, ApprovalRequested, CallFinished, CallNotRun, CallStarted,
    NAME_MAX_LEN, Record, TEXT_MAX_LEN,
};
use crate::contract::approval::{Approver, CallerContext, RememberScope};
use crate::contract::arguments::canonical;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::Usage;
use crate::events::redact::Redactor;

/// Writes records at one time, without the declared secrets.
#[derive(Clone, Copy)]
pub(in crate::events::journal) struct Writing<'a> {
    pub(in crate::events::journal) at_unix_ms: u64,
    pub(in crate::events::journal) redactor: &'a Redactor,
}

/// A call that began and that nobody ended.
#[derive(Clone, Copy)]
pub(in crate::events::journal) struct Interrupted<'a> {
    /// The number of its beginning in the lane.
    pub(in crate::events::journal) start: u64,
    pub(in crate::events::journal) call_id: &'a str,
    pub(in crate::events::journal) tool_name: &'a str,
}

/// [`RememberScope`], cut.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Scope<'a> {
    Tool,
    Arguments,
    Pattern(BTreeMap<Cow<'a, str>, Cow<'a, str>>),
}

impl Writing<'_> {
    /// Appends the start of a call.
    pub(in crate::events::journal) fn started(
        self,
        buffer: &mut Vec<u8>,
        call: &CallStarted<'_>,
    ) -> Result<()> {
        let mut line = self.line(buffer, "CallStarted")?;
        line.text("callId", call.call_id.as_str())?;
        line.text("toolName", &self.text(call.tool_name, NAME_MAX_LEN))?;
        line.tool("tool", call.tool);
        line.digest("pluginDigest", call.plugin_digest);
        line.digest("argumentsHash", Some(&call.arguments.hash()));
        line.number("argumentBytes", call.arguments.canonical().len() as u64)?;
        caller(&mut line, call.caller)?;
        line.value("by", &call.mark.by)?;
        line.text("reason", &self.text(&call.mark.reason, TEXT_MAX_LEN))?;
        line.text_if("approval", call.mark.approval.as_ref().map(|id| id.as_str()))?;
        if let Some(approver) = &call.mark.approver {
            person(&mut line, approver)?;
        }
        line.digest("policyRevision", Some(call.policy_revision));
        if let Some(parent) = call.trace_parent {
            line.text("traceParent", &self.text(parent, NAME_MAX_LEN))?;
        }
        line.digest("idempotencyKeyHash", call.idempotency_key_hash);
        match self.arguments(call) {
            Some(json) => line.json("arguments", &json),
            None => line.value("argumentsOmitted", &true)?,
        }
        line.end();
        Ok(())
    }

    /// Appends the end of the call that record `start` of the same lane began.
    pub(in crate::events::journal) fn finished(
        self,
        buffer: &mut Vec<u8>,
        start: u64,
        call: &CallFinished<'_>,
    ) -> Result<()> {
        let mut line = self.line(buffer, "CallFinished")?;
        line.number("start", start)?;
        line.text("callId", call.call_id.as_str())?;
        line.text("toolName", &self.text(call.tool_name, NAME_MAX_LEN))?;
        line.text("outcome", call.outcome.name())?;
        line.value("executed", &call.executed)?;
        if let Some(message) = call.error_message {
            line.text("errorMessage", &self.text(message, TEXT_MAX_LEN))?;
        }
        line.number("attempts", u64::from(call.attempts))?;
        if let Some(usage) = call.usage {
            used(&mut line, usage)?;
        }
        if let Some(duration) = call.duration_ms {
            line.number("durationMs", duration)?;
        }
        line.number("contentBytes", call.content_bytes)?;
        line.digest("contentHash", call.content_hash);
        line.end();
        Ok(())
    }

    /// Appends the end of a started call that nobody ended. `recovered`: its process was gone or
    /// going; otherwise whoever ran it let go of it.
    pub(in crate::events::journal) fn interrupted(
        self,
        buffer: &mut Vec<u8>,
        call: &Interrupted<'_>,
        recovered: bool,
    ) -> Result<()> {
        let Interrupted { start, call_id, tool_name } = *call;
        let mut line = self.line(buffer, "CallFinished")?;
        line.number("start", start)?;
        line.text("callId", &clipped(Cow::Borrowed(call_id), NAME_MAX_LEN))?;
        line.text("toolName", &self.text(tool_name, NAME_MAX_LEN))?;
        line.text("outcome", Outcome::Interrupted.name())?;
        line.value("executed", &Executed::Maybe)?;
        if recovered {
            line.value("recovered", &true)?;
        }
        line.end();
        Ok(())
    }

    /// Appends any other record.
    pub(in crate::events::journal) fn record(
        self,
        buffer: &mut Vec<u8>,
        record: &Record<'_>,
    ) -> Result<()> {
        match record {
            Record::CallRefused(call) => self.not_run(buffer, "CallRefused", call),
            Record::CallAnswered(call) => self.not_run(buffer, "CallAnswered", call),
            Record::ApprovalRequested(request) => self.requested(buffer, request),
            Record::ApprovalDecided(answer) => self.decided(buffer, answer),
            Record::ApprovalEnded { request, state, reason } => {
                let mut line = self.line(buffer, "ApprovalEnded")?;
                line.text("request", request.as_str())?;
                line.value("state", state)?;
                line.text("reason", &self.text(reason, TEXT_MAX_LEN))?;
                line.end();
                Ok(())
            }
            Record::Revoked { approval, approver } => {
                let mut line = self.line(buffer, "Revoked")?;
                line.text("approval", approval.as_str())?;
                person(&mut line, approver)?;
                line.end();
                Ok(())
            }
            Record::Checkpoint { removed_through, link, reason } => {
                let mut line = self.line(buffer, "Checkpoint")?;
                line.number("removedThrough", *removed_through)?;
                line.digest("link", Some(link));
                line.text("reason", &self.text(reason, TEXT_MAX_LEN))?;
                line.end();
                Ok(())
            }
        }
    }

    fn not_run(self, buffer: &mut Vec<u8>, kind: &str, call: &CallNotRun<'_>) -> Result<()> {
        let mut line = self.line(buffer, kind)?;
        line.text("callId", call.call_id.as_str())?;
        line.text("toolName", &self.text(call.tool_name, NAME_MAX_LEN))?;
        if let Some(tool) = call.tool {
            line.tool("tool", tool);
        }
        line.digest("argumentsHash", call.arguments_hash);
        caller(&mut line, call.caller)?;
        line.text("outcome", call.outcome.name())?;
        line.text("reason", &self.text(call.reason, TEXT_MAX_LEN))?;
        line.text_if("approval", call.approval.map(|id| id.as_str()))?;
        line.end();
        Ok(())
    }

    fn requested(self, buffer: &mut Vec<u8>, asked: &ApprovalRequested<'_>) -> Result<()> {
        let mut line = self.line(buffer, "ApprovalRequested")?;
        line.text("request", asked.request.as_str())?;
        line.text("callId", asked.call_id.as_str())?;
        line.tool("tool", asked.tool);
        line.digest("argumentsHash", Some(asked.arguments_hash));
        caller(&mut line, asked.caller)?;
        line.text("reason", &self.text(asked.reason, TEXT_MAX_LEN))?;
        line.number("expiresUnixMs", asked.expires_unix_ms)?;
        line.end();
        Ok(())
    }

    fn decided(self, buffer: &mut Vec<u8>, answer: &ApprovalDecided<'_>) -> Result<()> {
        let mut line = self.line(buffer, "ApprovalDecided")?;
        line.text("request", answer.request.as_str())?;
        line.text("decision", answer.decision)?;
        person(&mut line, answer.approver)?;
        if let Some(reason) = answer.reason {
            line.text("reason", &self.text(reason, TEXT_MAX_LEN))?;
        }
        line.number("latencyMs", answer.latency_ms)?;
        if let Some(scope) = answer.remembered_scope {
            line.value("rememberedScope", &self.scope(scope))?;
        }
        if let Some(edited) = answer.edited_arguments {
            let json = canonical::object_to_string(&self.redactor.object(edited));
            if json.len() <= ARGUMENTS_MAX_LEN {
                line.json("editedArguments", &json);
            } else {
                line.value("argumentsOmitted", &true)?;
            }
        }
        line.end();
        Ok(())
    }

    /// Begins every record: its time and its kind.
    fn line<'b>(self, buffer: &'b mut Vec<u8>, kind: &str) -> Result<Object<'b>> {
        let mut line = Object::begin(buffer);
        line.number("atUnixMs", self.at_unix_ms)?;
        line.text("type", kind)?;
        Ok(line)
    }

    /// The arguments as JSON without secrets; `None` where they are too long.
    fn arguments<'c>(self, call: &CallStarted<'c>) -> Option<Cow<'c, str>> {
        let canonical = call.arguments.canonical();
        if canonical.len() > ARGUMENTS_MAX_LEN {
            return None;
        }
        if !self.redactor.may_be_in_json(canonical) {
            return Some(Cow::Borrowed(canonical));
        }
        let clean = self.redactor.object(call.arguments.value());
        Some(canonical::object_to_string(&clean))
            .filter(|text| text.len() <= ARGUMENTS_MAX_LEN)
            .map(Cow::Owned)
    }

    fn text<'t>(self, text: &'t str, max_len: usize) -> Cow<'t, str> {
        clipped(self.redactor.text(text), max_len)
    }

    /// At most as many patterns as fit; a person typed them, so more would be strange.
    fn scope<'r>(self, scope: &'r RememberScope) -> Scope<'r> {
        const PATTERNS_MAX: usize = 16;
        match scope {
            RememberScope::Tool => Scope::Tool,
            RememberScope::Arguments => Scope::Arguments,
            RememberScope::Pattern(patterns) => Scope::Pattern(
                patterns
                    .iter()
                    .take(PATTERNS_MAX)
                    .map(|(name, glob)| {
                        (self.text(name, NAME_MAX_LEN), self.text(glob, NAME_MAX_LEN))
                    })
                    .collect(),
            ),
        }
    }
}

fn caller(line: &mut Object<'_>, context: &CallerContext) -> Result<()> {
    let mut caller = line.object("caller");
    for (name, value) in [
        ("caller", &context.caller),
        ("sessionId", &context.session_id),
        ("userId", &context.user_id),
        ("executionUserId", &context.execution_user_id),
        ("workspace", &context.workspace),
    ] {
        if let Some(value) = value {
            caller.text(name, &clipped(Cow::Borrowed(value), NAME_MAX_LEN))?;
        }
    }
    caller.value("permissionLevel", &context.permission_level)?;
    caller.end();
    Ok(())
}

fn used(line: &mut Object<'_>, usage: &Usage) -> Result<()> {
    let Usage { fuel, peak_memory_bytes, wall_ms, host_wait_ms, bytes_in, bytes_out } = *usage;
    let mut used = line.object("usage");
    if let Some(fuel) = fuel {
        used.number("fuel", fuel)?;
    }
    used.number("peakMemoryBytes", peak_memory_bytes)?;
    used.number("wallMs", wall_ms)?;
    used.number("hostWaitMs", host_wait_ms)?;
    used.number("bytesIn", bytes_in)?;
    used.number("bytesOut", bytes_out)?;
    used.end();
    Ok(())
}

fn person(line: &mut Object<'_>, approver: &Approver) -> Result<()> {
    let mut person = line.object("approver");
    person.text("name", &clipped(Cow::Borrowed(&approver.name), NAME_MAX_LEN))?;
    person.value("channel", &approver.channel)?;
    person.end();
    Ok(())
}

/// Cuts between characters where JSON would take more than `max_len` bytes, and says so by `…`.
fn clipped(text: Cow<'_, str>, max_len: usize) -> Cow<'_, str> {
    const LONGEST_ESCAPE: usize = 6;
    const MARK: char = '…';
    if text.len() * LONGEST_ESCAPE <= max_len {
        return text;
    }
    let written = |c: char| match c {
        '"' | '\\' => 2,
        '\0'..='\u{1f}' => LONGEST_ESCAPE,
        _ => c.len_utf8(),
    };
    let (mut len, mut keep) = (0, 0);
    for (at, c) in text.char_indices() {
        len += written(c);
        if len > max_len {
            let kept = text.get(..keep).unwrap_or_default();
            return Cow::Owned(format!("{kept}{MARK}"));
        }
        if len + MARK.len_utf8() <= max_len {
            keep = at + c.len_utf8();
        }
    }
    text
}
