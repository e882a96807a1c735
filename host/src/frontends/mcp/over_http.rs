//! MCP over http, to be mounted where requests have been authenticated already.
//!
//! Takes whose a request is from the request's extensions, where the http frontend puts it, and
//! refuses one without. Host and Origin are that frontend's to check: it has the lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use axum::routing::{MethodRouter, any};
use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::McpFrontend;
use super::flight::Flight;
use super::message::{Faulty, Incoming, RawArguments, inspect};
use super::server::{SESSION, Server};
use super::shared::Shared;
use super::tasks::Lane;
use crate::frontends::access::Access;

type Sessions = LocalSessionManager;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

impl McpFrontend {
    /// The service, for one path of a router. Each request must carry its caller's `Arc<Access>`
    /// among its extensions. Ends its sessions and streams when `shutdown` is cancelled.
    pub fn over_http(&self, shutdown: CancellationToken) -> MethodRouter {
        let web = Arc::new(Web::new(&self.shared, shutdown));
        any(move |request: Request<Body>| {
            let web = Arc::clone(&web);
            async move { web.answer(request).await }
        })
    }
}

pub(super) struct Web {
    shared: Arc<Shared>,
    service: StreamableHttpService<Server, Sessions>,
    sessions: Arc<Sessions>,
    /// Whose each session is, and what is open in it.
    owners: Mutex<HashMap<String, Owned>>,
    /// Sessions begin one after another, so that they can be counted.
    beginning: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Owned {
    caller: Option<String>,
    flight: Arc<Flight>,
}

impl Web {
    pub(super) fn new(shared: &Arc<Shared>, shutdown: CancellationToken) -> Self {
        let bounds = &shared.settings.bounds;
        let mut session_config = SessionConfig::default();
        session_config.keep_alive = Some(bounds.session_idle);
        session_config.sse_retry = None;
        let mut sessions = Sessions::default();
        sessions.session_config = session_config;
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_sse_retry(None)
            .with_json_response(true)
            .with_max_request_body_bytes(bounds.message_bytes)
            .with_cancellation_token(shutdown.clone());
        let of = Arc::clone(shared);
        let (running, drain) = (shared.tasks.of_requests.clone(), shared.settings.drain);
        let lane = Lane { leaving: shutdown, running, drain };
        let make = move || Ok(Server::of_requests(Arc::clone(&of), lane.clone()));
        let service = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        let shared = Arc::clone(shared);
        Self {
            shared,
            service,
            sessions,
            owners: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let Some(access) = request.extensions().get::<Arc<Access>>().cloned() else {
            return refused(StatusCode::UNAUTHORIZED, "nobody is known to have sent this request");
        };
        let session = session_of(request.headers());
        let caller = access.context().caller.clone();
        let owned = session.as_ref().and_then(|it| self.owners().get(it).cloned());
        // To all but its owner a session isn't there.
        if session.is_some() && owned.as_ref().is_none_or(|owned| owned.caller != caller) {
            return refused(StatusCode::NOT_FOUND, "there is no such session");
        }
        if request.method() != Method::POST {
            return self.service.handle(request).await.map(Body::new);
        }
        self.post(request, owned, caller).await
    }

    async fn post(
        &self,
        request: Request<Body>,
        owned: Option<Owned>,
        caller: Option<String>,
    ) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let max = self.shared.settings.bounds.message_bytes;
        let Ok(body) = tokio::time::timeout(BODY_TIME, to_bytes(body, max)).await else {
            return refused(StatusCode::REQUEST_TIMEOUT, "the body didn't arrive within 30 s");
        };
        let Ok(body) = body else {
            return faulty(StatusCode::PAYLOAD_TOO_LARGE, &Faulty::too_long(max));
        };
        let (id, body, begins) = match inspect(&body) {
            Err(fault) => return faulty(StatusCode::BAD_REQUEST, &fault),
            Ok(Incoming::Call(id, params)) => {
                parts.extensions.insert::<RawArguments>(params.arguments());
                let body = params.without_arguments(&id);
                (Some(id), Body::from(body), false)
            }
            Ok(Incoming::Request { id, initialize }) => {
                (Some(id), Body::from(body.clone()), initialize)
            }
            Ok(Incoming::Notification(cancelled)) => {
                if let (Some(owned), Some(cancelled)) = (&owned, cancelled) {
                    owned.flight.cancelled(&cancelled);
                }
                (None, Body::from(body.clone()), false)
            }
            Ok(Incoming::Response) => (None, Body::from(body.clone()), false),
        };
        let begins = begins && owned.is_none();
        let _turn = if begins { Some(self.beginning.lock().await) } else { None };
        if begins
            && self.sessions.sessions.read().await.len() >= self.shared.settings.bounds.sessions
        {
            return refused(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions already");
        }
        let place = match owned.zip(id).map(|(owned, id)| Place::take(owned.flight, id)) {
            Some(Err(fault)) => return faulty(StatusCode::BAD_REQUEST, &fault),
            Some(Ok(place)) => Some(place),
            None => None,
        };
        // The length was that of the body as it came.
        parts.headers.remove(axum::http::header::CONTENT_LENGTH);
        let answer = self.service.handle(Request::from_parts(parts, body)).await;
        if begins && let Some(session) = session_of(answer.headers()) {
            self.own(session, caller).await;
        }
        match place {
            None => answer.map(Body::new),
            Some(place) => answer.map(|body| held(Body::new(body), place)),
        }
    }

    /// Notes whose a session is, and forgets those that are over.
    async fn own(&self, session: String, caller: Option<String>) {
        let flight = Arc::new(Flight::new(self.shared.settings.bounds.in_flight));
        let open = self.sessions.sessions.read().await;
        let mut owners = self.owners();
        owners.retain(|session, _| open.contains_key(session.as_str()));
        owners.insert(session, Owned { caller, flight });
    }

    fn owners(&self) -> std::sync::MutexGuard<'_, HashMap<String, Owned>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION)?.to_str().ok().map(str::to_owned)
}

/// A request's place among the open ones of its session, until its answer is through.
struct Place {
    flight: Arc<Flight>,
    id: RequestId,
    /// Whether the whole answer was taken.
    through: bool,
}

impl Place {
    fn take(flight: Arc<Flight>, id: RequestId) -> Result<Self, Faulty> {
        match flight.enter(&id) {
            Ok(()) => Ok(Self { flight, id, through: false }),
            Err(error) => Err(Faulty::refused(id, error)),
        }
    }

    fn saw<T>(&mut self, part: &Poll<Option<T>>) {
        self.through |= matches!(part, Poll::Ready(None));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.through {
            return self.flight.answered(&self.id);
        }
        // Its call may go on without its stream, and what it answers then must not reach another
        // request of this id.
        self.flight.cancelled(&self.id);
    }
}

/// The same body, which keeps its request's place while it is read.
fn held(body: Body, mut place: Place) -> Body {
    let mut parts = body.into_data_stream();
    Body::from_stream(poll_fn(move |context| {
        let part = parts.poll_next_unpin(context);
        // By a method, so that the place as a whole is held here.
        place.saw(&part);
        part
    }))
}

fn refused(status: StatusCode, why: &str) -> Response<Body> {
    let body = serde_json::json!({ "error": why }).to_string();
    with_json(status, body.into())
}

fn faulty(status: StatusCode, fault: &Faulty) -> Response<Body> {
    with_json(status, fault.to_line())
}

fn with_json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let json = axum::http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
