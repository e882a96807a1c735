//! Requests that `rmcp` can't read: of a method of ours with bad parameters, or of no method at all.
//!
//! Answers none.

use rmcp::model::{ErrorCode, ErrorData};

use crate::contract::escape::clipped_line;

/// Methods that are ours.
const METHODS: [&str; 12] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
/// Of those, what the newer era no longer knows.
const OLDER: [&str; 2] = ["initialize", "ping"];
/// Bytes of an unknown method that are repeated.
const SHOWN: usize = 100;

/// What a request that can't be read is answered with.
pub(super) fn refused(method: &str, modern: bool) -> ErrorData {
    let is_other = if modern { OLDER.contains(&method) } else { method.starts_with("tasks/") };
    if METHODS.contains(&method) && !is_other {
        let why = format!("the parameters of `{method}` can't be used");
        return ErrorData::invalid_params(why, None);
    }
    // Whoever sent it chose its length and its characters, and errors are logged.
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, clipped_line(method, SHOWN), None)
}
