//! The content of a result: whole where it fits, else its two ends and the whole as an attachment.
//!
//! Cuts copies only; the whole always survives byte for byte.

use serde_json::{Map, Value};

use crate::contract::escape;
use crate::contract::ids::CallId;
use crate::contract::result::{Attachment, AttachmentKind, ToolResult, Truncated};

/// The address of the attachment with this number (from 0) of a call. Characters of the call's id
/// that a URI gives a meaning to are percent-encoded.
pub fn result_uri(call_id: &CallId, number: usize) -> String {
    let mut uri = String::from("belljar://result/");
    for byte in call_id.as_str().bytes() {
        // The unreserved characters of RFC 3986, section 2.3.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("{uri}/{number}")
}

/// A value that is no object, as `structured` has it. Moved: `json!` would copy what it is given.
pub fn wrapped(value: Value) -> Value {
    Value::Object(Map::from_iter([("result".to_owned(), value)]))
}

/// Cuts a result's content to `shown_max` bytes. What is cut moves whole into an attachment, and
/// `structured` goes: it says the same once more at the same length, so to keep it would be to not
/// cut at all. The marker counts towards the bound unless the bound is shorter than the marker.
pub(super) fn shorten(result: &mut ToolResult, shown_max: usize, mime_type: &str) {
    if result.content.len() <= shown_max {
        return;
    }
    let uri = result_uri(&result.call_id, result.attachments.len());
    let whole = std::mem::take(&mut result.content);
    let total = whole.len();
    let room = shown_max.saturating_sub(marker(total, total, &uri).len());
    let head = escape::cut(&whole, room.div_ceil(2));
    let tail = escape::cut_to_end(&whole, room / 2);
    let shown = head.len() + tail.len();

    result.content = format!("{head}{}{tail}", marker(total - shown, total, &uri));
    result.structured = None;
    result.truncated =
        Some(Truncated { total_bytes: total as u64, shown_bytes: shown as u64, full: uri.clone() });
    result.attachments.push(Attachment {
        uri,
        kind: AttachmentKind::FullOutput,
        mime_type: Some(mime_type.to_owned()),
        size: total as u64,
        bytes: whole.into_bytes(),
    });
}

fn marker(omitted: usize, total: usize, uri: &str) -> String {
    format!("\n[belljar left out {omitted} of {total} bytes here; the whole is {uri}]\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::outcome::Outcome;

    fn shortened(content: &str, shown_max: usize) -> ToolResult {
        let mut result = ToolResult::new("c/1".parse().unwrap(), Outcome::Success, content);
        result.structured = Some(serde_json::json!({"result": content}));
        shorten(&mut result, shown_max, "text/plain");
        result
    }

    #[test]
    fn an_address_reads_as_one_path_whatever_the_id() {
        let uri = result_uri(&"a-1/..?x#%".parse().unwrap(), 3);
        assert_eq!(uri, "belljar://result/a-1%2F..%3Fx%23%25/3");
    }

    #[test]
    fn what_fits_is_left_alone() {
        let result = shortened("abc", 3);
        assert_eq!(result.content, "abc");
        assert!(result.truncated.is_none() && result.attachments.is_empty());
        assert!(result.structured.is_some());
    }

    #[test]
    fn t21_a_cut_keeps_both_ends_between_characters_and_the_whole_beside() {
        let whole = "é👍日z".repeat(100);
        for shown_max in 0..whole.len() {
            let result = shortened(&whole, shown_max);
            let truncated = result.truncated.unwrap();
            let (head, rest) = result.content.split_once("\n[belljar left out ").unwrap();
            let (marker, tail) = rest.split_once("]\n").unwrap();
            assert!(whole.starts_with(head) && whole.ends_with(tail));
            assert_eq!(truncated.shown_bytes, (head.len() + tail.len()) as u64);
            assert_eq!(truncated.total_bytes, whole.len() as u64);
            let omitted = whole.len() - head.len() - tail.len();
            assert!(marker.starts_with(&format!("{omitted} of {} bytes", whole.len())), "{marker}");
            assert!(result.content.len() <= shown_max || head.is_empty() && tail.is_empty());
            assert_eq!(result.attachments[0].bytes, whole.as_bytes());
            assert_eq!(result.attachments[0].uri, truncated.full);
            assert!(result.structured.is_none());
        }
    }
}
