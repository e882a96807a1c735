//! The routes, each group beside its description.
//!
//! What a route may assume: the doors are passed, and whoever asks has a role that it serves.

mod approvals;
mod audit;
mod batches;
mod calls;
mod decisions;
mod events;
mod held_calls;
mod results;
mod tools;

use axum::extract::State;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use std::sync::Arc;

use super::Shared;
use super::admit::{Needs, Route};
use crate::config::Role;

const CALLERS: Needs = Needs::Any(&[Role::Caller]);
const APPROVERS: Needs = Needs::Any(&[Role::Approver]);
const LOOKERS: Needs = Needs::Any(&[Role::Approver, Role::Operator]);
const WATCHERS: Needs = Needs::Any(&[Role::Caller, Role::Operator]);
const OPERATORS: Needs = Needs::Any(&[Role::Operator]);

fn route(method: Method, path: &'static str, needs: Needs, to: MethodRouter<Arc<Shared>>) -> Route {
    Route { method, path, needs, to }
}

/// Every route.
pub(super) fn all() -> Vec<Route> {
    let mut all = vec![
        route(Method::GET, "/healthz", Needs::Nothing, get(healthy)),
        route(Method::GET, "/openapi.json", Needs::Nothing, get(description)),
    ];
    all.extend(tools::routes());
    all.extend(calls::routes());
    all.extend(held_calls::routes());
    all.extend(batches::routes());
    all.extend(approvals::routes());
    all.extend(decisions::routes());
    all.extend(results::routes());
    all.extend(events::routes());
    all.extend(audit::routes());
    all
}

async fn healthy() -> Response {
    ([(CONTENT_TYPE, "application/json")], r#"{"status":"ok"}"#).into_response()
}

async fn description(State(shared): State<Arc<Shared>>) -> Response {
    ([(CONTENT_TYPE, "application/json")], shared.description.clone()).into_response()
}
