//! All tools of a server, page by page, within bounds.
//!
//! Keeps no page: what a server said earlier counts for nothing.

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ServerResult, Tool,
};
use rmcp::service::{Peer, ServiceError};
use serde_json::Value;

use super::describe::Odd;
use super::entry;
use super::error::UpstreamError;

/// Most tools of one server, malformed ones too.
pub(super) const TOOLS_MAX: usize = 1_000;
/// Most bytes of all of them, as JSON; of a malformed one, what is told of it.
const BYTES_MAX: usize = 16 << 20;
/// Most pages, empty ones too.
const PAGES_MAX: usize = 200;
/// Most bytes of a cursor.
const CURSOR_MAX_LEN: usize = 4 << 10;

/// Said of an answer that is no page of a list.
const NO_LIST: &str = "its answer has no list `tools`";

/// What a server lists, as far as it is taken.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<Tool>,
    /// What stands among them and is no tool.
    pub(super) malformed: Vec<Odd>,
    /// The first that isn't taken, and why; all that follow aren't either.
    pub(super) cut: Option<(String, String)>,
    seen: usize,
    bytes: usize,
}

impl Listed {
    /// Takes as many as there is room for. `false`: there is no more.
    fn take(&mut self, page: impl IntoIterator<Item = Result<Tool, Odd>>) -> bool {
        for entry in page {
            self.seen += 1;
            self.bytes += match &entry {
                Ok(tool) => serde_json::to_vec(tool).map_or(usize::MAX / 2, |text| text.len()),
                Err(odd) => odd.tool.len() + odd.finding.len(),
            };
            let why = if self.seen > TOOLS_MAX {
                format!("a server has at most {TOOLS_MAX} tools")
            } else if self.bytes > BYTES_MAX {
                format!("the tools of a server have at most {BYTES_MAX} bytes")
            } else {
                match entry {
                    Ok(tool) => self.tools.push(tool),
                    Err(odd) => self.malformed.push(odd),
                }
                continue;
            };
            self.cut = Some((entry.map_or_else(|odd| odd.tool, |it| it.name.into_owned()), why));
            return false;
        }
        true
    }

    /// The same of a page that the protocol's own types don't fit, and the next cursor. One entry
    /// that is no tool is enough for that, and isn't the fault of the others.
    fn take_loose(
        &mut self,
        page: Value,
        to_headers: bool,
    ) -> Result<(bool, Option<String>), &'static str> {
        let Value::Object(mut page) = page else { return Err(NO_LIST) };
        let Some(Value::Array(entries)) = page.remove("tools") else { return Err(NO_LIST) };
        let cursor = match page.remove("nextCursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor),
            Some(_) => return Err("the `nextCursor` of its list is no text"),
        };
        let first = self.seen + 1;
        let read = |(place, entry): (usize, &Value)| entry::read(entry, place, to_headers);
        Ok((self.take((first..).zip(&entries).map(read)), cursor))
    }
}

