//! All tools of a server, page by page, within bounds.
//!
//! Keeps no page: what a server said earlier counts for nothing.

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::{Peer, ServiceError};

use super::error::UpstreamError;

/// Most tools of one server.
pub(super) const TOOLS_MAX: usize = 1_000;
/// Most bytes of all of them, as JSON.
const BYTES_MAX: usize = 16 << 20;
/// Most pages, empty ones too.
const PAGES_MAX: usize = 200;
/// Most bytes of a cursor.
const CURSOR_MAX_LEN: usize = 4 << 10;

/// What a server lists, as far as it is taken.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<Tool>,
    /// The first that isn't taken, and why; all that follow aren't either.
    pub(super) cut: Option<(String, String)>,
    bytes: usize,
}

impl Listed {
    /// Takes as many as there is room for. `false`: there is no more.
    fn take(&mut self, page: Vec<Tool>) -> bool {
        for tool in page {
            self.bytes += serde_json::to_vec(&tool).map_or(usize::MAX / 2, |text| text.len());
            let why = if self.tools.len() >= TOOLS_MAX {
                format!("a server has at most {TOOLS_MAX} tools")
            } else if self.bytes > BYTES_MAX {
                format!("the tools of a server have at most {BYTES_MAX} bytes")
            } else {
                self.tools.push(tool);
                continue;
            };
            self.cut = Some((tool.name.into_owned(), why));
            return false;
        }
        true
    }
}

/// Lists them. A server that can't say that it has tools has none.
pub(super) async fn list(peer: &Peer<RoleClient>) -> Result<Listed, UpstreamError> {
    let wrong = |why: String| UpstreamError::Listing(why);
    let (mut listed, mut cursor) = (Listed::default(), None);
    for _ in 0..PAGES_MAX {
        let page = page(peer, cursor).await.map_err(|error| {
            wrong(crate::contract::escape::clipped_line(&error.to_string(), 300))
        })?;
        let ServerResult::ListToolsResult(page) = page else {
            return Err(wrong("it answered with something else".to_owned()));
        };
        if !listed.take(page.tools) {
            return Ok(listed);
        }
        match page.next_cursor {
            None => return Ok(listed),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> Tool {
        let said = json!({"name": name, "description": description, "inputSchema": {}});
        serde_json::from_value(said).unwrap()
    }

    #[test]
    fn tools_past_the_bound_are_left_out_and_the_first_is_named() {
        let mut listed = Listed::default();
        assert!(listed.take((0..TOOLS_MAX).map(|n| tool(&format!("t{n}"), "")).collect()));
        assert!(listed.take(Vec::new()) && listed.cut.is_none());
        assert!(!listed.take(vec![tool("one", ""), tool("two", "")]));
        let cut = ("one".to_owned(), "a server has at most 1000 tools".to_owned());
        assert_eq!((listed.tools.len(), listed.cut), (TOOLS_MAX, Some(cut)));
    }

    #[test]
    fn tools_past_so_many_bytes_are_left_out() {
        let mut listed = Listed::default();
        let words = "x".repeat(BYTES_MAX / 4);
        assert!(!listed.take((0..5).map(|n| tool(&format!("t{n}"), &words)).collect()));
        assert_eq!(listed.tools.len(), 3);
        assert!(listed.cut.unwrap().1.contains("16777216 bytes"));
    }
}
