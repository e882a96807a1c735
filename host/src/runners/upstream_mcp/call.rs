//! One attempt at a server's tool: handed over, awaited, cancelled, and its end put into a type.
//!
//! Never calls a tool that isn't the one that was checked and let through.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, RequestMetaObject,
    ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};

use super::answer::{crashed, end_of};
use super::connect::Unsent;
use super::link::{Link, Spoilt};
use super::state::{Known, Reach, Shared};
use crate::contract::attempt::{Answer, Attempt, AttemptEnd, End, GuestFault, RunnerRefusal};
use crate::contract::escape::clipped_line;
use crate::contract::ids::ToolId;
use crate::contract::limits::LimitKind;
use crate::contract::result::Usage;
use crate::engine::ports::ToolRunner;

/// How long the word that a call is cancelled may take to get out.
const CANCEL_MAX: Duration = Duration::from_secs(2);
/// Longest word of a server's error that is handed on, in bytes.
const ERROR_MAX_LEN: usize = 2_000;

/// Runs the tools of one server.
pub(super) struct ServerRunner(pub(super) Arc<Shared>);

#[async_trait::async_trait]
impl ToolRunner for ServerRunner {
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        let began = Instant::now();
        let deadline = attempt.deadline.into();
        let end = tokio::select! {
            biased;
            end = self.end(tool, &attempt) => end,
            () = attempt.cancel.cancelled() => End::Interrupted,
            () = tokio::time::sleep_until(deadline) => {
                let waited = "the server hadn't answered".to_owned();
                End::Guest(GuestFault::Limit(attempt.deadline_kind, waited))
            }
        };
        let wall_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let bytes_in = attempt.arguments.canonical().len() as u64;
        let usage = Usage { wall_ms, host_wait_ms: wall_ms, bytes_in, ..Usage::default() };
        AttemptEnd { end, usage, missing_grants: Vec::new() }
    }
}

fn unavailable(why: String) -> End {
    End::Refused(RunnerRefusal::Unavailable(why))
}

impl ServerRunner {
    /// The end, where nothing cuts it off. What is dropped half-way cancels its request.
    async fn end(&self, tool: &ToolId, attempt: &Attempt) -> End {
        let shared = &self.0;
        let name = &shared.server.name;
        let turn = tokio::select! {
            turn = shared.permits.acquire() => turn,
            () = attempt.cancel.cancelled() => return End::Refused(RunnerRefusal::Cancelled),
            () = tokio::time::sleep_until(attempt.deadline.into()) => {
                return End::Refused(RunnerRefusal::TimedOut);
            }
        };
        let Ok(_turn) = turn else { return unavailable(format!("the server `{name}` has ended")) };
        let reach = match shared.reach() {
            Ok(reach) => reach,
            Err(why) => return unavailable(format!("the server `{name}` isn't there: {why}")),
        };
        let Some(known) = shared.known(tool) else {
            return unavailable(format!("the server `{name}` no longer offers the tool"));
        };
        let let_through = attempt.asked_by.as_ref().map(|asked| asked.digest);
        if let_through != Some(known.digest) {
            let why = "what the server says of the tool has changed since the call was checked";
            return unavailable(why.to_owned());
        }
        ask(&reach, &known, attempt).await
    }
}

