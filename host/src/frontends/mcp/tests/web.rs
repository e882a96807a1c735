//! The same over http: whose a request is, what is no request, sessions and their bounds.

mod bounds;
mod tasks;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::kit::{Desk, reader};
use crate::frontends::mcp::McpSettings;
use crate::frontends::mcp::over_http::Web;
use crate::storage::ListFilter;

fn web(desk: &Desk) -> Arc<Web> {
    Arc::new(Web::new(&desk.frontend.shared, CancellationToken::new()))
}

/// A request of the newer era, as its client sends it.
fn modern(desk: &Desk, caller: &str, method: &str, mut params: Value) -> Request<Body> {
    let meta = params["_meta"].as_object().cloned().unwrap_or_default();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params["_meta"].as_object_mut().unwrap().extend(meta);
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = raw(desk, caller, &body.to_string());
    let headers = request.headers_mut();
    headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
    headers.insert("mcp-method", method.parse().unwrap());
    if !name.is_empty() {
        headers.insert("mcp-name", name.parse().unwrap());
    }
    request
}

fn raw(desk: &Desk, caller: &str, body: &str) -> Request<Body> {
    Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .extension(desk.token(caller))
        .body(Body::from(body.to_owned()))
        .unwrap()
}

fn in_session(desk: &Desk, caller: &str, session: &str, body: &Value) -> Request<Body> {
    let mut request = raw(desk, caller, &body.to_string());
    request.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    request
}

/// The messages of an answer, whether they came as JSON or as events.
async fn messages(answer: Response<Body>) -> Vec<Value> {
    let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    let text = String::from_utf8(body.to_vec()).unwrap();
    match serde_json::from_str(&text) {
        Ok(message) => vec![message],
        Err(_) => {
            let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
            lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
        }
    }
}

