//! One try of a call: what is handed to a runner, and the typed end it gives back.
//!
//! Ends are four families, never merged: the guest returned, the guest is at fault, the call was
//! refused, the host is at fault.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::approval::CallerContext;
use super::arguments::CheckedArguments;
use super::grants::Grants;
use super::ids::{CallId, Digest};
use super::limits::{LimitKind, Limits};
use super::result::{Attachment, MissingGrant, Usage};
use super::sink::CallSink;

/// What a runner gets.
#[derive(Clone)]
pub struct Attempt {
    /// The call this is a try of.
    pub call_id: CallId,
    /// 1 for the first try.
    pub number: u32,
    /// What the gate saw, and nothing else.
    pub arguments: Arc<CheckedArguments>,
    /// The bounds in force.
    pub limits: Arc<Limits>,
    /// What the call may use: what the gate saw.
    pub grants: Arc<Grants>,
    /// Given to the guest as it came.
    pub idempotency_key: Option<String>,
    /// When the attempt must have ended, whatever it is blocked in.
    pub deadline: Instant,
    /// Whose deadline that is: the attempt's own, or the whole call's.
    pub deadline_kind: LimitKind,
    /// Cancelled when nobody wants the answer any more.
    pub cancel: CancellationToken,
    /// Whether whoever polls this attempt polls other calls beside it, which wait while it works.
    pub shares_task: bool,
    /// Where the guest's words go.
    pub sink: Arc<dyn CallSink>,
    /// Who asked, for runners outside the sandbox; what runs inside knows its grants alone.
    pub asked_by: Option<Box<AskedBy>>,
}

/// Who asked for a call, as its runner needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedBy {
    /// Who calls.
    pub caller: CallerContext,
    /// The build of the tool that was looked up, checked and let through: its runner must not run
    /// another.
    pub digest: Digest,
    /// W3C trace context of the request, passed through.
    pub trace_parent: Option<String>,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt")
            .field("call_id", &self.call_id)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// Which case of the tool's WIT return a value came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReturnCase {
    /// The return is no WIT `result`.
    Plain,
    /// The `ok` of a WIT `result`.
    Ok,
    /// The `err` of a WIT `result`.
    Err,
}

/// A value the tool returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Returned {
    /// How it came back.
    pub case: ReturnCase,
    /// The value as JSON, fields in declared order; `None` for a function without a result.
    pub value: Option<Value>,
    /// The type is no object, so the output schema wraps it under `result`.
    pub wrapped: bool,
    /// Byte lists and rich content, taken out of `value`.
    pub attachments: Vec<Attachment>,
}

/// What the guest did wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum GuestFault {
    /// It met a limit; the text says what it used.
    Limit(LimitKind, String),
    /// It trapped, or broke a rule of the component model.
    Trapped(String),
    /// It called `exit`.
    Exited(i32),
}

/// Why a runner didn't start the attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerRefusal {
    /// Too many calls at once.
    Overloaded(String),
    /// What runs the tool is gone.
    Unavailable(String),
    /// Cancelled while it waited.
    Cancelled,
    /// Its deadline passed while it waited.
    TimedOut,
}

/// What a tool outside the sandbox answered, in the words it chose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Whether it says that it failed. A fact: its text is never read for one.
    pub is_error: bool,
    /// Its text, unescaped.
    pub content: String,
    /// The same as JSON, where it gave that; always an object.
    pub structured: Option<Value>,
    /// What doesn't fit into text.
    pub attachments: Vec<Attachment>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The guest returned.
    Returned(Returned),
    /// A tool outside the sandbox answered.
    Answered(Answer),
    /// What ran it went away while it ran: what it did until then is not known.
    Lost(String),
    /// The guest is at fault.
    Guest(GuestFault),
    /// It never started.
    Refused(RunnerRefusal),
    /// Cancelled while it ran.
    Interrupted,
    /// Belljar is at fault.
    Host(String),
}

/// An attempt's end with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptEnd {
    /// How it ended.
    pub end: End,
    /// What it used.
    pub usage: Usage,
    /// What it tried to use and wasn't given.
    pub missing_grants: Vec<MissingGrant>,
}
