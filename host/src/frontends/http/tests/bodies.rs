//! Bodies that are not as described.

use axum::body::Body;
use axum::http::Method;
use serde_json::json;

use super::kit::{Api, asking};

#[tokio::test]
async fn js02_a_name_that_comes_twice_is_refused_at_every_depth() {
    let api = Api::new();
    for body in [
        r#"{"tool":"fake.echo","tool":"fake.write"}"#,
        r#"{"tool":"fake.echo","arguments":{"path":"ok","path":"../x"}}"#,
        r#"{"tool":"fake.echo","arguments":{"a":[{"b":1,"\u0062":2}]}}"#,
    ] {
        api.post_text("calls-a", "/v1/calls", body).await.is_problem(400, "twice");
    }
    let text = json!({"tool": "fake.echo", "argumentsJson": r#"{"a":1,"a":2}"#});
    let result = api.post("calls-a", "/v1/calls", text).await.is(200);
    assert_eq!(result["outcome"], "invalid_arguments", "{result}");
}

#[tokio::test]
async fn js04_js05_what_is_no_json_is_refused() {
    let api = Api::new();
    for body in [
        "",
        " ",
        "{",
        "nope",
        "{'tool':'x'}",
        "{\"tool\":\"x\",}",
        "// c\n{}",
        "\u{feff}{\"tool\":\"fake.echo\"}",
        r#"{"tool":"fake.echo"} x"#,
        r#"{"tool":"fake.echo"}{"tool":"fake.echo"}"#,
        r#"{"tool":"fake.echo","arguments":{"n":NaN}}"#,
        r#"{"tool":"fake.echo","arguments":{"n":01}}"#,
        r#"{"tool":"fake.echo","arguments":{"n":+1}}"#,
        r#"{"tool":"fake.echo","arguments":{"s":"\ud800"}}"#,
        "[]",
        "null",
        "5",
        r#""{\"tool\":\"fake.echo\"}""#,
        r#"[{"tool":"fake.echo"}]"#,
        r#"["fake.echo",{}]"#,
    ] {
        api.post_text("calls-a", "/v1/calls", body).await.is_problem(400, "the body");
    }
    let answer = api.post_text("calls-a", "/v1/calls", vec![b'{', b'"', 0xff, b'"']).await;
    answer.is_problem(400, "not UTF-8");
}

#[tokio::test]
async fn an_array_is_no_object_also_inside_a_batch() {
    let api = Api::new();
    let batch = r#"{"calls":[["fake.echo",{}]]}"#;
    api.post_text("calls-a", "/v1/batches", batch).await.is_problem(400, "expected a map");
    let batch = r#"{"calls":[{"tool":"fake.echo"}]}"#;
    api.post_text("calls-a", "/v1/batches", batch).await.is(200);
}

#[tokio::test]
async fn js01_numbers_keep_their_digits() {
    let api = Api::new();
    let numbers = "[9007199254740993,18446744073709551615,-9223372036854775808]";
    let body = format!(r#"{{"tool":"fake.echo","arguments":{{"n":{numbers}}}}}"#);
    let result = api.post_text("calls-a", "/v1/calls", body).await.is(200);
    assert_eq!(result["content"], format!(r#"{{"n":{numbers}}}"#));
}

#[tokio::test]
async fn js07_js08_arguments_are_an_object_or_absent() {
    let api = Api::new();
    for arguments in ["null", "[]", "\"\"", "5", r#""{\"a\":1}""#] {
        let body = format!(r#"{{"tool":"fake.echo","arguments":{arguments}}}"#);
        api.post_text("calls-a", "/v1/calls", body).await.is_problem(400, "invalid type");
    }
    let result = api.call("calls-a", "fake.echo").await.is(200);
    assert_eq!(result["content"], "{}");
}

#[tokio::test]
async fn members_that_are_not_described_or_null_are_refused() {
    let api = Api::new();
    for body in [
        json!({}),
        json!({"tool": ""}),
        json!({"tool": "x".repeat(261)}),
        json!({"tool": "fake.echo", "limitt": 5}),
        json!({"tool": "fake.echo", "callId": null}),
        json!({"tool": "fake.echo", "callId": "a b"}),
        json!({"tool": "fake.echo", "callId": "x".repeat(129)}),
        json!({"tool": "fake.echo", "timeoutMs": 0}),
        json!({"tool": "fake.echo", "timeoutMs": -1}),
        json!({"tool": "fake.echo", "timeoutMs": 86_400_001}),
        json!({"tool": "fake.echo", "idempotencyKey": ""}),
        json!({"tool": "fake.echo", "idempotencyKey": "k".repeat(257)}),
        json!({"tool": "fake.echo", "tools": vec!["a"; 1_001]}),
        json!({"tool": "fake.echo", "background": "yes"}),
    ] {
        api.post("calls-a", "/v1/calls", body).await.is_problem(400, "");
    }
}

#[tokio::test]
async fn a_body_is_json_by_its_type_and_no_longer_than_arguments_can_be() {
    let api = Api::new();
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        let asking = asking(Method::POST, "/v1/calls", "calls-a").header("content-type", media);
        let request = asking.body(Body::from(r#"{"tool":"fake.echo"}"#)).unwrap();
        api.send(request).await.is_problem(415, "application/json");
    }
    let asking = asking(Method::POST, "/v1/calls", "calls-a")
        .header("content-type", "Application/JSON; charset=utf-8");
    api.send(asking.body(Body::from(r#"{"tool":"fake.echo"}"#)).unwrap()).await.is(200);
    let long = vec![b' '; 10 << 20];
    api.post_text("calls-a", "/v1/calls", long.clone()).await.is_problem(413, "longer than");
    // Without a length that says so beforehand.
    let pieces = long.chunks(1 << 16).map(|piece| Ok::<_, std::io::Error>(piece.to_vec()));
    let stream = Body::from_stream(futures_util::stream::iter(pieces.collect::<Vec<_>>()));
    api.post_text("calls-a", "/v1/calls", stream).await.is_problem(413, "longer than");
}

#[tokio::test]
async fn a_body_that_is_nested_too_deep_is_refused() {
    let api = Api::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"tool":"fake.echo","arguments":{{"a":{deep}}}}}"#);
    api.post_text("calls-a", "/v1/calls", body).await.is_problem(400, "nested too deep");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_doesnt_come_ends_its_request() {
    let api = Api::new();
    let never =
        Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    api.post_text("calls-a", "/v1/calls", never).await.is_problem(408, "didn't arrive");
}

#[tokio::test]
async fn what_a_request_says_is_repeated_harmlessly() {
    let api = Api::new();
    let body = json!({"tool": "fake.echo", "\u{1b}[2J\u{202e}x": 1});
    let answer = api.post("calls-a", "/v1/calls", body).await;
    answer.is_problem(400, "<U+001B>");
    assert!(answer.text.len() < 2_000, "{answer:?}");
    let long = json!({"tool": "fake.echo", "x".repeat(100_000): 1});
    assert!(api.post("calls-a", "/v1/calls", long).await.text.len() < 2_000);
}
