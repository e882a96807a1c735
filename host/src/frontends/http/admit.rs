//! Who gets to a route: a known speaker with a role that the route asks for, in one of its places.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;

use hyper::body::Body as _;
use tokio::sync::OwnedSemaphorePermit;

use super::Shared;
use super::budget::BodyShare;
use super::connection::ConnectionPlace;
use super::doors::Peer;
use super::guarded::guarded;
use super::problem::Problem;
use super::tokens::{AT_ONCE, Speaker};
use super::untaken::Untaken;
use crate::config::Role;
use crate::frontends::held::Held;

/// Whom a route serves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needs {
    /// Whoever is on this machine, and whoever has a token.
    Nothing,
    /// One of these roles.
    Any(&'static [Role]),
}

/// One route of the API.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) needs: Needs,
    pub(super) to: MethodRouter<Arc<Shared>>,
}

impl Route {
    /// What answers, for those whom it serves alone.
    pub(super) fn admitting(self, shared: &Arc<Shared>) -> MethodRouter<Arc<Shared>> {
        self.to.route_layer(from_fn_with_state((Arc::clone(shared), self.needs), admit))
    }
}

async fn admit(
    State((shared, needs)): State<(Arc<Shared>, Needs)>,
    request: Request,
    next: Next,
) -> Response {
    let roles = match needs {
        Needs::Any(roles) => Some(roles),
        Needs::Nothing if Peer::is_loopback(&request) => return next.run(request).await,
        Needs::Nothing => None,
    };
    within_a_place(&shared, request, roles, next).await
}

/// The layer of what serves callers alone.
pub(super) async fn callers(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    within_a_place(&shared, request, Some(&[Role::Caller]), next).await
}

/// A request's place among those of its token, and its share of the room for bodies. Clones are the
/// same place: it is free when the last is gone.
#[derive(Debug, Clone)]
pub(super) struct RequestPlace(Arc<Place>);

#[derive(Debug)]
struct Place {
    request: Mutex<Option<OwnedSemaphorePermit>>,
    body: Option<Arc<BodyShare>>,
}

impl RequestPlace {
    /// Frees the place of a request whose answer has one of its own.
    pub(super) fn give_back(&self) {
        drop(self.0.request.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The room that its body takes, for what outlives its answer.
    pub(super) fn body(&self) -> Option<Arc<BodyShare>> {
        self.0.body.clone()
    }
}

/// Holds a place until the answer is through: to its last byte, or until nobody takes it any more.
async fn within_a_place(
    shared: &Shared,
    request: Request,
    roles: Option<&[Role]>,
    next: Next,
) -> Response {
    let (request, place, own) = match placed(shared, request, roles) {
        Ok(placed) => placed,
        Err(problem) => return problem.into_response(),
    };
    let answer = next.run(request).await;
    // What goes on without an end is bounded where it is made.
    let bytes = answer.body().size_hint().exact().unwrap_or_default();
    let waits = own.add(usize::try_from(bytes).unwrap_or(usize::MAX));
    guarded(answer, (place, waits))
}

fn placed(
    shared: &Shared,
    request: Request,
    roles: Option<&[Role]>,
) -> Result<(Request, RequestPlace, Untaken), Problem> {
    let speaker = speaker(shared, &request, roles)?;
    speaker.untaken.check()?;
    let place = Arc::clone(&speaker.places).try_acquire_owned().map_err(|_full| {
        Problem::too_many(format!("{AT_ONCE} requests of this token are being answered already"))
    })?;
    let (mut parts, body) = request.into_parts();
    let (body, share) = shared.bodies.take(&speaker.bodies, body)?;
    if let Some(share) = &share {
        parts.extensions.insert(Held::new(Arc::clone(share) as _));
    }
    let place = RequestPlace(Arc::new(Place { request: Mutex::new(Some(place)), body: share }));
    if let Some(access) = speaker.access.as_ref().filter(|_| speaker.is_any(&[Role::Caller])) {
        parts.extensions.insert(Arc::clone(access));
    }
    let untaken = speaker.untaken.clone();
    parts.extensions.insert(speaker);
    parts.extensions.insert(place.clone());
    Ok((Request::from_parts(parts, body), place, untaken))
}

fn speaker(
    shared: &Shared,
    request: &Request,
    roles: Option<&[Role]>,
) -> Result<Arc<Speaker>, Problem> {
    let speaker = shared.tokens.speaker(request.headers(), Peer::is_loopback(request))?;
    if let Some(connection) = request.extensions().get::<ConnectionPlace>() {
        connection.known(&speaker)?;
    }
    match roles {
        Some(roles) if !speaker.is_any(roles) => {
            let named: Vec<_> = roles.iter().map(|role| format!("`{}`", word(*role))).collect();
            let detail = format!("this needs a token with the role {}", named.join(" or "));
            Err(Problem::forbidden(detail))
        }
        _ => Ok(speaker),
    }
}

/// The role as the configuration names it.
pub(super) fn word(role: Role) -> &'static str {
    match role {
        Role::Caller => "caller",
        Role::Approver => "approver",
        Role::Operator => "operator",
    }
}
