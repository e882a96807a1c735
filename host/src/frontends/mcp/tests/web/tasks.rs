//! Tasks over http: they outlive their requests, and are their token's alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::kit::Desk;
use super::super::tasks::begun;
use super::{modern, only};
use crate::frontends::access::Access;
use crate::frontends::held::Held;
use crate::frontends::mcp::McpSettings;
use crate::frontends::mcp::over_http::Web;
use crate::storage::ListFilter;

/// The same of a client that takes tasks, by the token whose access it is.
fn taking(desk: &Desk, access: &Arc<Access>, method: &str, mut params: Value) -> Request<Body> {
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let name = params["taskId"].as_str().map(str::to_owned);
    let mut request = modern(desk, "mcp", method, params);
    if let Some(name) = name {
        request.headers_mut().insert("mcp-name", name.parse().unwrap());
    }
    request.extensions_mut().insert(Arc::clone(access));
    request
}

/// A server whose calls soon are tasks, and end soon when it does.
fn impatient() -> Desk {
    let mut settings = McpSettings { drain: Duration::from_millis(20), ..McpSettings::default() };
    settings.bounds.task_grace = Duration::from_millis(1);
    Desk::with(settings)
}

#[tokio::test]
async fn a_task_keeps_the_room_for_its_arguments_and_nothing_else_of_its_request() {
    let desk = impatient();
    let shutdown = CancellationToken::new();
    let web = Web::new(&desk.frontend.shared, shutdown.clone());
    let token = Arc::new(desk.access("mcp"));
    let (place, room) = (Arc::new("a place"), Arc::new("room"));
    let mut slow = taking(&desk, &token, "tools/call", json!({"name": "fake_slow"}));
    slow.extensions_mut().insert(Arc::clone(&place));
    slow.extensions_mut().insert(Held::new(Arc::clone(&room) as _));
    let made = only(web.answer(slow).await).await;
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    while Arc::strong_count(&place) > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Arc::strong_count(&room), 2, "the task runs, with its arguments");
    shutdown.cancel();
    desk.frontend.idle().await;
    assert_eq!(Arc::strong_count(&room), 1);
}

#[tokio::test]
async fn a_task_over_http_outlives_its_request_is_its_tokens_and_ends_with_the_server() {
    let desk = impatient();
    let shutdown = CancellationToken::new();
    let web = Web::new(&desk.frontend.shared, shutdown.clone());
    let token = Arc::new(desk.access("mcp"));
    let slow = taking(&desk, &token, "tools/call", json!({"name": "fake_slow"}));
    let made = only(web.answer(slow).await).await;
    let id = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}"));
    begun(&desk).await;
    let asked = json!({"taskId": id});
    let get = |access: &Arc<Access>| taking(&desk, access, "tasks/get", asked.clone());
    for _ in 0..3 {
        let stands = only(web.answer(get(&token)).await).await;
        assert_eq!(stands["result"]["status"], "working", "{stands}");
    }
    let another = Arc::new(desk.access("mcp"));
    for method in ["tasks/get", "tasks/cancel"] {
        let theirs = web.answer(taking(&desk, &another, method, asked.clone())).await;
        assert_eq!(only(theirs).await["error"]["code"], -32602, "{method}");
    }
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 0);
    shutdown.cancel();
    desk.frontend.idle().await;
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_a_task_over_http_asked_stays_when_the_server_leaves_and_the_call_is_handed_back() {
    let desk = Desk::new();
    let shutdown = CancellationToken::new();
    let web = Web::new(&desk.frontend.shared, shutdown.clone());
    let token = desk.token("mcp");
    let write = taking(&desk, &token, "tools/call", json!({"name": "fake_write"}));
    let made = only(web.answer(write).await).await;
    let id = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}"));
    shutdown.cancel();
    desk.frontend.idle().await;
    let ended = desk.frontend.shared.tasks.get(&token, id).unwrap();
    let ended = serde_json::to_value(&ended).unwrap();
    let told = &ended["result"]["_meta"]["belljar/result"];
    assert_eq!(
        (&ended["status"], &told["outcome"]),
        (&json!("completed"), &json!("approval_pending"))
    );
    assert_eq!(desk.host.approvals().list(&ListFilter::pending()).unwrap().len(), 1);
}
