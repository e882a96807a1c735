//! Calls, batches, attachments and the list of tools.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use super::kit::{Api, asking};
use crate::frontends::http::tokens::AT_ONCE;

#[tokio::test]
async fn a5_a_call_answers_with_its_result() {
    let api = Api::new();
    let body =
        json!({"tool": "fake.echo", "arguments": {"a": 1}, "callId": "c 1".replace(' ', "-")});
    let result = api.post("calls-a", "/v1/calls", body).await.is(200);
    assert_eq!(result["callId"], "c-1");
    assert_eq!(result["status"], "success");
    assert_eq!(result["content"], r#"{"a":1}"#);
    assert!(result.get("errorMessage").is_none(), "absent, never null: {result}");
}

#[tokio::test]
async fn a4_arguments_may_come_as_text_and_only_once() {
    let api = Api::new();
    let body = json!({"tool": "fake_echo", "argumentsJson": "{\"a\": 1.0}"});
    let result = api.post("calls-a", "/v1/calls", body).await.is(200);
    assert_eq!(result["content"], r#"{"a":1}"#);
    let both = json!({"tool": "fake.echo", "arguments": {}, "argumentsJson": "{}"});
    api.post("calls-a", "/v1/calls", both).await.is_problem(400, "expected one of them");
}

#[tokio::test]
async fn arguments_that_the_tool_refuses_are_an_outcome_and_a_tool_that_isnt_there_is_not() {
    let api = Api::new();
    let body = json!({"tool": "fake.echo", "arguments": {"bad": 1}});
    let result = api.post("calls-a", "/v1/calls", body).await.is(200);
    assert_eq!(result["outcome"], "invalid_arguments", "{result}");
    let answer = api.call("calls-a", "fake.ecko").await;
    answer.is_problem(404, "");
    assert_eq!(answer.json()["result"]["outcome"], "not_found");
}

#[tokio::test]
async fn a17_a_panic_of_a_runner_is_an_outcome_of_that_call() {
    let api = Api::new();
    let result = api.call("calls-a", "fake.panic").await.is(200);
    assert_eq!((&result["outcome"], &result["status"]), (&json!("host_fault"), &json!("error")));
}

#[tokio::test]
async fn a_panic_outside_a_call_is_a_problem_document() {
    let api = Api::new();
    let broken = axum::Router::new()
        .route("/mcp", axum::routing::get(async || -> String { panic!("here: /home/x") }));
    let router = api.frontend.router(broken);
    let request = asking(Method::GET, "/mcp", "calls-a").body(Body::empty()).unwrap();
    let response = tower::ServiceExt::oneshot(router, request).await.unwrap();
    assert_eq!(response.status(), 500);
    let text = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    assert!(!String::from_utf8_lossy(&text).contains("/home"), "{text:?}");
}

#[tokio::test]
async fn what_serves_callers_is_behind_the_same_doors_and_finds_whom_it_serves() {
    use crate::frontends::access::Access;
    use std::sync::Arc;
    let api = Api::new();
    let who = async |access: axum::Extension<Arc<Access>>| {
        access.context().caller.clone().unwrap_or_default()
    };
    let router = api.frontend.router(axum::Router::new().route("/mcp", axum::routing::get(who)));
    let ask = async |token: &str, host: &str| {
        let mut request = asking(Method::GET, "/mcp", token).body(Body::empty()).unwrap();
        request.headers_mut().insert("host", host.parse().unwrap());
        let response = tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
        let status = response.status().as_u16();
        let text = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, String::from_utf8_lossy(&text).into_owned())
    };
    assert_eq!(ask("calls-a", "localhost:8808").await, (200, "a".to_owned()));
    assert_eq!(ask("calls-b", "localhost:8808").await, (200, "b".to_owned()));
    assert_eq!(ask("operates", "localhost:8808").await.0, 403);
    assert_eq!(ask("", "localhost:8808").await.0, 401);
    assert_eq!(ask("calls-a", "evil.test").await.0, 403);
}

#[tokio::test]
async fn t5_a_batch_answers_in_its_order_with_ids_of_its_own() {
    let api = Api::new();
    let call = |id: &str, n: u32| json!({"tool": "fake.echo", "callId": id, "arguments": {"n": n}});
    let body = json!({"calls": [call("x", 1), call("x", 2), {"tool": "no.such"}]});
    let ended = api.post("calls-a", "/v1/batches", body).await.is(200);
    let results = ended["results"].as_array().unwrap();
    let contents: Vec<_> = results.iter().map(|it| it["content"].as_str().unwrap()).collect();
    assert_eq!(contents[..2], [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert_eq!(results[2]["outcome"], "not_found");
    assert_eq!(ended["renamed"], json!([{"index": 1, "from": "x", "to": "x~2"}]));
    let none = api.post("calls-a", "/v1/batches", json!({"calls": []})).await.is(200);
    assert_eq!(none, json!({"results": [], "renamed": []}));
}

#[tokio::test]
async fn a_batch_is_bounded_and_waited_for() {
    let api = Api::new();
    let calls = vec![json!({"tool": "fake.echo"}); 257];
    api.post("calls-a", "/v1/batches", json!({"calls": calls}))
        .await
        .is_problem(400, "at most 256");
    let body = json!({"calls": [{"tool": "fake.echo", "background": true}]});
    api.post("calls-a", "/v1/batches", body).await.is_problem(400, "background");
}

#[tokio::test]
async fn an_attachment_is_given_as_bytes_that_no_browser_shows() {
    let api = Api::new();
    let body = json!({"tool": "fake.blob", "callId": "a/b"});
    let result = api.post("calls-a", "/v1/calls", body).await.is(200);
    assert_eq!(result["attachments"][0]["uri"], "belljar://result/a%2Fb/0");
    let path = "/v1/results/a%2Fb/0";
    let answer = api.get("calls-a", path).await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, "<script>"));
    assert_eq!(answer.header("content-type"), Some("text/html"));
    assert_eq!(answer.header("content-disposition"), Some("attachment"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-security-policy").unwrap().starts_with("sandbox"));
    api.get("calls-b", path).await.is_problem(404, "left that");
    api.get("calls-a", "/v1/results/a%2Fb/1").await.is_problem(404, "left that");
    api.get("calls-a", "/v1/results/a%2Fb/x").await.is_problem(404, "nothing of that name");
}

#[tokio::test]
async fn tools_are_listed_for_whoever_asks() {
    let api = Api::new();
    let ids = |listed: &Value| -> Vec<String> {
        let tools = listed["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = api.get("calls-a", "/v1/tools").await.is(200);
    assert_eq!(ids(&all).len(), 8, "{all}");
    assert!(all.get("nextCursor").is_none());
    assert_eq!(ids(&api.get("calls-b", "/v1/tools").await.is(200)), ["fake.echo", "fake.hang"]);
    let rest = api.get("calls-b", "/v1/tools?cursor=fake.echo").await.is(200);
    assert_eq!(ids(&rest), ["fake.hang"]);
    api.get("calls-a", "/v1/tools?cursor=x").await.is_problem(400, "`cursor`");
    api.get("calls-a", "/v1/tools?curser=x").await.is_problem(400, "unknown member");
    let one = api.get("calls-a", "/v1/tools/fake_echo").await.is(200);
    assert_eq!(one["inputSchema"]["type"], "object");
}

#[tokio::test]
async fn a_token_has_so_many_requests_answered_at_once_and_no_more() {
    let api = Api::new();
    let hang = || {
        let request = asking(Method::POST, "/v1/calls", "calls-a")
            .header("content-type", "application/json")
            .body(Body::from(r#"{"tool":"fake.hang"}"#))
            .unwrap();
        tokio::spawn(tower::ServiceExt::oneshot(api.router.clone(), request))
    };
    let held: Vec<_> = (0..AT_ONCE).map(|_| hang()).collect();
    super::kit::until(|| api.running.now() == AT_ONCE).await;
    let answer = api.call("calls-a", "fake.echo").await;
    answer.is_problem(429, "are being answered already");
    assert_eq!(answer.header("retry-after"), Some("1"));
    api.call("calls-b", "fake.echo").await.is(200);
    held.iter().for_each(tokio::task::JoinHandle::abort);
    super::kit::until(|| api.running.now() == 0).await;
    api.call("calls-a", "fake.echo").await.is(200);
}
