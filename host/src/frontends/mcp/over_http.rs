//! MCP over http, to be mounted where requests have been authenticated already.
//!
//! Takes whose a request is from the request's extensions, where the http frontend puts it, and
//! refuses one without. Host and Origin are that frontend's to check: it has the lists.

mod place;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use axum::routing::{MethodRouter, any};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use self::place::{Place, Places, held};
use super::McpFrontend;
use super::flight::Flight;
use super::message::{Faulty, Incoming, RawArguments, inspect};
use super::server::{SESSION, Server};
use super::shared::Shared;
use super::tasks::Lane;
use crate::frontends::access::Access;

type Sessions = LocalSessionManager;

/// How long answers of calls that were cancelled may still be taken.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

impl McpFrontend {
    /// The service, for one path of a router. Each request must carry its caller's `Arc<Access>`
    /// among its extensions, and all of one token the very same: sessions and tasks are theirs who
    /// come by it. When `shutdown` is cancelled, calls may end within [`McpSettings::drain`]; what
    /// still runs is cancelled and answered, and then sessions and streams end. Must be called
    /// within a runtime.
    ///
    /// [`McpSettings::drain`]: super::McpSettings::drain
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
    /// Places of requests outside of sessions, by caller.
    places: Places,
    /// Sessions begin one after another, so that they can be counted.
    beginning: tokio::sync::Mutex<()>,
    /// Calls whose answers are not through.
    calls: TaskTracker,
    /// Ends all at once, where it goes before `shutdown`.
    _ends: DropGuard,
    _leaving: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct Owned {
    access: Arc<Access>,
    flight: Arc<Flight>,
}

impl Web {
    pub(super) fn new(shared: &Arc<Shared>, shutdown: CancellationToken) -> Self {
        let bounds = &shared.settings.bounds;
        let ends = CancellationToken::new();
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
            .with_cancellation_token(ends.clone());
        let of = Arc::clone(shared);
        let (running, drain) = (shared.tasks.of_requests.clone(), shared.settings.drain);
        let lane = Lane { leaving: shutdown, stop: CancellationToken::new(), running, drain };
        let calls = TaskTracker::new();
        let leaving = tokio::spawn(leave(lane.clone(), calls.clone(), ends.clone()));
        let make = move || Ok(Server::of_requests(Arc::clone(&of), lane.clone()));
        let service = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        let in_flight = bounds.in_flight;
        let shared = Arc::clone(shared);
        Self {
            shared,
            service,
            sessions,
            owners: Mutex::default(),
            places: Places::new(in_flight),
            beginning: tokio::sync::Mutex::default(),
            calls,
            _ends: ends.drop_guard(),
            _leaving: AbortOnDropHandle::new(leaving),
        }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let Some(access) = request.extensions().get::<Arc<Access>>().cloned() else {
            return refused(StatusCode::UNAUTHORIZED, "nobody is known to have sent this request");
        };
        let session = session_of(request.headers());
        let owned = session.as_ref().and_then(|it| self.owners().get(it).cloned());
        // To all but its owner a session isn't there.
        let is_its = |owned: &Owned| Arc::ptr_eq(&owned.access, &access);
        if session.is_some() && !owned.as_ref().is_some_and(is_its) {
            return refused(StatusCode::NOT_FOUND, "there is no such session");
        }
        if request.method() != Method::POST {
            return self.service.handle(request).await.map(Body::new);
        }
        self.post(request, owned, access).await
    }

