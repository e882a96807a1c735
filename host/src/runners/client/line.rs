//! One connected client as a runner: its open requests, each with a timer of its own.
//!
//! A request ends once: by its result, its deadline, its cancelling, or the end of the connection.
//! Whatever ends it, it is taken off the list, and what comes later is dropped and counted.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::answer::end_of;
use super::offered::ClientTool;
use crate::contract::attempt::{Attempt, AttemptEnd, End, GuestFault, RunnerRefusal};
use crate::contract::client::{ClientCall, ClientResult, HostMessage};
use crate::contract::ids::{PluginName, ToolId};
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::result::Usage;
use crate::contract::sink::{CallSink, Progress};
use crate::engine::ports::ToolRunner;

/// Requests of one client that may be open.
pub(super) const OPEN_MAX: usize = 64;
/// Messages that may wait for one client: a call and a cancel for each open request, and its
/// registration.
pub(super) const QUEUE_MAX: usize = 2 * OPEN_MAX + 1;
/// Random bytes of a request's id.
const ID_BYTES: usize = 16;

/// A connected client.
pub(super) struct Line {
    pub(super) client: PluginName,
    pub(super) owner: Arc<str>,
    /// The one session it belongs to; `None`: all of its caller's.
    session: Option<String>,
    pub(super) tools: BTreeMap<ToolId, ClientTool>,
    level: Mutex<Option<PermissionLevel>>,
    state: Mutex<State>,
    dropped: Arc<AtomicU64>,
}

/// What changes while it is connected.
pub(super) struct State {
    /// `None`: the connection has ended.
    out: Option<mpsc::Sender<HostMessage>>,
    open: BTreeMap<String, Open>,
}

/// A request that waits for its result.
struct Open {
    answer: oneshot::Sender<ClientResult>,
    sink: Arc<dyn CallSink>,
    /// The last progress that was told.
    done: Option<u64>,
}

/// What a line is made of.
pub(super) struct LineParts {
    pub(super) client: PluginName,
    pub(super) owner: Arc<str>,
    pub(super) session: Option<String>,
    pub(super) tools: BTreeMap<ToolId, ClientTool>,
    pub(super) level: Option<PermissionLevel>,
    pub(super) out: mpsc::Sender<HostMessage>,
    /// Counts what came too late, or for nobody.
    pub(super) dropped: Arc<AtomicU64>,
}

