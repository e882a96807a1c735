//! What every request passes before any route: the name it asks under, and the page it comes from.
//!
//! A web page can make a browser send requests to this machine; under a name or from an origin that
//! isn't ours they end here (RUSTSEC-2026-0189 is what happens without). Knows no token.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::problem::Problem;
use crate::config::ServeSettings;

/// Where a connection comes from. Who accepts connections puts it into each request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

impl Peer {
    /// Whether a request comes from this machine itself; one without a peer doesn't.
    pub(super) fn is_loopback(request: &Request) -> bool {
        let peer = request.extensions().get::<Self>();
        peer.is_some_and(|Self(address)| address.ip().to_canonical().is_loopback())
    }
}

/// Names and origins that are ours.
#[derive(Debug)]
pub(super) struct Doors {
    hosts: Vec<String>,
    own_origins: Vec<String>,
    origins: Vec<String>,
}

/// What a page of a listed origin may send.
const ALLOWED_HEADERS: &str = "authorization, content-type, last-event-id, traceparent, \
                               mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";
/// What it may read of an answer.
const EXPOSED_HEADERS: &str = "location, retry-after, mcp-session-id";

impl Doors {
    /// The names of a server that listens at `local`, and those that the operator added.
    pub(super) fn new(local: SocketAddr, serve: &ServeSettings) -> Self {
        let port = local.port();
        let mut hosts = Vec::new();
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            hosts.push(format!("{name}:{port}"));
            // A client leaves the port of the scheme out.
            if port == 80 {
                hosts.push(name.to_owned());
            }
        }
        let own_origins = hosts.iter().map(|host| format!("http://{host}")).collect();
        for name in &serve.hosts {
            hosts.push(name.to_ascii_lowercase());
            hosts.push(format!("{}:{port}", name.to_ascii_lowercase()));
        }
        let origins = serve.origins.iter().map(|it| it.to_ascii_lowercase()).collect();
        Self { hosts, own_origins, origins }
    }

    fn check_host(&self, request: &Request) -> Result<(), Problem> {
        let mut named = request.headers().get_all(header::HOST).iter();
        let one = named.next().filter(|_| named.next().is_none());
        let one = one.and_then(|host| host.to_str().ok());
        // A request whose target names a host itself is judged by that as well.
        let target = request.uri().authority().map(|it| it.as_str());
        let is_ours = |host: &str| self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host));
        if one.is_some_and(is_ours) && target.is_none_or(is_ours) {
            return Ok(());
        }
        Err(Problem::forbidden(
            "the header `Host` doesn't name this server: expected `localhost`, `127.0.0.1` or \
             `[::1]` with its port, or a name under `serve.hosts`",
        ))
    }

    /// The origin, where it is one that may read answers.
    fn check_origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, Problem> {
        let mut named = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = named.next() else { return Ok(None) };
        let text = origin.to_str().ok().filter(|_| named.next().is_none());
        let is_in = |list: &[String]| {
            text.is_some_and(|text| list.iter().any(|it| it.eq_ignore_ascii_case(text)))
        };
        if is_in(&self.origins) {
            return Ok(Some(origin.clone()));
        }
        if is_in(&self.own_origins) {
            return Ok(None);
        }
        Err(Problem::forbidden(
            "the header `Origin` names a page that may not speak to this server: its origin is \
             not under `serve.origins`",
        ))
    }
}

/// The layer.
pub(super) async fn pass(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let doors = &shared.doors;
    let checked = doors.check_host(&request).and_then(|()| doors.check_origin(request.headers()));
    let origin = match checked {
        Ok(origin) => origin,
        Err(problem) => return hardened(problem.into_response()),
    };
    let Some(origin) = origin else { return hardened(next.run(request).await) };
    let asked = header::ACCESS_CONTROL_REQUEST_METHOD;
    let preflight = request.method() == Method::OPTIONS && request.headers().contains_key(asked);
    let mut response = match preflight {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let mut say = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    say(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    if preflight {
        say(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE");
        say(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
        say(header::ACCESS_CONTROL_MAX_AGE, "600");
    }
    hardened(response)
}

/// Nothing here is to be guessed at or kept by whoever passes it on.
fn hardened(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(no_store);
    response
}
