//! Source A's table of texts, and where belljar decided.

use serde_json::json;

use super::*;
use crate::contract::result::Status;

fn call_id() -> CallId {
    "c1".parse().unwrap()
}

#[test]
fn a18_text_is_an_error_only_by_its_keys() {
    for (raw, outcome, message) in [
        // The source's own table.
        (r#"{"error":"kaboom","exit_code":1}"#, Outcome::ToolError, Some("kaboom")),
        (r#"{"error":{}}"#, Outcome::ToolError, None),
        (r#"{"error":""}"#, Outcome::ToolError, None),
        (r#"["a"]"#, Outcome::Success, None),
        (r#"{"exit_code":0}"#, Outcome::Success, None),
        (r#"{"exit_code":2,"stdout":""}"#, Outcome::ToolError, None),
        ("plain words", Outcome::Success, None),
        (r#"{"error":"cut"#, Outcome::Success, None),
        (r#"{"ok":true}"#, Outcome::Success, None),
        // The value of `error` doesn't matter, only that it is there.
        (r#" {"error":"  spaced "} "#, Outcome::ToolError, Some("  spaced ")),
        (r#"{"error":" \n "}"#, Outcome::ToolError, None),
        (r#"{"error":null}"#, Outcome::ToolError, None),
        (r#"{"error":false,"exit_code":0}"#, Outcome::ToolError, None),
        (r#"{"err\u006fr":"x"}"#, Outcome::ToolError, Some("x")),
        (r#"{"error":1,"error":"last"}"#, Outcome::ToolError, Some("last")),
        (r#"{"Error":"x"}"#, Outcome::Success, None),
        (r#"{"a":{"error":"x"}}"#, Outcome::Success, None),
        (r#"[{"error":"x"}]"#, Outcome::Success, None),
        (r#"{"error":"x"} trailing"#, Outcome::Success, None),
        (r#""{\"error\":\"x\"}""#, Outcome::Success, None),
        ("null", Outcome::Success, None),
        ("", Outcome::Success, None),
    ] {
        let result = normalise_text(call_id(), raw, None);
        assert_eq!(result.outcome, outcome, "{raw}");
        assert_eq!(result.error_message.as_deref(), message, "{raw}");
        assert_eq!(result.content, raw);
        assert_eq!(result.status == Status::Success, outcome == Outcome::Success);
    }
}

#[test]
fn a18_exit_code_counts_where_it_is_a_number() {
    for (code, is_error) in [
        ("1", true),
        ("-1", true),
        ("0.5", true),
        ("1e300", true),
        (r#""1""#, true),
        (r#"" 127 ""#, true),
        ("0.0", false),
        ("-0", false),
        (r#""0""#, false),
        (r#""""#, false),
        (r#""x""#, false),
        (r#""nan""#, false),
        (r#""inf""#, false),
        ("null", false),
        ("true", false),
        ("[1]", false),
        ("{}", false),
    ] {
        let result = normalise_text(call_id(), &format!(r#"{{"exit_code":{code}}}"#), None);
        assert_eq!(result.outcome == Outcome::ToolError, is_error, "{code}");
        assert_eq!(result.error_message, None);
    }
}

#[test]
fn a18_duration_passes_through() {
    assert_eq!(normalise_text(call_id(), "x", Some(12)).duration_ms, Some(12));
    assert_eq!(normalise_text(call_id(), "x", None).duration_ms, None);
}

#[test]
fn a18_deep_text_is_read_without_a_deep_stack() {
    let deep = format!(r#"{{"a":{}{},"error":"x"}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(normalise_text(call_id(), &deep, None).outcome, Outcome::ToolError);
    let inside = format!(r#"{{"error":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(normalise_text(call_id(), &inside, None).outcome, Outcome::ToolError);
    let endless = format!(r#"{{"error":{}"#, "[".repeat(100_000));
    assert_eq!(normalise_text(call_id(), &endless, None).outcome, Outcome::Success);
}

#[test]
fn a18_a_long_message_is_cut_and_the_content_is_whole() {
    let raw = json!({"error": "é".repeat(100_000)}).to_string();
    let result = normalise_text(call_id(), &raw, None);
    assert!(result.error_message.unwrap().len() < message::MESSAGE_MAX_LEN + 40);
    assert_eq!(result.content, raw);
}
