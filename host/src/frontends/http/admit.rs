//! Who gets to a route: a known speaker with a role that the route asks for, in one of its places.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::MethodRouter;

use super::Shared;
use super::doors::Peer;
use super::problem::Problem;
use super::tokens::{AT_ONCE, Speaker};
use crate::config::Role;

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

async fn within_a_place(
    shared: &Shared,
    mut request: Request,
    roles: Option<&[Role]>,
    next: Next,
) -> Response {
    let speaker = match speaker(shared, &request, roles) {
        Ok(speaker) => speaker,
        Err(problem) => return problem.into_response(),
    };
    let Ok(_place) = speaker.places.try_acquire() else {
        let detail = format!("{AT_ONCE} requests of this token are being answered already");
        return Problem::too_many(detail).into_response();
    };
    if let Some(access) = speaker.access.as_ref().filter(|_| speaker.is_any(&[Role::Caller])) {
        request.extensions_mut().insert(Arc::clone(access));
    }
    request.extensions_mut().insert(Arc::clone(&speaker));
    next.run(request).await
}

fn speaker(
    shared: &Shared,
    request: &Request,
    roles: Option<&[Role]>,
) -> Result<Arc<Speaker>, Problem> {
    let speaker = shared.tokens.speaker(request.headers(), Peer::is_loopback(request))?;
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
