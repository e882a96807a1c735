//! Requests that wait for a person, and what people said for good.
//!
//! Shows them without the declared secrets; answers are in `decisions`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::decisions::Answering;
use super::{APPROVERS, LOOKERS, route};
use crate::contract::approval::ApprovalState;
use crate::contract::ids::{ApprovalId, ToolId};
use crate::events::Redactor;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::body::{Asked, Named, json as answer};
use crate::frontends::http::problem::Problem;
use crate::frontends::http::tokens::Speaker;
use crate::gate::approval::{ApprovalError, ApprovalQueue};
use crate::storage::ListFilter;

/// Requests of one answer.
const PAGE: u32 = 200;
/// Remembered answers of one answer.
const REMEMBERED_MAX: usize = 10_000;

pub(super) fn routes() -> [Route; 4] {
    [
        route(Method::GET, "/v1/approvals", LOOKERS, get(list)),
        route(Method::GET, "/v1/approvals/{id}", LOOKERS, get(show)),
        route(Method::GET, "/v1/remembered", LOOKERS, get(remembered)),
        route(Method::DELETE, "/v1/remembered/{id}", APPROVERS, delete(forget)),
    ]
}

/// Runs what waits for the disk, or for another process, where it keeps no call from its turn.
pub(super) async fn aside<T: Send + 'static>(
    shared: &Shared,
    operation: impl FnOnce(&ApprovalQueue) -> T + Send + 'static,
) -> Result<T, Problem> {
    let queue = shared.host.approvals().clone();
    let done = tokio::task::spawn_blocking(move || operation(&queue)).await;
    done.map_err(|error| {
        tracing::error!("an operation on approvals failed: {error}");
        Problem::fault()
    })
}

/// The id of a request, or that there is none of that kind.
pub(super) fn id_of(text: &str) -> Result<ApprovalId, Problem> {
    text.parse().map_err(|_not_an_id| Problem::not_found("there is no approval of that id"))
}

/// As JSON, without the declared secrets.
pub(super) fn shown(redactor: &Redactor, of: &impl Serialize) -> Result<Value, Problem> {
    let value = serde_json::to_value(of).map_err(|error| {
        tracing::error!("an approval has no JSON: {error}");
        Problem::fault()
    })?;
    Ok(redactor.value(&value))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    state: Option<ApprovalState>,
    tool: Option<ToolId>,
    /// The number of the last one of the page before.
    after: Option<u64>,
}

async fn list(
    State(shared): State<Arc<Shared>>,
    Asked(Wanted { state, tool, after }): Asked<Wanted>,
) -> Result<Response, Problem> {
    // Numbers of the store are signed.
    let after = after.unwrap_or(0).min(i64::MAX as u64);
    let filter = ListFilter { state, tool, after, limit: PAGE };
    let found = aside(&shared, move |queue| queue.list(&filter)).await??;
    let is_full = found.len() == PAGE as usize;
    let next = found.last().filter(|_| is_full).map(|last| last.number);
    let mut listed = json!({"approvals": shown(&shared.redactor, &found)?});
    if let (Some(next), Some(members)) = (next, listed.as_object_mut()) {
        members.insert("nextAfter".into(), next.into());
    }
    Ok(answer(StatusCode::OK, &listed))
}

async fn show(
    State(shared): State<Arc<Shared>>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    let entry = aside(&shared, move |queue| queue.show(&id)).await??;
    Ok(answer(StatusCode::OK, &shown(&shared.redactor, &entry)?))
}

async fn remembered(State(shared): State<Arc<Shared>>) -> Result<Response, Problem> {
    let mut all = aside(&shared, ApprovalQueue::remembered_list).await??;
    all.truncate(REMEMBERED_MAX);
    let listed = json!({"remembered": shown(&shared.redactor, &all)?});
    Ok(answer(StatusCode::OK, &listed))
}

async fn forget(
    State(shared): State<Arc<Shared>>,
    Extension(speaker): Extension<Arc<Speaker>>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    let by = Answering::new(&shared, &speaker);
    let forgotten = aside(&shared, move |queue| {
        by.check_forgetting(queue, &id)?;
        Ok::<_, ApprovalError>(queue.revoke(&id, &by.approver)?)
    });
    if forgotten.await?? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Err(Problem::not_found("nothing is remembered under that id"))
}
