//! A call, from its request to its response.
//!
//! What is no call of a tool that the caller sees is an error of the protocol; all else is a result.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Extensions, TASKS_EXTENSION_ID,
};
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

use super::answer::answer;
use super::asking::{can_be_asked, client_asked, elicit, is_question, wait_in_task};
use super::listing::near;
use super::message::RawArguments;
use super::progress::with_progress;
use super::server::{Asker, is_modern};
use super::shared::Shared;
use super::tasks::{Lane, Made, Running, run};
use crate::config::McpApprovals;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::clipped_line;
use crate::contract::invocation::{ApprovalMode, ToolInvocation};
use crate::contract::result::ToolResult;
use crate::frontends::access::{Access, Narrowed};
use crate::frontends::held::Held;

/// Where a request says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Bytes of a name that are repeated.
const NAME_SHOWN: usize = 100;
/// The longest trace context that is passed on: W3C's has 55 bytes, and may grow.
const TRACE_MAX_LEN: usize = 256;

/// A call that can be made, and made again.
pub(super) struct Call<'a> {
    pub(super) shared: &'a Shared,
    pub(super) access: &'a Access,
    pub(super) tool: Arc<ToolDescriptor>,
    pub(super) arguments: Arc<str>,
    pub(super) context: &'a RequestContext<RoleServer>,
    /// Cancelled once nobody hears of its progress any more.
    pub(super) quiet: Option<&'a CancellationToken>,
    /// Cancelled when it must end, and be answered; `None`: whoever makes it sees to that.
    pub(super) stop: Option<&'a CancellationToken>,
}

/// Answers `tools/call`.
pub(super) async fn call(
    shared: &Arc<Shared>,
    lane: &Lane,
    asker: &Asker,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(tool) = asker.access.tool(&shared.host, &request.name) else {
        return Err(unknown(shared, asker, &request.name));
    };
    let arguments = arguments(&request, context)?;
    if takes_tasks(context)
        && let Some(running) = lane.begin(&shared.tasks, &asker.listed)
    {
        let (shared, access) = (Arc::clone(shared), Arc::clone(&asker.access));
        let (context, held) = detached(context);
        let call = Owned { shared, access, tool, arguments, context, _held: held };
        return call.perhaps_by_task(running, lane, request).await;
    }
    let access = &asker.access;
    let call =
        Call { shared, access, tool, arguments, context, quiet: None, stop: Some(&lane.stop) };
    let mode = match shared.settings.approvals {
        McpApprovals::Client if !is_question(&call.tool) => return client_asked(&call).await,
        McpApprovals::Elicit | McpApprovals::Client if can_be_asked(context) => {
            return elicit(&call, &request).await;
        }
        McpApprovals::Deny => ApprovalMode::Deny,
        McpApprovals::Queue | McpApprovals::Elicit | McpApprovals::Client => ApprovalMode::HandBack,
    };
    call.ended(mode).await
}

/// Whether this very request says that its client takes a task for an answer.
fn takes_tasks(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.meta.get(CAPABILITIES).and_then(|it| it.get("extensions"));
    capabilities.is_some_and(|it| it.get(TASKS_EXTENSION_ID).is_some()) && is_modern(context)
}

/// The request as it goes on without its connection: what it holds of places among others is free
/// once it is answered, and only the room for its arguments goes along.
fn detached(context: &RequestContext<RoleServer>) -> (RequestContext<RoleServer>, Option<Held>) {
    let parts = context.extensions.get::<http::request::Parts>();
    let held = parts.and_then(|parts| parts.extensions.get::<Held>()).cloned();
    let mut context = context.clone();
    context.extensions = Extensions::default();
    (context, held)
}

/// A call that may outlive its request.
struct Owned {
    shared: Arc<Shared>,
    access: Arc<Access>,
    tool: Arc<ToolDescriptor>,
    arguments: Arc<str>,
    context: RequestContext<RoleServer>,
    _held: Option<Held>,
}

