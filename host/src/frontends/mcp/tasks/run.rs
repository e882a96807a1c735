//! A call that may become a task: answered directly while it is short, and by a task once it isn't.
//!
//! Decides when; what the call does is its maker's.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResponse, CreateTaskResult, ErrorData, TaskPayload};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::answer::was_stopped;
use super::entry::{failed, object};
use super::{Named, Running, Tasks};
use crate::frontends::access::Access;

/// A call that is being made.
type Making = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;

/// Where the tasks of one connection, or of all requests over http, run.
#[derive(Clone)]
pub(in super::super) struct Lane {
    /// Cancelled when nothing more is asked by that way.
    pub(in super::super) leaving: CancellationToken,
    /// Cancelled when calls that are no tasks must end; they are answered all the same. Nothing
    /// cancels that of one connection, which ends them itself.
    pub(in super::super) stop: CancellationToken,
    pub(in super::super) running: TaskTracker,
    /// How long tasks may still run then.
    pub(in super::super) drain: Duration,
}

impl Lane {
    /// A place for a call. When all is leaving none becomes a task any more.
    pub(in super::super) fn begin(
        &self,
        tasks: &Arc<Tasks>,
        owner: &Arc<Access>,
    ) -> Option<Running> {
        if self.leaving.is_cancelled() { None } else { tasks.begin(owner) }
    }

    /// Waits until no task runs here.
    pub(in super::super) async fn idle(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

/// What a call that may become a task is given.
pub(in super::super) struct Made {
    /// Its task.
    pub(in super::super) named: Named,
    /// Ends it.
    pub(in super::super) cancel: CancellationToken,
    /// Cancelled once nobody hears of its progress.
    pub(in super::super) quiet: CancellationToken,
    /// Cancelled when all is leaving.
    pub(in super::super) leaving: CancellationToken,
}

/// Makes a call. It is answered directly where it ends within the grace, or its client is gone
/// within it (`gone`); else it is a task, and goes on as one.
pub(in super::super) async fn run<F>(
    running: Running,
    lane: &Lane,
    gone: &CancellationToken,
    make: impl FnOnce(Made) -> F,
) -> Result<CallToolResponse, ErrorData>
where
    F: Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'static,
{
    let mut making: Making = Box::pin(make(Made {
        named: running.named.clone(),
        cancel: running.cancel.clone(),
        quiet: running.quiet.clone(),
        leaving: lane.leaving.clone(),
    }));
    let grace = running.named.tasks.bounds.task_grace;
    let long = tokio::select! {
        biased;
        ended = &mut making => return ended,
        () = gone.cancelled() => false,
        () = lane.leaving.cancelled() => false,
        () = running.named.waits.cancelled() => true,
        () = tokio::time::sleep(grace) => true,
    };
    if !long {
        tokio::select! {
            biased;
            ended = &mut making => return ended,
            () = gone.cancelled() => running.cancel.cancel(),
        }
        return making.await;
    }
    let told = running.show();
    lane.running.spawn(go_on(running, making, lane.clone()));
    Ok(CreateTaskResult::new(told).into())
}

/// Lets a task run to its end, and no longer than it may.
async fn go_on(running: Running, mut making: Making, lane: Lane) {
    let ttl = running.named.tasks.bounds.task_ttl;
    let leaving = async {
        lane.leaving.cancelled().await;
        tokio::time::sleep(lane.drain).await;
    };
    let too_long = tokio::select! {
        biased;
        ended = &mut making => return running.end(payload(ended, running.cancel.is_cancelled())),
        () = tokio::time::sleep_until(running.created + ttl) => true,
        () = leaving => false,
    };
    running.cancel.cancel();
    let payload = match payload(making.await, true) {
        TaskPayload::Cancelled if too_long => {
            let why = format!("the call was ended: a task runs at most {} s", ttl.as_secs());
            failed(&ErrorData::internal_error(why, None))
        }
        payload => payload,
    };
    running.end(payload);
}

/// What an answer is as the end of a task. A call that had been called off and was stopped by it is
/// cancelled; one that ended all the same has its result.
fn payload(answer: Result<CallToolResponse, ErrorData>, called_off: bool) -> TaskPayload {
    match answer {
        Ok(CallToolResponse::Complete(result)) if called_off && was_stopped(&result) => {
            TaskPayload::Cancelled
        }
        Ok(CallToolResponse::Complete(result)) => {
            TaskPayload::Completed { result: object(&result) }
        }
        Ok(_) => failed(&ErrorData::internal_error("the call has no result", None)),
        Err(error) => failed(&error),
    }
}
