//! The audit log: its entries as they lie there, and its head to be kept elsewhere.
//!
//! Reads what is in the log; what was recorded within the last moment may not be there yet.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{OPERATORS, route};
use crate::contract::ids::CallId;
use crate::events::{Filter, JournalError, head as log_head, read};
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::body::{Asked, json as answer};
use crate::frontends::http::problem::Problem;

/// Pieces that are read ahead of the client.
const AHEAD: usize = 4;
/// Bytes of a piece, about.
const PIECE_LEN: usize = 64 << 10;
/// Longest name of a tool, in bytes.
const NAME_MAX_LEN: usize = 260;

pub(super) fn routes() -> [Route; 2] {
    [
        route(Method::GET, "/v1/audit/export", OPERATORS, get(export)),
        route(Method::GET, "/v1/audit/head", OPERATORS, get(head)),
    ]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Those written since, in milliseconds since 1970 (UTC).
    since: Option<u64>,
    /// Those from this number on.
    from: Option<u64>,
    call: Option<CallId>,
    tool: Option<String>,
}

fn folder(shared: &Shared) -> Result<PathBuf, Problem> {
    shared.audit.clone().ok_or_else(|| Problem::not_found("this server keeps no audit log"))
}

fn unreadable(error: &JournalError) -> Problem {
    // Its words name files of this machine.
    tracing::error!("the audit log can't be read: {error}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the audit log can't be read")
}

async fn export(
    State(shared): State<Arc<Shared>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Problem> {
    if wanted.tool.as_ref().is_some_and(|tool| tool.len() > NAME_MAX_LEN) {
        return Err(Problem::bad_request(format!("`tool` has at most {NAME_MAX_LEN} bytes")));
    }
    let folder = folder(&shared)?;
    let place = Arc::clone(&shared.exports).try_acquire_owned();
    let place = place.map_err(|_full| Problem::too_many("too many exports are running"))?;
    let filter = Filter {
        since_unix_ms: wanted.since,
        since_seq: wanted.from,
        call_id: wanted.call.map(String::from),
        tool: wanted.tool,
        ..Filter::default()
    };
    let (pieces, coming) = mpsc::channel(AHEAD);
    let (opened, is_open) = tokio::sync::oneshot::channel();
    tokio::task::spawn_blocking(move || send(&folder, filter, opened, &pieces, place));
    // The first thing that it says is whether the log can be read at all.
    is_open.await.map_err(|_gone| Problem::fault())??;
    let body = unfold(coming, |mut coming| async move {
        coming.recv().await.map(|piece| (Ok::<_, Infallible>(piece), coming))
    });
    let mut response = Response::new(Body::from_stream(body));
    let json_lines = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, json_lines);
    Ok(response)
}

/// Reads on as long as somebody takes what was read. A spoilt place is one line that says so.
fn send(
    folder: &std::path::Path,
    filter: Filter,
    opened: tokio::sync::oneshot::Sender<Result<(), Problem>>,
    pieces: &mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let entries = match read(folder, filter) {
        Ok(entries) => entries,
        Err(error) => return drop(opened.send(Err(unreadable(&error)))),
    };
    if opened.send(Ok(())).is_err() {
        return;
    }
    let mut piece = String::new();
    for entry in entries {
        match entry {
            Ok(entry) => piece.push_str(&entry.json),
            Err(error) => {
                tracing::error!("a place of the audit log is left out: {error}");
                piece.push_str(&json!({"type": "Damaged"}).to_string());
            }
        }
        piece.push('\n');
        if piece.len() >= PIECE_LEN
            && pieces.blocking_send(Bytes::from(std::mem::take(&mut piece))).is_err()
        {
            return;
        }
    }
    if !piece.is_empty() {
        // An error means that nobody reads any more.
        pieces.blocking_send(Bytes::from(piece)).ok();
    }
}

async fn head(State(shared): State<Arc<Shared>>) -> Result<Response, Problem> {
    let folder = folder(&shared)?;
    let found = tokio::task::spawn_blocking(move || log_head(&folder)).await;
    let head = found.map_err(|_lost| Problem::fault())?.map_err(|error| unreadable(&error))?;
    Ok(answer(StatusCode::OK, &json!({"head": head})))
}
