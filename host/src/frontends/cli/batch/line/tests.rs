//! Which lines are invocations, and what is said of those that aren't.

use serde_json::json;

use super::*;
use crate::contract::invocation::ApprovalMode;
use crate::frontends::cli::args::CallerArgs;

fn read(text: &str) -> Request {
    read_request(Line { number: 7, text: Ok(text.to_owned()) })
}

fn asked(value: &Value) -> Asked {
    read(&value.to_string()).asked.unwrap()
}

#[track_caller]
fn refused(text: &str, word: &str) -> String {
    let why = read(text).asked.unwrap_err();
    assert!(why.starts_with("line 7 ") && why.contains(word), "{text}: {why}");
    why
}

#[test]
fn a_line_has_the_names_of_an_invocation() {
    let line = json!({
        "callId": "c", "toolName": "a.b", "arguments": {"x": 1.5, "y": [null]}, "timeoutMs": 5,
        "permissionLevel": "SMART", "allowedTools": ["a.b"], "idempotencyKey": "k",
    });
    assert_eq!(read(&line.to_string()).call_id.as_deref(), Some("c"));
    let said = asked(&line);
    assert_eq!((said.tool_name.as_str(), said.timeout), ("a.b", Some(Duration::from_millis(5))));
    assert_eq!(said.arguments_json, r#"{"x":1.5,"y":[null]}"#);
    assert_eq!(said.level, Some(PermissionLevel::Smart));
    assert_eq!(said.allowed_tools, Some(vec!["a.b".to_owned()]));
    assert_eq!(said.idempotency_key.as_deref(), Some("k"));
    let text = asked(&json!({"toolName": "a.b", "argumentsJson": "{\"x\": 1}"}));
    assert_eq!(text.arguments_json, "{\"x\": 1}", "kept as it came");
    assert_eq!(asked(&json!({"toolName": "a.b"})).arguments_json, "");
}

#[test]
fn what_is_no_invocation_says_what_is_wrong_with_which_line() {
    for (text, word) in [
        ("{", "stops before"),
        ("[]", "an array"),
        ("nonsense", "not JSON"),
        ("{\"toolName\":\"a\"} {}", "goes on after"),
        ("{\"toolName\":\"a\",\"toolName\":\"b\"}", "twice"),
        ("{\"toolName\":\"a\",\"arguments\":{\"x\":1,\"x\":2}}", "twice"),
        ("\u{feff}{}", "byte order mark"),
        ("{}", "expected `toolName`"),
        ("{\"toolName\":7}", "`toolName` is no string"),
        ("{\"toolName\":\"a\",\"callId\":7}", "`callId` is no string"),
        ("{\"toolName\":\"a\",\"arguments\":{},\"argumentsJson\":\"{}\"}", "both"),
        ("{\"toolName\":\"a\",\"argumentsJson\":{}}", "`argumentsJson` is no string"),
        ("{\"toolName\":\"a\",\"timeoutMs\":0}", "above 0"),
        ("{\"toolName\":\"a\",\"timeoutMs\":-1}", "above 0"),
        ("{\"toolName\":\"a\",\"timeoutMs\":1.5}", "above 0"),
        ("{\"toolName\":\"a\",\"permissionLevel\":\"root\"}", "READ_ONLY"),
        ("{\"toolName\":\"a\",\"allowedTools\":\"a\"}", "array of strings"),
        ("{\"toolName\":\"a\",\"allowedTools\":[1]}", "array of strings"),
        ("{\"toolName\":\"a\",\"idempotencyKey\":\"\"}", "0 bytes"),
        ("{\"toolName\":\"a\",\"tool_name\":\"b\\u001b\"}", "unknown member `tool_name`"),
        ("{\"toolName\":\"a\",\"\\u001b\":1}", "`<U+001B>`"),
    ] {
        refused(text, word);
    }
    let deep = format!("{{\"toolName\":\"a\",\"arguments\":{}", "[".repeat(200));
    refused(&deep, "levels deep");
}

#[test]
fn arguments_may_be_nearly_as_deep_in_a_line_as_by_themselves() {
    let depth = ArgumentBounds::widest().depth;
    // The line is a level of its own, and its reader has the same ceiling.
    let line = |levels: usize| {
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        format!("{{\"toolName\":\"a\",\"arguments\":{{\"x\":{open}{close}}}}}")
    };
    assert!(read(&line(depth - 1)).asked.is_ok());
    refused(&line(depth), "levels deep");
}

#[test]
fn a_line_that_is_wrong_keeps_its_id() {
    let read = read("{\"callId\":\"mine\",\"toolName\":7}");
    assert_eq!(read.call_id.as_deref(), Some("mine"));
    assert!(read.asked.is_err());
}

#[test]
fn who_calls_is_not_the_lines_to_say() {
    for name in NOT_THE_LINES {
        let line = json!({"toolName": "a", *name: "x"});
        refused(&line.to_string(), "may only narrow");
    }
}

#[test]
fn a_line_only_narrows_level_and_tools() {
    let config = "[callers.cli]\nlevel = \"READ_WRITE\"\n";
    let place = std::path::Path::new("/etc/belljar.toml");
    let config = crate::config::from_text(config, place, &crate::config::Sources::default());
    let mut caller =
        Caller::new(&CallerArgs::default(), &config.unwrap(), ApprovalMode::Wait).unwrap();
    caller.tools = Some(vec!["a.b".to_owned(), "a.c".to_owned()]);
    let call = |line: Value| {
        let asked = asked(&line);
        asked.call("c".parse().unwrap(), &caller, &[])
    };
    let wide = call(json!({
        "toolName": "a.b", "permissionLevel": "FULL", "allowedTools": ["a.b", "z.z"],
    }));
    assert_eq!(wide.permission_level, PermissionLevel::ReadWrite);
    assert_eq!(wide.allowed_tools, Some(vec!["a.b".to_owned()]));
    let plain = call(json!({"toolName": "a.b", "permissionLevel": "READ_ONLY"}));
    assert_eq!(plain.permission_level, PermissionLevel::ReadOnly);
    assert_eq!(plain.allowed_tools, caller.tools);
    assert_eq!((plain.caller.as_deref(), plain.approval_mode), (Some("cli"), ApprovalMode::Wait));
}
