//! The tools that a caller sees.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use serde::{Deserialize, Serialize};

use super::{CALLERS, route};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::clipped_line;
use crate::contract::ids::ToolId;
use crate::frontends::access::Access;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::body::{Asked, Named, json};
use crate::frontends::http::problem::Problem;

/// Tools of one answer.
const PAGE: usize = 500;
/// Longest name that is repeated, in bytes.
const NAME_MAX_LEN: usize = 100;

pub(super) fn routes() -> [Route; 2] {
    [
        route(Method::GET, "/v1/tools", CALLERS, get(list)),
        route(Method::GET, "/v1/tools/{name}", CALLERS, get(show)),
    ]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    /// The id of the last tool of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    tools: Vec<&'a ToolDescriptor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

async fn list(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    Asked(page): Asked<Page>,
) -> Result<Response, Problem> {
    if let Some(cursor) = &page.cursor
        && cursor.parse::<ToolId>().is_err()
    {
        return Err(Problem::bad_request("`cursor` is none that this server gave"));
    }
    let tools = access.tools(&shared.host);
    // They are in the order of their ids as text, also where some went since the page before.
    let behind = |tool: &&Arc<ToolDescriptor>| {
        page.cursor.as_ref().is_none_or(|cursor| tool.id.to_string() > *cursor)
    };
    let mut rest = tools.iter().filter(behind);
    let tools: Vec<&ToolDescriptor> = rest.by_ref().take(PAGE).map(AsRef::as_ref).collect();
    let last = tools.last().map(|tool| tool.id.to_string());
    let next_cursor = last.filter(|_| rest.next().is_some());
    Ok(json(StatusCode::OK, &Listed { tools, next_cursor }))
}

async fn show(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    Named(name): Named<String>,
) -> Result<Response, Problem> {
    let tool = access.tool(&shared.host, &name);
    let shown = || clipped_line(&name, NAME_MAX_LEN);
    let tool = tool.ok_or_else(|| Problem::not_found(format!("there is no tool `{}`", shown())))?;
    Ok(json(StatusCode::OK, tool.as_ref()))
}
