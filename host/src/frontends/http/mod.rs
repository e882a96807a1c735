//! The http API: JSON over HTTP/1.1, for programs and for people who approve.
//!
//! Makes the same invocation as every way in and runs no tool itself. Who calls, at which level and
//! with which tools comes from the token; a request can only narrow it.

mod admit;
mod background;
mod body;
mod budget;
pub mod client;
mod connection;
mod doors;
mod error;
mod guarded;
mod hub;
mod lane;
mod openapi;
mod problem;
mod routes;
mod server;
mod stream;
mod tokens;
mod untaken;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;

pub use self::error::HttpError;
/// What [`HttpFrontend::router`] takes and gives, for modules that may not know its crate.
pub use axum::Router;

use self::background::Background;
use self::budget::BodyBudget;
use self::doors::Doors;
use self::hub::EventHub;
use self::problem::Problem;
use self::tokens::Tokens;
use crate::app::{audit_folder, redactor};
use crate::config::Config;
use crate::contract::ids::CallId;
use crate::contract::limits::LimitKind;
use crate::events::{Redactor, unix_ms};
use crate::host::Host;

/// Exports of the audit log at once: each occupies a thread.
const EXPORTS_AT_ONCE: usize = 4;
/// Room in a body beside the arguments.
const BODY_ROOM: usize = 64 << 10;

/// What the API is made of.
#[derive(Debug)]
pub struct HttpParts {
    /// The host it speaks for.
    pub host: Host,
    /// Who may speak, and what they see.
    pub config: Arc<Config>,
    /// The address that is listened on: its port is part of the names it answers to.
    pub local: SocketAddr,
    /// The sets of tools that are shown of all; `None`: every tool.
    pub expose: Option<Vec<String>>,
}

/// The API. Clones are the same.
#[derive(Debug, Clone)]
pub struct HttpFrontend(Arc<Shared>);

/// What all routes have.
#[derive(Debug)]
struct Shared {
    host: Host,
    config: Arc<Config>,
    tokens: Tokens,
    doors: Doors,
    hub: Arc<EventHub>,
    background: Background,
    redactor: Redactor,
    audit: Option<PathBuf>,
    exports: Arc<Semaphore>,
    /// Bytes of a body.
    body_max: usize,
    /// Bytes of all bodies.
    bodies: BodyBudget,
    description: Bytes,
    /// Streams end now.
    closing: CancellationToken,
    /// Calls end now.
    stop: CancellationToken,
    ids: CallNames,
}

/// Ids for calls that come without one, which no other process makes.
#[derive(Debug)]
struct CallNames {
    prefix: String,
    last: AtomicU64,
}

impl CallNames {
    fn new() -> Self {
        let prefix = format!("http-{:x}-{:x}", unix_ms(), std::process::id());
        Self { prefix, last: AtomicU64::new(0) }
    }

    fn next(&self) -> Result<CallId, Problem> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{}-{number:x}", self.prefix).parse().map_err(|_not_an_id| Problem::fault())
    }
}

impl HttpFrontend {
    /// Reads the tokens and begins to watch the host's events. Only within a tokio runtime.
    ///
    /// # Errors
    /// A token that can't be had, and a caller or a set of tools that isn't there.
    pub fn new(parts: HttpParts) -> Result<Self, HttpError> {
        let HttpParts { host, config, local, expose } = parts;
        let body_max = body_max(&host);
        let bodies = BodyBudget::new(body_max);
        let tokens = Tokens::read(&config, &host, expose.as_deref(), &bodies)?;
        // What is too short to be looked for is told of where the audit log is opened.
        let (redactor, _findings) = redactor(&config);
        let closing = CancellationToken::new();
        let hub = EventHub::start(&host, tokens.callers(), redactor.clone(), closing.clone());
        Ok(Self(Arc::new(Shared {
            doors: Doors::new(local, &config.serve),
            body_max,
            bodies,
            audit: audit_folder(&config),
            exports: Arc::new(Semaphore::new(EXPORTS_AT_ONCE)),
            description: openapi::description()?,
            background: Background::default(),
            stop: CancellationToken::new(),
            ids: CallNames::new(),
            host,
            config,
            tokens,
            hub,
            redactor,
            closing,
        })))
    }

    /// The routes, and beside them `for_callers`: what speaks another protocol and serves callers,
    /// such as MCP at `/mcp`. A request gets there only by the same doors and with the role
    /// `caller`, and finds an `Arc<Access>` in its extensions.
    pub fn router(&self, for_callers: Router) -> Router {
        let shared = &self.0;
        let own = routes::all()
            .into_iter()
            .fold(Router::new(), |router, route| router.route(route.path, route.admitting(shared)));
        let own = own.fallback(nothing_here).method_not_allowed_fallback(no_such_method);
        let body_max = RequestBodyLimitLayer::new(shared.body_max);
        let for_callers = for_callers
            .layer(body_max)
            .layer(from_fn_with_state(Arc::clone(shared), admit::callers));
        own.with_state(Arc::clone(shared))
            .merge(for_callers)
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn_with_state(Arc::clone(shared), doors::pass))
    }
}

/// The longest arguments that any tool takes. As text inside a body they can double in length.
fn body_max(host: &Host) -> usize {
    let default = usize::try_from(LimitKind::ArgumentBytes.facts().default).unwrap_or(usize::MAX);
    let of = |limits: &crate::contract::limits::Limits| limits.size(LimitKind::ArgumentBytes);
    let tools = host.tools();
    let most = tools.iter().map(|tool| of(&tool.descriptor.limits)).max().unwrap_or(0);
    2 * most.max(default) + BODY_ROOM
}

async fn nothing_here() -> Problem {
    Problem::not_found("there is nothing at this path: see /openapi.json")
}

async fn no_such_method() -> Problem {
    let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
    Problem::new(status, "this path doesn't take this method: see /openapi.json")
}

#[expect(clippy::needless_pass_by_value, reason = "the shape tower-http calls")]
fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let words = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!("a request failed in the host: {words}");
    Problem::fault().into_response()
}

#[cfg(test)]
mod tests;
