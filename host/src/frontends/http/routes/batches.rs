//! Batches: calls that were handed over together.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde::{Deserialize, Serialize};

use super::calls::CallBody;
use super::{CALLERS, route};
use crate::contract::ids::CallId;
use crate::contract::result::ToolResult;
use crate::frontends::access::Access;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::body::{Object, Strict, json};
use crate::frontends::http::problem::Problem;
use crate::host::unique_ids;

/// Calls of one batch.
const CALLS_MAX: usize = 256;

pub(super) fn routes() -> [Route; 1] {
    [route(Method::POST, "/v1/batches", CALLERS, post(batch))]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchBody {
    calls: Vec<Object<CallBody>>,
}

/// A call whose id had to be another.
#[derive(Debug, Serialize)]
struct Renamed {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: CallId,
}

#[derive(Debug, Serialize)]
struct Ended {
    results: Vec<ToolResult>,
    renamed: Vec<Renamed>,
}

async fn batch(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    headers: HeaderMap,
    Strict(BatchBody { calls }): Strict<BatchBody>,
) -> Result<Response, Problem> {
    let calls: Vec<_> = calls.into_iter().map(|Object(call)| call).collect();
    if calls.len() > CALLS_MAX {
        return Err(Problem::bad_request(format!("a batch has at most {CALLS_MAX} calls")));
    }
    if calls.iter().any(|call| call.background) {
        return Err(Problem::bad_request("a call of a batch can't be in the background"));
    }
    let mut own = Vec::with_capacity(calls.len());
    for call in &calls {
        own.push(call.call_id.clone().map_or_else(|| shared.ids.next(), Ok)?);
    }
    let came: Vec<_> = own.iter().map(|id| Some(id.as_str())).collect();
    let ids = unique_ids(&came);
    let mut invocations = Vec::with_capacity(calls.len());
    for (call, id) in calls.into_iter().zip(ids.ids) {
        invocations.push(call.invocation(&shared, &access, id, &headers)?);
    }
    let cancel = shared.stop.child_token();
    let results = shared.host.batch_with(invocations, cancel, |_, _| {}).await;
    let renamed = ids.renamed.into_iter();
    let renamed = renamed.map(|it| Renamed { index: it.index, from: it.from, to: it.to }).collect();
    Ok(json(StatusCode::OK, &Ended { results, renamed }))
}