    async fn post(
        &self,
        request: Request<Body>,
        owned: Option<Owned>,
        access: Arc<Access>,
    ) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let max = self.shared.settings.bounds.message_bytes;
        let Ok(body) = tokio::time::timeout(BODY_TIME, to_bytes(body, max)).await else {
            return refused(StatusCode::REQUEST_TIMEOUT, "the body didn't arrive within 30 s");
        };
        let Ok(body) = body else {
            return faulty(StatusCode::PAYLOAD_TOO_LARGE, &Faulty::too_long(max));
        };
        let mut call = None;
        let (id, body, begins) = match inspect(&body) {
            Err(fault) => return faulty(StatusCode::BAD_REQUEST, &fault),
            Ok(Incoming::Call(id, params)) => {
                call = Some(self.calls.token());
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
        let asked = id.clone();
        let place = match id.map(|id| self.place(owned, &access, id)) {
            Some(Err((status, fault))) => return faulty(status, &fault),
            Some(Ok(place)) => Some(place),
            None => None,
        };
        let _turn = if begins { Some(self.beginning.lock().await) } else { None };
        if begins && let Some((status, fault)) = self.too_many_sessions(&access, asked).await {
            return faulty(status, &fault);
        }
        // The length was that of the body as it came.
        parts.headers.remove(axum::http::header::CONTENT_LENGTH);
        let answer = self.service.handle(Request::from_parts(parts, body)).await;
        if begins && let Some(session) = session_of(answer.headers()) {
            self.own(session, access).await;
        }
        match place {
            None => answer.map(Body::new),
            Some(place) => answer.map(|body| held(Body::new(body), place, call)),
        }
    }

    /// The place of a request among the open ones: of its session, or of its caller's without one.
    fn place(
        &self,
        owned: Option<Owned>,
        access: &Access,
        id: RequestId,
    ) -> Result<Place, (StatusCode, Faulty)> {
        match owned {
            Some(Owned { flight, .. }) => Place::of_session(flight, id),
            None => self.places.place(access.context().caller.clone(), id),
        }
    }

    /// Why no session may begin, where none may.
    async fn too_many_sessions(
        &self,
        access: &Access,
        id: Option<RequestId>,
    ) -> Option<(StatusCode, Faulty)> {
        let bounds = &self.shared.settings.bounds;
        let open = self.sessions.sessions.read().await;
        if open.len() >= bounds.sessions {
            let fault = Faulty::too_many(id, "there are too many sessions already");
            return Some((StatusCode::SERVICE_UNAVAILABLE, fault));
        }
        let (owners, caller) = (self.owners(), &access.context().caller);
        let own = owners.iter().filter(|(session, owned)| {
            owned.access.context().caller == *caller && open.contains_key(session.as_str())
        });
        (own.count() >= bounds.sessions_of_one).then(|| {
            let max = bounds.sessions_of_one;
            let why = format!("this caller has {max} sessions already: end one, or use one again");
            (StatusCode::TOO_MANY_REQUESTS, Faulty::too_many(id, why))
        })
    }

    /// Notes whose a session is, and forgets those that are over.
    async fn own(&self, session: String, access: Arc<Access>) {
        let flight = Arc::new(Flight::new(self.shared.settings.bounds.in_flight));
        let open = self.sessions.sessions.read().await;
        let mut owners = self.owners();
        owners.retain(|session, _| open.contains_key(session.as_str()));
        owners.insert(session, Owned { access, flight });
    }

    fn owners(&self) -> std::sync::MutexGuard<'_, HashMap<String, Owned>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets calls end when nothing more is asked, then ends what is left.
async fn leave(lane: Lane, calls: TaskTracker, ends: CancellationToken) {
    lane.leaving.cancelled().await;
    calls.close();
    if tokio::time::timeout(lane.drain, calls.wait()).await.is_err() {
        lane.stop.cancel();
        // Who doesn't take its answer is not waited for any longer.
        tokio::time::timeout(LAST_WORDS, calls.wait()).await.ok();
    }
    ends.cancel();
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION)?.to_str().ok().map(str::to_owned)
}

/// The same for what is no request that may be made. Each refusal of ours is an error of JSON-RPC.
fn refused(status: StatusCode, why: &'static str) -> Response<Body> {
    faulty(status, &Faulty::request(None, why))
}

fn faulty(status: StatusCode, fault: &Faulty) -> Response<Body> {
    let body = fault.to_line();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let json = axum::http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
