//! How much one caller may have open over http, and how a refusal reads.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::super::kit::Desk;
use super::{begin, call, in_session, modern, only, raw, session, web};
use crate::frontends::mcp::McpSettings;

#[tokio::test]
async fn one_request_more_of_a_caller_than_may_be_open_is_refused_and_its_place_comes_back() {
    let mut settings = McpSettings::default();
    settings.bounds.in_flight = 2;
    let desk = Desk::with(settings);
    let web = web(&desk);
    let mut open = Vec::new();
    for token in [desk.token("mcp"), Arc::new(desk.access("mcp"))] {
        let mut request = modern(&desk, "mcp", "tools/call", json!({"name": "fake_slow"}));
        request.extensions_mut().insert(token);
        let web = Arc::clone(&web);
        open.push(tokio::spawn(async move { only(web.answer(request).await).await }));
    }
    while desk.runner.begun.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let read = || modern(&desk, "mcp", "tools/call", json!({"name": "fake_read"}));
    let refused = web.answer(read()).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let refused = only(refused).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(429)), "{refused}");
    let other = modern(&desk, "eve", "tools/call", json!({"name": "fake_read"}));
    assert_eq!(only(web.answer(other).await).await["result"]["isError"], false, "another caller");
    desk.runner.released.cancel();
    for answer in open {
        assert_eq!(answer.await.unwrap()["result"]["isError"], false);
    }
    assert_eq!(only(web.answer(read()).await).await["result"]["isError"], false);
    // A stream that is open holds its place, and gives it back when it is closed.
    let wanted = || json!({"notifications": {"toolsListChanged": true}});
    let listening = [
        web.answer(modern(&desk, "mcp", "subscriptions/listen", wanted())).await,
        web.answer(modern(&desk, "mcp", "subscriptions/listen", wanted())).await,
    ];
    assert_eq!(web.answer(read()).await.status(), StatusCode::TOO_MANY_REQUESTS);
    drop(listening);
    assert_eq!(web.answer(read()).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn one_session_more_than_its_caller_may_have_is_refused_and_others_begin_theirs() {
    let mut settings = McpSettings::default();
    settings.bounds.sessions_of_one = 1;
    let desk = Desk::with(settings);
    let web = web(&desk);
    let first = session(&desk, &web, "mcp").await;
    let refused = begin(&desk, &web, "mcp").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(only(refused).await["error"]["code"], 429);
    session(&desk, &web, "eve").await;
    let mut end = in_session(&desk, "mcp", &first, &Value::Null);
    *end.method_mut() = axum::http::Method::DELETE;
    web.answer(end).await;
    while begin(&desk, &web, "mcp").await.status() != StatusCode::OK {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_session_isnt_there_for_another_token_of_its_caller() {
    let desk = Desk::new();
    let web = web(&desk);
    let session = session(&desk, &web, "mcp").await;
    let mut request = in_session(&desk, "mcp", &session, &call(1, "fake_read"));
    request.extensions_mut().insert(Arc::new(desk.access("mcp")));
    assert_eq!(web.answer(request).await.status(), StatusCode::NOT_FOUND);
    let mine = web.answer(in_session(&desk, "mcp", &session, &call(1, "fake_read"))).await;
    assert_eq!(only(mine).await["result"]["isError"], false);
}

#[tokio::test]
async fn every_refusal_of_ours_is_an_error_of_json_rpc() {
    let mut settings = McpSettings::default();
    (settings.bounds.message_bytes, settings.bounds.sessions) = (1_000, 0);
    let desk = Desk::with(settings);
    let web = web(&desk);
    let mut nobodys = raw(&desk, "mcp", "{}");
    nobodys.extensions_mut().clear();
    let beginning = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}});
    for (request, status, code) in [
        (nobodys, 401, -32600),
        (in_session(&desk, "mcp", "made-up", &call(1, "fake_read")), 404, -32600),
        (raw(&desk, "mcp", "{"), 400, -32700),
        (raw(&desk, "mcp", &"x".repeat(2_000)), 413, -32600),
        (raw(&desk, "mcp", &beginning.to_string()), 503, 429),
    ] {
        let answer = web.answer(request).await;
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(answer.headers()["content-type"], "application/json");
        let told = only(answer).await;
        // Where there was one to be read.
        let id = if status == 503 { json!(0) } else { Value::Null };
        assert_eq!((&told["jsonrpc"], &told["id"]), (&json!("2.0"), &id), "{told}");
        assert_eq!(told["error"]["code"], code, "{told}");
        assert!(told["error"]["message"].is_string(), "{told}");
    }
}
