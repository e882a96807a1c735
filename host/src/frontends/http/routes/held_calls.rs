//! Background calls: how one stands, and its end.
//!
//! Whoever didn't make a call doesn't learn that there is one.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{delete, get, post};
use serde::{Deserialize, Serialize};

use super::{CALLERS, route};
use crate::contract::ids::CallId;
use crate::contract::result::ToolResult;
use crate::frontends::access::Access;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::background::Found;
use crate::frontends::http::body::{Asked, Named, json};
use crate::frontends::http::problem::Problem;

/// The longest that an answer is waited for, in milliseconds.
const WAIT_MAX_MS: u64 = 60_000;

pub(super) fn routes() -> [Route; 3] {
    [
        route(Method::GET, "/v1/calls/{id}", CALLERS, get(show)),
        route(Method::DELETE, "/v1/calls/{id}", CALLERS, delete(cancel)),
        route(Method::POST, "/v1/calls/{id}/cancel", CALLERS, post(cancel)),
    ]
}

/// How a call stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Standing<'a> {
    call_id: &'a CallId,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Arc<Shown>>,
}

/// A result that is shared, in its own form.
#[derive(Debug)]
struct Shown(Arc<ToolResult>);

impl Serialize for Shown {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'a> Standing<'a> {
    /// It has begun.
    pub(super) fn running(call_id: &'a CallId) -> Self {
        Self { call_id, state: "running", result: None }
    }
}

/// Where a call is looked up.
pub(super) fn location(id: &CallId) -> String {
    let mut path = String::from("/v1/calls/");
    for byte in id.as_str().bytes() {
        // The unreserved characters of RFC 3986, section 2.3.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Waiting {
    /// How long, in milliseconds.
    wait: Option<u64>,
}

fn find(shared: &Shared, access: &Access, id: &str) -> Result<(CallId, Found), Problem> {
    let nothing = || Problem::not_found("this caller has no background call of that id");
    let id: CallId = id.parse().map_err(|_not_an_id| nothing())?;
    let found = shared.background.find(access.context().caller.as_deref(), &id);
    found.map(|found| (id, found)).ok_or_else(nothing)
}

async fn show(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    Named(id): Named<String>,
    Asked(Waiting { wait }): Asked<Waiting>,
) -> Result<Response, Problem> {
    if wait.is_some_and(|ms| ms > WAIT_MAX_MS) {
        return Err(Problem::bad_request(format!("`wait` must be 0 to {WAIT_MAX_MS}")));
    }
    let (id, mut found) = find(&shared, &access, &id)?;
    let wait = Duration::from_millis(wait.unwrap_or(0));
    if found.result.borrow().is_none() && !wait.is_zero() {
        tokio::select! {
            // Whoever told it may be gone, and then it is there.
            _ = found.result.wait_for(Option::is_some) => {}
            () = tokio::time::sleep(wait) => {}
            () = shared.closing.cancelled() => {}
        }
    }
    let result = found.result.borrow().clone();
    Ok(json(
        StatusCode::OK,
        &match result {
            None => Standing::running(&id),
            Some(result) => {
                Standing { call_id: &id, state: "ended", result: Some(Arc::new(Shown(result))) }
            }
        },
    ))
}

/// Ends a call. One that has ended stays as it is.
async fn cancel(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let (id, found) = find(&shared, &access, &id)?;
    found.cancel.cancel();
    let state = if found.result.borrow().is_some() { "ended" } else { "cancelling" };
    Ok(json(StatusCode::ACCEPTED, &Standing { call_id: &id, state, result: None }))
}
