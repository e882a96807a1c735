//! One task: how it stands, what it asks, and what it ended with.
//!
//! Knows no other task and no bound but those of its time.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ErrorData, InputRequest, InputRequests, InputResponses, JsonObject, Task, TaskPayload,
};
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::asking::decision;
use super::super::settings::McpBounds;
use super::millis;
use crate::contract::approval::{ApprovalDecision, ApprovalRequest};
use crate::frontends::access::Access;

/// What the client's person is asked.
pub(in super::super) struct Question {
    /// Tells it from others of its task.
    pub(in super::super) key: String,
    /// What it is about.
    pub(in super::super) asked: ApprovalRequest,
    /// The form.
    pub(in super::super) request: InputRequest,
}

/// A task, or a call that may become one.
pub(super) struct Entry {
    pub(super) owner: Arc<Access>,
    pub(super) created: Instant,
    pub(super) told: Task,
    /// Ends its call.
    pub(super) cancel: CancellationToken,
    /// Whether it is a task.
    pub(super) shown: bool,
    /// With where an answer goes.
    pub(super) question: Option<(Question, oneshot::Sender<ApprovalDecision>)>,
    pub(super) end: Option<End>,
}

/// How a task ended.
pub(super) struct End {
    payload: Arc<TaskPayload>,
    pub(super) at: Instant,
    pub(super) bytes: usize,
}

impl End {
    /// An end of at most `max` bytes.
    pub(super) fn new(payload: TaskPayload, max: usize) -> Self {
        let at = Instant::now();
        let bytes = match &payload {
            TaskPayload::Completed { result } => length(result),
            TaskPayload::Failed { error } => length(error),
            _ => 0,
        };
        if bytes <= max {
            return Self { payload: Arc::new(payload), at, bytes };
        }
        let why = format!("the result has {bytes} bytes, and of tasks at most {max} are kept");
        let payload = Arc::new(failed(&ErrorData::internal_error(why, None)));
        Self { payload, at, bytes: 0 }
    }
}

impl Entry {
    pub(super) fn new(owner: Arc<Access>, told: Task) -> Self {
        let (created, cancel) = (Instant::now(), CancellationToken::new());
        Self { owner, created, told, cancel, shown: false, question: None, end: None }
    }

    pub(super) fn caller(&self) -> Option<&str> {
        self.owner.context().caller.as_deref()
    }

    /// How long after it was made it is kept: what was said first, and longer where it ended late.
    pub(super) fn ttl(&self, bounds: &McpBounds) -> Duration {
        let ended = self.end.as_ref().map(|end| end.at.duration_since(self.created));
        ended.map_or(bounds.task_ttl, |ran| bounds.task_ttl.max(ran + bounds.task_kept))
    }

    /// How it stands. What it ended with can be long, and is shared.
    pub(super) fn stands(&self, bounds: &McpBounds) -> (Task, Arc<TaskPayload>) {
        let payload = match (&self.end, &self.question) {
            (Some(end), _) => Arc::clone(&end.payload),
            (None, Some((question, _))) => Arc::new(TaskPayload::InputRequired {
                input_requests: InputRequests::from([(
                    question.key.clone(),
                    question.request.clone(),
                )]),
            }),
            (None, None) => Arc::new(TaskPayload::Working),
        };
        (self.told.clone().with_ttl_ms(millis(self.ttl(bounds))), payload)
    }

    /// Takes the answer to what it asks, once.
    pub(super) fn answer(&mut self, said: &InputResponses) -> Result<(), ErrorData> {
        let Some((question, to)) = self.question.take() else { return Ok(()) };
        match said.get(&question.key).map(|said| decision(&question.asked, said)) {
            Some(Ok(decision)) => {
                // Whoever waited for it may have ended meanwhile.
                to.send(decision).ok();
                Ok(())
            }
            unusable => {
                self.question = Some((question, to));
                unusable.map_or(Ok(()), |it| it.map(drop))
            }
        }
    }
}

pub(super) fn failed(error: &ErrorData) -> TaskPayload {
    TaskPayload::Failed { error: object(error) }
}

/// As the object that it is on the wire.
pub(super) fn object(value: &impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

fn length(object: &JsonObject) -> usize {
    serde_json::to_vec(object).map_or(usize::MAX, |bytes| bytes.len())
}