/// Hands the call over and waits for its answer.
async fn ask(reach: &Reach, known: &Known, attempt: &Attempt) -> End {
    let arguments = attempt.arguments.value().clone();
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(
        CallToolRequestParams::new(known.original.clone()).with_arguments(arguments),
    ));
    let mut options = PeerRequestOptions::no_options();
    if let Some(trace) = attempt.asked_by.as_ref().and_then(|asked| asked.trace_parent.as_ref()) {
        let mut meta = RequestMetaObject::default();
        meta.set_traceparent(trace.as_str());
        options = options.with_meta(meta);
    }
    let handle = match reach.peer.send_cancellable_request(request, options).await {
        Ok(handle) => handle,
        Err(_closed) => {
            return unavailable(format!("the server isn't there: {}", reach.link.why()));
        }
    };
    reach.link.follow(handle.progress_token.clone(), Arc::clone(&attempt.sink));
    let mut flight = InFlight { link: Arc::clone(&reach.link), handle: Some(handle) };
    let Some(handle) = flight.handle.as_mut() else { return End::Interrupted };
    let answer = tokio::select! {
        biased;
        answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
        () = reach.link.gone.cancelled() => Err(ServiceError::TransportClosed),
    };
    let spoilt = flight.landed();
    match answer {
        Ok(result) => settled(result, known, attempt),
        Err(error) => failed(&error, spoilt, reach),
    }
}

fn settled(result: ServerResult, known: &Known, attempt: &Attempt) -> End {
    let output = known.output.as_deref();
    match result {
        ServerResult::CallToolResult(result) => end_of(&attempt.call_id, result, output),
        // A result without any content.
        ServerResult::EmptyResult(_) => end_of(&attempt.call_id, CallToolResult::default(), output),
        ServerResult::InputRequiredResult(_) => said_no(
            "the server asks for further input, which belljar hands on to nobody".to_owned(),
        ),
        _ => crashed("the server answered with something else than a tool's result".to_owned()),
    }
}

fn said_no(content: String) -> End {
    End::Answered(Answer { is_error: true, content, ..Answer::default() })
}

fn overlong(max: usize) -> End {
    let used = format!("the server answered with more than {max} bytes");
    End::Guest(GuestFault::Limit(LimitKind::OutputKept, used))
}

fn unreadable() -> End {
    crashed("the server's answer is no message of the protocol".to_owned())
}

fn failed(error: &ServiceError, spoilt: Option<Spoilt>, reach: &Reach) -> End {
    match (error, spoilt) {
        (_, Some(Spoilt::Overlong(max))) => overlong(max),
        (_, Some(Spoilt::Unreadable)) => unreadable(),
        (ServiceError::McpError(error), None) => {
            let message = clipped_line(&error.message, ERROR_MAX_LEN);
            said_no(format!("the server refused the call (error {}): {message}", error.code.0))
        }
        (ServiceError::TransportSend(unsent), None) => match (reach.classify)(&*unsent.error) {
            Unsent::Overlong(max) => overlong(max),
            Unsent::Unreadable => unreadable(),
            Unsent::Certainly => {
                unavailable("the server can't be reached: the connection was refused".to_owned())
            }
            Unsent::Perhaps => {
                let why = clipped_line(&unsent.error.to_string(), ERROR_MAX_LEN);
                End::Lost(format!("the server couldn't be asked, or didn't answer: {why}"))
            }
        },
        (ServiceError::TransportClosed, None) if reach.link.is_broken() => {
            crashed(format!("the server couldn't be understood any more: {}", reach.link.why()))
        }
        (ServiceError::TransportClosed, None) => {
            End::Lost(format!("the server went away during the call: {}", reach.link.why()))
        }
        (other, None) => End::Lost(format!(
            "the server didn't answer: {}",
            clipped_line(&other.to_string(), ERROR_MAX_LEN)
        )),
    }
}

/// A request that is on its way. Dropped before its answer, it is cancelled.
struct InFlight {
    link: Arc<Link>,
    handle: Option<RequestHandle<RoleClient>>,
}

impl InFlight {
    /// The answer came, or none will; whether it was spoilt.
    fn landed(&mut self) -> Option<Spoilt> {
        let handle = self.handle.take()?;
        self.link.forget(&handle.progress_token, &handle.id)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.link.forget(&handle.progress_token, &handle.id);
        // Outside a runtime the server is gone too.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let why = Some("nobody waits for the answer any more".to_owned());
                let _late = tokio::time::timeout(CANCEL_MAX, handle.cancel(why)).await;
            });
        }
    }
}