impl Owned {
    async fn perhaps_by_task(
        mut self,
        running: Running,
        lane: &Lane,
        request: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let gone = self.context.ct.clone();
        run(running, lane, &gone, |made| async move {
            self.context.ct = made.cancel.clone();
            self.make(&request, &made).await
        })
        .await
    }

    async fn make(
        &self,
        request: &CallToolRequestParams,
        made: &Made,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call {
            shared: &self.shared,
            access: &self.access,
            tool: Arc::clone(&self.tool),
            arguments: Arc::clone(&self.arguments),
            context: &self.context,
            quiet: Some(&made.quiet),
            stop: None,
        };
        match self.shared.settings.approvals {
            McpApprovals::Client if !is_question(&call.tool) => client_asked(&call).await,
            McpApprovals::Deny => call.ended(ApprovalMode::Deny).await,
            _ => wait_in_task(&call, request, made).await,
        }
    }
}

impl Call<'_> {
    /// Makes it, and answers with how it ended.
    pub(super) async fn ended(&self, mode: ApprovalMode) -> Result<CallToolResponse, ErrorData> {
        Ok(answer(self.make(mode).await?, &self.tool).into())
    }

    /// Makes it once, until it ends or its client wants no answer any more.
    pub(super) async fn make(&self, mode: ApprovalMode) -> Result<ToolResult, ErrorData> {
        let (shared, context) = (self.shared, self.context);
        let id = shared.call_id().ok_or_else(|| {
            ErrorData::internal_error("the call can't be named, so it isn't made", None)
        })?;
        let (name, arguments) = (self.tool.id.to_string(), &*self.arguments);
        let narrowed = Narrowed::default();
        let mut call = self.access.call(&shared.host, id.clone(), name, arguments, mode, &narrowed);
        let trace = context.meta.get_traceparent().filter(|it| it.len() <= TRACE_MAX_LEN);
        call.trace_parent = trace.map(str::to_owned);
        let running = Box::pin(self.until_stopped(call));
        Ok(match context.meta.get_progress_token() {
            Some(token) => {
                let events = shared.host.events();
                with_progress(running, events, &id, token, &context.peer, self.quiet).await
            }
            None => running.await,
        })
    }
}

impl Call<'_> {
    /// Makes the call until its client wants no answer any more, or it is stopped, which is answered.
    async fn until_stopped(&self, call: ToolInvocation) -> ToolResult {
        let host = &self.shared.host;
        let Some(stop) = self.stop else {
            return host.call_with(call, self.context.ct.clone()).await;
        };
        let cancel = self.context.ct.child_token();
        let mut running = Box::pin(host.call_with(call, cancel.clone()));
        tokio::select! {
            biased;
            result = &mut running => return result,
            () = stop.cancelled() => cancel.cancel(),
        }
        running.await
    }
}

/// The arguments as they came. Only a request that came past our own reader is without them.
fn arguments(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Arc<str>, ErrorData> {
    let parts = context.extensions.get::<http::request::Parts>();
    let beside = parts.and_then(|parts| parts.extensions.get::<RawArguments>());
    let raw = context.extensions.get::<RawArguments>().or(beside);
    match (raw, &request.arguments) {
        (Some(RawArguments(raw)), None) => Ok(Arc::clone(raw)),
        _ => Err(ErrorData::internal_error("the arguments were not looked at", None)),
    }
}

/// What an unknown name is answered with, the same whether the tool is hidden or isn't there.
fn unknown(shared: &Shared, asker: &Asker, name: &str) -> ErrorData {
    let near: Vec<_> =
        near(shared, &asker.listed, name).iter().map(|name| format!("`{name}`")).collect();
    let meant = match near.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", near.join(" or ")),
    };
    let name = clipped_line(name, NAME_SHOWN);
    ErrorData::invalid_params(format!("Unknown tool: {name}{meant}"), None)
}
