//! A call, from its request to its response.
//!
//! What is no call of a tool that the caller sees is an error of the protocol; all else is a result.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData};
use rmcp::service::RequestContext;

use super::answer::answer;
use super::asking::{can_be_asked, client_asked, elicit, is_question};
use super::listing::near;
use super::message::RawArguments;
use super::progress::with_progress;
use super::server::Asker;
use super::shared::Shared;
use crate::config::McpApprovals;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::clipped_line;
use crate::contract::invocation::ApprovalMode;
use crate::contract::result::ToolResult;
use crate::frontends::access::{Access, Narrowed};

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
}

/// Answers `tools/call`.
pub(super) async fn call(
    shared: &Shared,
    asker: &Asker,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(tool) = asker.access.tool(&shared.host, &request.name) else {
        return Err(unknown(shared, asker, &request.name));
    };
    let arguments = arguments(&request, context)?;
    let call = Call { shared, access: &asker.access, tool, arguments, context };
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
        let running = Box::pin(shared.host.call_with(call, context.ct.clone()));
        Ok(match context.meta.get_progress_token() {
            Some(token) => {
                with_progress(running, shared.host.events(), &id, token, &context.peer).await
            }
            None => running.await,
        })
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
