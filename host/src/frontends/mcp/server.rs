//! What `rmcp` asks of a server, handed to those who know: lists, calls, resources, subscriptions.
//!
//! One for each connection, each session and each request without either. Holds no state of calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use http::request::Parts;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskMethod, CancelTaskParams,
    ConstString, CustomRequest, CustomResult, DiscoverResult, ErrorData, GetTaskMethod,
    GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams, InitializeResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscriptionFilter, UpdateTaskMethod, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::shared::Shared;
use super::tasks::Lane;
use super::{call, listen, listing, methods, resources};
use crate::frontends::access::Access;

/// The header that names a session of the older era.
pub(super) const SESSION: &str = "mcp-session-id";
/// A server for one client.
pub(super) struct Server {
    pub(super) shared: Arc<Shared>,
    /// Whose connection it is; `None`: each request says so, over http.
    access: Option<Arc<Access>>,
    /// The session of the older era over http that this serves.
    session: OnceLock<String>,
    /// Whether its client is told of tools that come and go.
    told: AtomicBool,
    closing: CancellationToken,
    /// Where its calls run that outlive their requests.
    lane: Lane,
    /// What was started for this client ends with it.
    _ends: DropGuard,
}

/// Whose a request is.
pub(super) struct Asker {
    /// As it was handed to us: lists are kept by it.
    pub(super) listed: Arc<Access>,
    /// The same, in the request's session.
    pub(super) access: Arc<Access>,
}

impl Server {
    /// A server of one connection.
    pub(super) fn of_connection(shared: Arc<Shared>, access: Arc<Access>) -> Self {
        let closing = CancellationToken::new();
        let (leaving, drain) = (closing.clone(), shared.settings.drain);
        let (stop, running) = (CancellationToken::new(), TaskTracker::new());
        let lane = Lane { leaving, stop, running, drain };
        Self::new(shared, Some(access), lane, closing)
    }

    /// A server whose requests each bring their access along.
    #[cfg(feature = "http")]
    pub(super) fn of_requests(shared: Arc<Shared>, lane: Lane) -> Self {
        Self::new(shared, None, lane, CancellationToken::new())
    }

    fn new(
        shared: Arc<Shared>,
        access: Option<Arc<Access>>,
        lane: Lane,
        closing: CancellationToken,
    ) -> Self {
        let ends = closing.clone().drop_guard();
        let (session, told) = (OnceLock::new(), AtomicBool::new(false));
        Self { shared, access, session, told, closing, lane, _ends: ends }
    }

    /// Where its tasks run.
    pub(super) fn lane(&self) -> Lane {
        self.lane.clone()
    }

    /// Cancelled when no more requests come.
    pub(super) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Whose a request is.
    pub(super) fn asker(&self, context: &RequestContext<RoleServer>) -> Result<Asker, ErrorData> {
        if let Some(access) = &self.access {
            return Ok(Asker { listed: Arc::clone(access), access: Arc::clone(access) });
        }
        let parts = context.extensions.get::<Parts>();
        let access = parts.and_then(|parts| parts.extensions.get::<Arc<Access>>());
        let listed = access.cloned().ok_or_else(|| {
            ErrorData::invalid_request("nobody is known to have sent this request", None)
        })?;
        // The newer era has no sessions, whatever the header says.
        let parts = parts.filter(|_| !is_modern(context));
        let session = parts.and_then(|parts| parts.headers.get(SESSION)?.to_str().ok());
        let access = match session {
            Some(session) => {
                self.session.get_or_init(|| session.to_owned());
                Arc::new(listed.as_ref().clone().in_session(session))
            }
            None => Arc::clone(&listed),
        };
        Ok(Asker { listed, access })
    }

    /// Whose tasks a request may ask for: those of the same connection, or token.
    fn owner<M: ConstString>(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Arc<Access>, ErrorData> {
        match is_modern(context) {
            true => Ok(self.asker(context)?.listed),
            false => Err(ErrorData::method_not_found::<M>()),
        }
    }

    fn instructions(&self, asker: &Asker) -> String {
        let tools = asker.listed.tools(&self.shared.host);
        let mut plugins: Vec<_> = tools.iter().map(|tool| tool.id.plugin.as_str()).collect();
        plugins.dedup();
        let (count, plugins) = (tools.len(), plugins.join(", "));
        format!(
            "{count} tools ({plugins}). Each call runs alone, within limits that its errors name. A \
             call that a person has to approve says so: repeat the identical call once it is \
             approved. What is too long for a result stands under its belljar:// address."
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let (Some(session), Ok(runtime)) =
            (self.session.take(), tokio::runtime::Handle::try_current())
        {
            let shared = Arc::clone(&self.shared);
            runtime.spawn(async move { shared.end_session(session).await });
        }
    }
}

/// Whether a request is of the era without handshakes.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_tasks()
            .build();
        let belljar = Implementation::new("belljar", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(belljar)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let asker = self.asker(&context)?;
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // The older era's tasks were others, and there are none of either here.
        result.capabilities.extensions = None;
        Ok(result.with_instructions(self.instructions(&asker)))
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let asker = self.asker(&context)?;
        let config = self.get_info().with_instructions(self.instructions(&asker));
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, config).with_ttl_ms(listing::TTL_MS))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let asker = self.asker(&context)?;
        let cursor = request.and_then(|it| it.cursor);
        let mut page = listing::tools(&self.shared, &asker.listed, cursor.as_deref())?;
        if is_modern(&context) {
            page = page.with_ttl_ms(listing::TTL_MS).with_cache_scope(CacheScope::Private);
        }
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asker = self.asker(&context)?;
        // Boxed: `rmcp` moves what it awaits through several futures of its own.
        Box::pin(call::call(&self.shared, &self.lane, &asker, request, &context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let asker = self.asker(&context)?;
        resources::list(&self.shared, &asker.access, request.and_then(|it| it.cursor).as_deref())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.asker(&context)?;
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let asker = self.asker(&context)?;
        resources::read(&self.shared, &asker.access, &request.uri)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let owner = self.owner::<GetTaskMethod>(&context)?;
        self.shared.tasks.get(&owner, &request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let owner = self.owner::<UpdateTaskMethod>(&context)?;
        self.shared.tasks.update(&owner, &request.task_id, &request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let owner = self.owner::<CancelTaskMethod>(&context)?;
        self.shared.tasks.cancel(&owner, &request.task_id)
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.asker(context.request_context())?;
        listen::subscription(&self.shared, &context, &self.closing).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Said once or often, one is told once.
        if !self.told.swap(true, Ordering::Relaxed) {
            listen::session(&self.shared, context.peer, self.closing.clone());
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(methods::refused(&request.method, is_modern(&context)))
    }
}