/// Lists them. A server that can't say that it has tools has none. `over_http`: how it is spoken to.
pub(super) async fn list(
    peer: &Peer<RoleClient>,
    over_http: bool,
) -> Result<Listed, UpstreamError> {
    let wrong = |why: String| UpstreamError::Listing(why);
    let modern = |version: &ProtocolVersion| *version >= ProtocolVersion::V_2026_07_28;
    let to_headers =
        over_http && peer.peer_info().is_some_and(|says| modern(&says.protocol_version));
    let (mut listed, mut cursor) = (Listed::default(), None);
    for _ in 0..PAGES_MAX {
        let page = page(peer, cursor).await.map_err(|error| {
            wrong(crate::contract::escape::clipped_line(&error.to_string(), 300))
        })?;
        let (whole, next) = match page {
            ServerResult::ListToolsResult(page) => {
                (listed.take(page.tools.into_iter().map(Ok)), page.next_cursor)
            }
            // What fits no answer that the protocol has comes as it was sent.
            ServerResult::CustomResult(CustomResult(page)) => {
                listed.take_loose(page, to_headers).map_err(|why| wrong(why.to_owned()))?
            }
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                return Err(wrong(NO_LIST.to_owned()));
            }
            _ => return Err(wrong("it answered with something else".to_owned())),
        };
        if !whole {
            return Ok(listed);
        }
        match next {
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
    use rmcp::model::ServerJsonRpcMessage;
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> Tool {
        let said = json!({"name": name, "description": description, "inputSchema": {}});
        serde_json::from_value(said).unwrap()
    }

    #[test]
    fn tools_past_the_bound_are_left_out_and_the_first_is_named() {
        let mut listed = Listed::default();
        assert!(listed.take((0..TOOLS_MAX).map(|n| Ok(tool(&format!("t{n}"), "")))));
        assert!(listed.take(Vec::new()) && listed.cut.is_none());
        assert!(!listed.take([Ok(tool("one", "")), Ok(tool("two", ""))]));
        let cut = ("one".to_owned(), "a server has at most 1000 tools".to_owned());
        assert_eq!((listed.tools.len(), listed.cut), (TOOLS_MAX, Some(cut)));
    }

    #[test]
    fn tools_past_so_many_bytes_are_left_out() {
        let mut listed = Listed::default();
        let words = "x".repeat(BYTES_MAX / 4);
        assert!(!listed.take((0..5).map(|n| Ok(tool(&format!("t{n}"), &words)))));
        assert_eq!(listed.tools.len(), 3);
        assert!(listed.cut.unwrap().1.contains("16777216 bytes"));
    }

    /// What the protocol's types make of an answer, on its way through either transport.
    fn received(result: &Value) -> ServerResult {
        let line = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        match serde_json::from_str::<ServerJsonRpcMessage>(&line).unwrap() {
            ServerJsonRpcMessage::Response(answer) => answer.result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn t42_a_malformed_entry_is_told_and_the_others_are_taken_in_both_eras() {
        let modern = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}});
        let claims = json!({"readOnlyHint": "yes"});
        for more in [json!({}), modern] {
            for (bad, called) in [
                (json!({"name": "bad"}), "bad"),
                (json!({"name": "bad", "inputSchema": []}), "bad"),
                (json!({"name": "bad", "inputSchema": {}, "title": 5}), "bad"),
                (json!({"name": "bad", "inputSchema": {}, "annotations": claims}), "bad"),
                (Value::Null, "#3"),
            ] {
                let mut result = more.clone();
                result["tools"] = json!([{"name": "two", "inputSchema": {}}, bad.clone()]);
                result["nextCursor"] = json!("on");
                let ServerResult::CustomResult(CustomResult(page)) = received(&result) else {
                    panic!("{bad}: it came as something else");
                };
                let mut listed = Listed::default();
                assert!(listed.take([Ok(tool("one", ""))]));
                let taken = listed.take_loose(page, false);
                assert_eq!(taken, Ok((true, Some("on".to_owned()))), "{bad}");
                let names: Vec<_> = listed.tools.iter().map(|it| it.name.as_ref()).collect();
                assert_eq!(names, ["one", "two"], "{bad}");
                assert_eq!(listed.malformed.len(), 1, "{bad}");
                assert_eq!(listed.malformed[0].tool, called, "{bad}");
            }
        }
    }

    #[test]
    fn what_is_no_list_is_an_error_of_the_server() {
        for page in [json!({"tools": {}}), json!({"tools": null}), json!({"a": 1}), json!([1])] {
            assert_eq!(Listed::default().take_loose(page, false), Err(NO_LIST));
        }
        let page = json!({"tools": [], "nextCursor": 5});
        assert!(Listed::default().take_loose(page, false).unwrap_err().contains("nextCursor"));
    }

    #[test]
    fn malformed_entries_count_as_tools_do() {
        let mut listed = Listed::default();
        let page = json!({"tools": vec![Value::Null; TOOLS_MAX + 1]});
        assert_eq!(listed.take_loose(page, false), Ok((false, None)));
        assert_eq!(listed.malformed.len(), TOOLS_MAX);
        assert_eq!(listed.cut.unwrap().0, "#1001");
        let mut listed = Listed::default();
        let name = "x".repeat(BYTES_MAX / 4);
        let page = json!({"tools": vec![json!({ "name": name }); 5]});
        assert_eq!(listed.take_loose(page, false), Ok((false, None)));
        assert_eq!(listed.malformed.len(), 3);
    }
}