impl Line {
    pub(super) fn new(parts: LineParts) -> Self {
        let LineParts { client, owner, session, tools, level, out, dropped } = parts;
        let state = Mutex::new(State { out: Some(out), open: BTreeMap::new() });
        Self { client, owner, session, tools, level: Mutex::new(level), state, dropped }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The level its user has set, where it holds for this call.
    pub(super) fn level_for(&self, call: &ToolInvocation) -> Option<PermissionLevel> {
        let of_caller = call.caller.as_deref() == Some(self.owner.as_ref());
        let of_session = self.session.is_none() || self.session == call.session_id;
        let level = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.filter(|_| of_caller && of_session)
    }

    pub(super) fn set_level(&self, level: PermissionLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    pub(super) fn result(&self, result: ClientResult) {
        let open = self.state().open.remove(&result.request_id);
        // Whoever waited may have gone at this very moment.
        if open.is_none_or(|open| open.answer.send(result).is_err()) {
            self.drop_one();
        }
    }

    pub(super) fn progress(&self, request_id: &str, progress: Progress) {
        let mut state = self.state();
        let Some(open) = state.open.get_mut(request_id) else {
            drop(state);
            return self.drop_one();
        };
        if open.done.is_some_and(|done| progress.done <= done) {
            drop(state);
            return self.drop_one();
        }
        open.done = Some(progress.done);
        let sink = Arc::clone(&open.sink);
        drop(state);
        sink.progress(progress);
    }

    fn drop_one(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends it: whoever waits for a result hears so at once.
    pub(super) fn close(&self) {
        self.state().close();
    }

    /// Opens a request and sends it, in this order: an answer finds who waits for it.
    fn begin(
        &self,
        tool: &ClientTool,
        attempt: &Attempt,
        left: Duration,
    ) -> Result<(Request<'_>, oneshot::Receiver<ClientResult>), Box<End>> {
        let refused = |refusal| Err(Box::new(End::Refused(refusal)));
        let id =
            fresh_id().map_err(|error| Box::new(End::Host(format!("no random bytes: {error}"))))?;
        let call = HostMessage::Call(Box::new(ClientCall {
            request_id: id.clone(),
            call_id: attempt.call_id.clone(),
            tool: tool.name.clone(),
            arguments: Arc::clone(&attempt.arguments),
            deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            attempt: attempt.number,
            idempotency_key: attempt.idempotency_key.clone(),
            traceparent: attempt.asked_by.as_ref().and_then(|by| by.trace_parent.clone()),
        }));
        let mut state = self.state();
        if state.out.is_none() {
            return refused(RunnerRefusal::Unavailable(self.is_gone()));
        }
        if state.open.len() >= OPEN_MAX {
            let why = format!("the client `{}` has {OPEN_MAX} open requests", self.client);
            return refused(RunnerRefusal::Overloaded(why));
        }
        let (answer, answered) = oneshot::channel();
        let open = Open { answer, sink: Arc::clone(&attempt.sink), done: None };
        state.open.insert(id.clone(), open);
        if !state.send(call) {
            state.close();
            let why = format!("the client `{}` doesn't read what it is sent", self.client);
            return refused(RunnerRefusal::Unavailable(why));
        }
        Ok((Request { line: self, id }, answered))
    }

    fn is_gone(&self) -> String {
        format!("the client `{}` is not connected", self.client)
    }

    async fn ask(&self, tool: &ToolId, attempt: &Attempt) -> End {
        let refused = |why| End::Refused(RunnerRefusal::Unavailable(why));
        let Some(tool) = self.tools.get(tool) else { return refused(self.is_gone()) };
        let Some(by) = attempt.asked_by.as_ref() else {
            return End::Host("it isn't known who asked for the call".to_owned());
        };
        if by.caller.caller.as_deref() != Some(self.owner.as_ref()) {
            return refused("the tool is another caller's".to_owned());
        }
        // The client may have come back with another tool of this name while the call waited.
        if by.digest != tool.found.descriptor.plugin.digest {
            return refused("the client offers another build of the tool by now".to_owned());
        }
        if attempt.cancel.is_cancelled() {
            return End::Refused(RunnerRefusal::Cancelled);
        }
        let due = Instant::from_std(attempt.deadline);
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return End::Refused(RunnerRefusal::TimedOut);
        }
        let (request, answered) = match self.begin(tool, attempt, left) {
            Ok(begun) => begun,
            Err(end) => return *end,
        };
        let end = tokio::select! {
            biased;
            answered = answered => match answered {
                Ok(result) => end_of(tool, &attempt.call_id, result),
                // It may have run by then.
                Err(_closed) => End::Lost(format!(
                    "the client `{}` went away while it ran the tool", self.client
                )),
            },
            () = attempt.cancel.cancelled() => End::Interrupted,
            () = tokio::time::sleep_until(due) => {
                let late = format!("the client `{}` had not answered", self.client);
                End::Guest(GuestFault::Limit(attempt.deadline_kind, late))
            }
        };
        drop(request);
        end
    }
}

impl State {
    /// Whether there was room.
    pub(super) fn send(&mut self, message: HostMessage) -> bool {
        self.out.as_ref().is_some_and(|out| out.try_send(message).is_ok())
    }

    fn close(&mut self) {
        self.out = None;
        self.open.clear();
    }
}

/// An open request. Dropped, it is open no longer, and a client that still works on it is told so.
struct Request<'a> {
    line: &'a Line,
    id: String,
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        let mut state = self.line.state();
        let request_id = std::mem::take(&mut self.id);
        if state.open.remove(&request_id).is_some()
            && !state.send(HostMessage::Cancel { request_id })
        {
            state.close();
        }
    }
}

#[async_trait::async_trait]
impl ToolRunner for Line {
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        let began = Instant::now();
        let end = self.ask(tool, &attempt).await;
        let wall_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let bytes_in = attempt.arguments.canonical().len() as u64;
        let usage = Usage { wall_ms, host_wait_ms: wall_ms, bytes_in, ..Usage::default() };
        AttemptEnd { end, usage, missing_grants: Vec::new() }
    }
}

/// An id that no other client guesses.
fn fresh_id() -> std::io::Result<String> {
    let mut random = [0_u8; ID_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