async fn only(answer: Response<Body>) -> Value {
    let mut all = messages(answer).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// A session of the older era.
async fn begin(desk: &Desk, web: &Web, caller: &str) -> Response<Body> {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "0"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    web.answer(raw(desk, caller, &body.to_string())).await
}

async fn session(desk: &Desk, web: &Web, caller: &str) -> String {
    let answer = begin(desk, web, caller).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    assert_eq!(only(answer).await["result"]["protocolVersion"], "2025-11-25");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = web.answer(in_session(desk, caller, &session, &told)).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    session
}

fn call(id: i64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

#[tokio::test]
async fn a_request_of_nobody_is_refused() {
    let desk = Desk::new();
    let mut request = modern(&desk, "mcp", "tools/list", json!({}));
    request.extensions_mut().clear();
    assert_eq!(web(&desk).answer(request).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_modern_request_stands_alone_and_is_its_callers() {
    let desk = Desk::new();
    let web = web(&desk);
    let params = json!({"name": "fake_echo", "arguments": {"n": 18_446_744_073_709_551_615_u64}});
    let done = only(web.answer(modern(&desk, "mcp", "tools/call", params.clone())).await).await;
    assert_eq!(done["result"]["content"][0]["text"], "{\"n\":18446744073709551615}", "{done}");
    let refused = web.answer(modern(&desk, "eve", "tools/call", params)).await;
    assert_eq!(only(refused).await["error"]["code"], -32602);
    let listed = only(web.answer(modern(&desk, "eve", "tools/list", json!({}))).await).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn headers_that_say_something_else_than_the_body_are_refused() {
    let desk = Desk::new();
    let web = web(&desk);
    for (header, value) in [("mcp-name", "fake_write"), ("mcp-method", "tools/list")] {
        let mut request = modern(&desk, "mcp", "tools/call", json!({"name": "fake_read"}));
        request.headers_mut().insert(header, value.parse().unwrap());
        let answer = web.answer(request).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert_eq!(only(answer).await["error"]["code"], -32020, "{header}");
    }
    assert_eq!(desk.runner.begun.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn bodies_that_are_no_single_request_are_refused() {
    let mut settings = McpSettings::default();
    settings.bounds.message_bytes = 1_000;
    let desk = Desk::with(settings);
    let web = web(&desk);
    let null =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":null}}"#;
    let long = format!("\"{}\"", "x".repeat(2_000));
    for (body, status, code) in [
        ("{", 400, -32700),
        ("[]", 400, -32600),
        ("5", 400, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":["accept",{"decision":"approve"},null]}"#,
            400,
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400, -32600),
        (null, 400, -32602),
        (&long, 413, -32600),
    ] {
        let answer = web.answer(raw(&desk, "mcp", body)).await;
        assert_eq!(answer.status().as_u16(), status, "{body}");
        assert_eq!(only(answer).await["error"]["code"], code, "{body}");
    }
}

#[tokio::test]
async fn t27_a_client_that_closes_its_stream_cancels_its_call() {
    let desk = Desk::new();
    let web = web(&desk);
    let request = modern(&desk, "mcp", "tools/call", json!({"name": "fake_slow"}));
    let open = {
        let web = Arc::clone(&web);
        tokio::spawn(async move { messages(web.answer(request).await).await })
    };
    while desk.runner.begun.load(Ordering::SeqCst) < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    open.abort();
    while desk.runner.stopped.load(Ordering::SeqCst) < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let after = modern(&desk, "mcp", "tools/call", json!({"name": "fake_read"}));
    assert_eq!(only(web.answer(after).await).await["result"]["isError"], false);
}

#[tokio::test]
async fn progress_comes_before_the_answer_on_its_stream() {
    let desk = Desk::new();
    let params = json!({"name": "fake_steps", "_meta": {"progressToken": 7}});
    let all = messages(web(&desk).answer(modern(&desk, "mcp", "tools/call", params)).await).await;
    let steps: Vec<_> = all.iter().map(|it| it["params"]["progress"].clone()).collect();
    assert_eq!(steps, [json!(1.0), json!(2.0), json!(5.0), Value::Null], "{all:?}");
}

#[tokio::test]
async fn a_session_is_its_callers_alone_and_a_strange_one_isnt_there() {
    let desk = Desk::new();
    let web = web(&desk);
    let session = session(&desk, &web, "mcp").await;
    let mine = web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_read"))).await;
    assert_eq!(only(mine).await["result"]["isError"], false);
    for (caller, named) in [("eve", session.as_str()), ("mcp", "made-up")] {
        let answer = web.answer(in_session(&desk, caller, named, &call(2, "fake_read"))).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        let mut listen = in_session(&desk, caller, named, &Value::Null);
        *listen.method_mut() = axum::http::Method::GET;
        assert_eq!(web.answer(listen).await.status(), StatusCode::NOT_FOUND);
    }
    let mut end = in_session(&desk, "mcp", &session, &Value::Null);
    *end.method_mut() = axum::http::Method::DELETE;
    assert!(web.answer(end).await.status().is_success());
    let gone = web.answer(in_session(&desk, "mcp", &session, &call(3, "fake_read"))).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_open_id_of_a_session_is_refused_and_one_call_too_many_too() {
    let mut settings = McpSettings::default();
    settings.bounds.in_flight = 2;
    let desk = Desk::with(settings);
    let web = web(&desk);
    let session = session(&desk, &web, "mcp").await;
    let first = web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_slow"))).await;
    let twice = web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_read"))).await;
    assert_eq!(only(twice).await["error"]["code"], -32600);
    let second = web.answer(in_session(&desk, "mcp", &session, &call(2, "fake_slow"))).await;
    let third = web.answer(in_session(&desk, "mcp", &session, &call(3, "fake_read"))).await;
    assert_eq!(only(third).await["error"]["code"], 429);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    web.answer(in_session(&desk, "mcp", &session, &cancel)).await;
    let fourth = web.answer(in_session(&desk, "mcp", &session, &call(4, "fake_read"))).await;
    assert_eq!(only(fourth).await["result"]["isError"], false);
    drop((first, second));
}

#[tokio::test]
async fn the_id_of_a_request_whose_stream_was_closed_isnt_free() {
    let desk = Desk::new();
    let web = web(&desk);
    let session = session(&desk, &web, "mcp").await;
    drop(web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_slow"))).await);
    let again = web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_read"))).await;
    assert_eq!(only(again).await["error"]["code"], -32600);
    for _ in 0..2 {
        let read = web.answer(in_session(&desk, "mcp", &session, &call(2, "fake_read"))).await;
        assert_eq!(only(read).await["result"]["isError"], false, "one that was answered is free");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_doesnt_come_is_not_waited_for() {
    let desk = Desk::new();
    let mut request = raw(&desk, "mcp", "");
    let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    *request.body_mut() = Body::from_stream(never);
    assert_eq!(web(&desk).answer(request).await.status(), StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test]
async fn one_session_more_than_the_bound_is_refused_and_a_silent_one_ends() {
    let mut settings = McpSettings::default();
    (settings.bounds.sessions, settings.bounds.session_idle) = (1, Duration::from_millis(100));
    let desk = Desk::with(settings);
    let web = web(&desk);
    let first = begin(&desk, &web, "mcp").await;
    assert_eq!(first.status(), StatusCode::OK);
    let refused = begin(&desk, &web, "mcp").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(first);
    while begin(&desk, &web, "mcp").await.status() != StatusCode::OK {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_modern_client_listens_over_http() {
    let desk = Desk::new();
    let web = web(&desk);
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let answer = web.answer(modern(&desk, "mcp", "subscriptions/listen", wanted)).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let mut stream = answer.into_body().into_data_stream();
    let mut told = String::new();
    desk.tools.set(vec![reader("fake.read")]);
    while !told.contains("tools/list_changed") {
        use futures_util::StreamExt as _;
        let part = tokio::time::timeout(Duration::from_secs(20), stream.next()).await;
        told.push_str(std::str::from_utf8(&part.unwrap().unwrap().unwrap()).unwrap());
    }
    assert!(told.contains("subscriptions/acknowledged"), "{told}");
}

#[tokio::test]
async fn t31_what_a_session_asked_ends_with_it() {
    let desk = Desk::new();
    let web = web(&desk);
    let session = session(&desk, &web, "mcp").await;
    let asked = web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_write"))).await;
    assert_eq!(only(asked).await["result"]["isError"], true);
    let pending = || desk.host.approvals().list(&ListFilter::pending()).unwrap();
    assert_eq!(pending().len(), 1);
    let mut end = in_session(&desk, "mcp", &session, &Value::Null);
    *end.method_mut() = axum::http::Method::DELETE;
    web.answer(end).await;
    while !pending().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A call that runs when the server is told to end, and its answer.
async fn ended_by_shutdown(drain: Duration, release: bool) -> Value {
    let desk = Desk::with(McpSettings { drain, ..McpSettings::default() });
    let shutdown = CancellationToken::new();
    let web = Arc::new(Web::new(&desk.frontend.shared, shutdown.clone()));
    let slow = modern(&desk, "mcp", "tools/call", json!({"name": "fake_slow"}));
    let answer = tokio::spawn(async move { only(web.answer(slow).await).await });
    while desk.runner.begun.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    shutdown.cancel();
    if release {
        desk.runner.released.cancel();
    }
    answer.await.unwrap()
}

#[tokio::test]
async fn at_the_end_a_call_may_end_by_itself_and_is_answered_in_any_case() {
    let done = ended_by_shutdown(Duration::from_secs(60), true).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
    let cut = ended_by_shutdown(Duration::from_millis(1), false).await;
    let told = &cut["result"]["_meta"]["belljar/result"]["outcome"];
    assert_eq!(told, "interrupted", "{cut}");
}
