//! All tools of a server, page by page, within bounds.
//!
//! Keeps no page: what a server said earlier counts for nothing.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::{Peer, ServiceError};

use super::error::UpstreamError;

/// Most tools of one server.
pub(super) const TOOLS_MAX: usize = 1_000;
/// Most pages, empty ones too.
const PAGES_MAX: usize = 200;
/// Most bytes of a cursor.
const CURSOR_MAX_LEN: usize = 4 << 10;

/// Lists them. A server that can't say that it has tools has none.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, UpstreamError> {
    let wrong = |why: String| UpstreamError::Listing(why);
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = page(peer, cursor).await.map_err(|error| {
            wrong(crate::contract::escape::clipped_line(&error.to_string(), 300))
        })?;
        let ServerResult::ListToolsResult(page) = page else {
            return Err(wrong("it answered with something else".to_owned()));
        };
        tools.extend(page.tools);
        if tools.len() > TOOLS_MAX {
            return Err(wrong(format!("it has more than {TOOLS_MAX}")));
        }
        match page.next_cursor {
            None => return Ok(tools),
            Some(next) if next.len() > CURSOR_MAX_LEN => {
                return Err(wrong(format!("a cursor has more than {CURSOR_MAX_LEN} bytes")));
            }
            Some(next) => cursor = Some(next),
        }
    }
    Err(wrong(format!("the list has more than {PAGES_MAX} pages")))
}

async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<ServerResult, ServiceError> {
    let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
    let request = ListToolsRequest {
        method: rmcp::model::ListToolsRequestMethod,
        params,
        extensions: rmcp::model::Extensions::default(),
    };
    peer.send_request(ClientRequest::ListToolsRequest(request)).await
}
