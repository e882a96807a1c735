//! Who reads what, and which arguments are taken.

use super::*;
use crate::contract::ids::CallId;
use crate::contract::outcome::Outcome;
use crate::contract::result::{Attachment, AttachmentKind, ToolResult};

const URI: &str = "belljar://result/c/0";

fn caller(name: &str) -> CallerContext {
    CallerContext { caller: Some(name.to_owned()), ..CallerContext::default() }
}

fn tool_with(bytes: Vec<u8>) -> ReadResults {
    let kept = KeptResults::default();
    let call: CallId = "c".parse().unwrap();
    let mut result = ToolResult::new(call, Outcome::Success, "");
    result.attachments.push(Attachment {
        uri: URI.to_owned(),
        kind: AttachmentKind::FullOutput,
        mime_type: Some("text/plain".to_owned()),
        size: bytes.len() as u64,
        bytes,
    });
    kept.keep(&caller("ann"), &result, 0);
    ReadResults::new(kept, || 1)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("no object: {other}"),
    }
}

#[test]
fn a_caller_reads_what_its_own_call_left() {
    let tool = tool_with(b"hello world".to_vec());
    let arguments = object(json!({ "uri": URI, "length": 5 }));
    let expected = json!({
        "uri": URI, "size": 11, "encoding": "text", "offset": 0, "length": 5, "text": "hello",
        "mimeType": "text/plain", "nextOffset": 5,
    });
    assert_eq!(tool.read(&caller("ann"), &arguments, 10_000), Ok(expected));
}

#[test]
fn nobody_reads_what_another_callers_call_left() {
    let tool = tool_with(b"hello".to_vec());
    let arguments = object(json!({ "uri": URI }));
    for other in [caller("bob"), CallerContext::default()] {
        assert!(tool.read(&other, &arguments, 10_000).unwrap_err().contains("another caller's"));
    }
}

#[test]
fn an_answer_is_never_longer_than_what_is_shown() {
    let tool = tool_with("\u{1}".repeat(1 << 20).into_bytes());
    let arguments = object(json!({ "uri": URI, "length": 1 << 20 }));
    let answer = tool.read(&caller("ann"), &arguments, 20_000).unwrap();
    let len = answer.to_string().len();
    assert!((15_000..=20_000).contains(&len), "{len}");
}

#[test]
fn arguments_are_checked_by_name_and_kind() {
    let tool = tool_with(Vec::new());
    let good = object(json!({ "uri": "u", "offset": 0, "length": 1, "find": "x" }));
    assert_eq!(tool.check(good.clone()), Ok(good));
    for (bad, path) in [
        (json!({}), ""),
        (json!({ "uri": "" }), "/uri"),
        (json!({ "uri": "a".repeat(URI_MAX_LEN + 1) }), "/uri"),
        (json!({ "uri": "u", "find": "a".repeat(FIND_MAX_LEN + 1) }), "/find"),
        (json!({ "uri": "u", "offset": -1 }), "/offset"),
        (json!({ "uri": "u", "length": 0 }), "/length"),
        (json!({ "uri": "u", "length": "9" }), "/length"),
        (json!({ "uri": "u", "more": 1 }), "/more"),
    ] {
        let failures = tool.check(object(bad)).unwrap_err();
        assert_eq!(failures.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), [path]);
    }
}
