//! Bodies that are not as described.

use axum::body::Body;
use axum::http::Method;
use serde_json::json;

use super::kit::{Api, asking};
use crate::frontends::http::budget::SHORT_LEN;

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
    api.post_text("calls-a", "/v1/batches", batch)
        .await
        .is_problem(400, "`calls[0]` is an array: expected an object");
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
        api.post_text("calls-a", "/v1/calls", body).await.is_problem(400, ": expected an object");
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

#[tokio::test]
async fn what_is_wrong_names_its_place_and_no_type_of_ours() {
    let api = Api::new();
    let calls = "the body is not as described: ";
    for (path, body, words) in [
        ("/v1/calls", json!({}), "`tool` is missing"),
        ("/v1/calls", json!({"tool": 5}), "`tool` is a number: expected text"),
        (
            "/v1/calls",
            json!({"tool": "x", "timeoutMs": -1}),
            "`timeoutMs` is a number: expected a whole number of 0 or more",
        ),
        (
            "/v1/calls",
            json!({"tool": "x", "tools": ["a", null]}),
            "`tools[1]` is null: expected text",
        ),
        (
            "/v1/calls",
            json!({"tool": "x", "callId": "a b"}),
            "`callId`: `a b` is not a call id: expected 1 to 128 printable ASCII characters",
        ),
        (
            "/v1/batches",
            json!({"calls": [{"tool": "x"}, {"tool": []}]}),
            "`calls[1].tool` is an array: expected text",
        ),
        ("/v1/batches", json!({"calls": [5]}), "`calls[0]` is a number: expected an object"),
        ("/v1/batches", json!({"calls": {}}), "`calls` is an object: expected an array"),
    ] {
        api.post("calls-a", path, body).await.is_problem(400, &format!("{calls}{words}"));
    }
    let decisions = "/v1/approvals/decisions";
    for (body, words) in [
        (json!({"decision": "once"}), "`decision` is text: expected an object"),
        (json!({"decision": {"decision": "always", "scope": 5}}), "expected text or an object"),
        (json!({"decision": {"decision": "maybe"}}), "`maybe`: expected one of `once`"),
        (json!({"decision": {"decision": "once"}, "ids": ["x"]}), "is not the id of an approval"),
    ] {
        api.post("approves", decisions, body).await.is_problem(400, words);
    }
    for (path, words) in [
        ("/v1/calls/x?wait=soon", "`wait` is no such number: expected a whole number of 0 or more"),
        ("/v1/calls/x?wait=1&wait=2", "`wait` is there twice"),
    ] {
        api.get("calls-a", path).await.is_problem(400, words);
    }
    let half = r#"{"tool":"fake.echo","arguments":{"s":"\ud800"}}"#;
    api.post_text("calls-a", "/v1/calls", half).await.is_problem(400, "is half of a pair");
}

#[tokio::test]
async fn a_name_that_isnt_there_is_repeated_in_short() {
    let api = Api::new();
    let path = format!("/v1/tools/{}%1b%5b2J", "x".repeat(300));
    let answer = api.get("calls-a", &path).await;
    answer.is_problem(404, "there is no tool `xxx");
    assert!(answer.text.len() < 300, "{answer:?}");
    let answer = api.get("calls-a", "/v1/tools/%1b%5b2J").await;
    answer.is_problem(404, "`<U+001B>[2J`");
}

#[tokio::test]
async fn bodies_past_the_room_for_all_are_refused_for_now_and_short_ones_never() {
    let api = Api::new();
    let shared = &api.frontend.0;
    let held: Vec<_> = (0..10_000)
        .map_while(|_| {
            let body = Body::from(vec![b' '; SHORT_LEN + 1]);
            shared.bodies.take(&shared.bodies.of_one(), body).ok()
        })
        .collect();
    let long = json!({"tool": "fake.echo", "arguments": {"a": "x".repeat(900 << 10)}});
    let answer = api.post("calls-a", "/v1/calls", long.clone()).await;
    answer.is_problem(503, "bodies of other requests");
    assert_eq!(answer.header("retry-after"), Some("1"));
    api.call("calls-a", "fake.echo").await.is(200);
    drop(held);
    api.post("calls-a", "/v1/calls", long).await.is(200);
}

#[tokio::test]
async fn a_background_call_keeps_the_room_of_its_body() {
    let api = Api::new();
    let long = json!({"tool": "fake.hang", "callId": "x", "background": true,
        "arguments": {"a": "x".repeat(900 << 10)}});
    let speakers = || api.frontend.0.tokens.speakers();
    let free = || speakers().map(|it| it.bodies.available_permits()).min().unwrap();
    let all = free();
    api.post("calls-a", "/v1/calls", long).await.is(202);
    assert!(free() < all, "it runs");
    api.delete("calls-a", "/v1/calls/x").await.is(202);
    super::kit::until(|| free() == all).await;
}
