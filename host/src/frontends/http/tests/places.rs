//! How much one token may hold: requests, streams, connections.

use axum::body::Body;
use axum::http::Method;
use axum::response::Response;
use serde_json::json;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tower::ServiceExt as _;

use super::kit::{Api, FLOOD_LEN, asking, until};
use crate::contract::client::CLIENT_PROTOCOL;
use crate::frontends::http::client;
use crate::frontends::http::tokens::{AT_ONCE, STREAMS_OF_ONE};

/// The head of an answer, whose body nobody reads yet.
async fn begun(api: &Api, token: &str, path: &str) -> Response {
    let asking = asking(Method::GET, path, token).body(Body::empty()).unwrap();
    api.router.clone().oneshot(asking).await.unwrap()
}

#[tokio::test]
async fn a_request_has_its_place_until_its_answer_is_through() {
    let api = Api::new();
    let body = json!({"tool": "fake.blob", "callId": "x"});
    api.post("calls-a", "/v1/calls", body).await.is(200);
    let mut held = Vec::new();
    for _ in 0..AT_ONCE {
        held.push(begun(&api, "calls-a", "/v1/results/x/0").await);
    }
    assert!(held.iter().all(|answer| answer.status() == 200));
    api.get("calls-a", "/v1/tools").await.is_problem(429, "requests of this token");
    api.get("calls-b", "/v1/tools").await.is(200);
    // Given up, or read to its end.
    drop(held.pop());
    api.get("calls-a", "/v1/tools").await.is(200);
    let mut whole = held.pop().unwrap().into_body().into_data_stream();
    while futures_util::StreamExt::next(&mut whole).await.is_some() {}
    api.get("calls-a", "/v1/tools").await.is(200);
}

#[tokio::test]
async fn who_does_not_take_long_answers_is_not_served_until_it_does() {
    let api = Api::new();
    api.post("calls-a", "/v1/calls", json!({"tool": "fake.flood", "callId": "x"})).await.is(200);
    let mut held = Vec::new();
    for _ in 0..=(128 << 20) / FLOOD_LEN {
        held.push(begun(&api, "calls-a", "/v1/results/x/0").await);
        assert_eq!(held.last().unwrap().status(), 200);
    }
    api.get("calls-a", "/v1/tools").await.is_problem(503, "take those first");
    api.get("calls-b", "/v1/tools").await.is(200);
    held.pop();
    api.get("calls-a", "/v1/tools").await.is(200);
}

#[tokio::test]
async fn streams_of_events_of_one_token_leave_room_for_anothers() {
    let api = Api::new();
    let mut held = Vec::new();
    for _ in 0..STREAMS_OF_ONE {
        held.push(begun(&api, "operates", "/v1/events").await);
    }
    assert!(held.iter().all(|answer| answer.status() == 200));
    api.get("operates", "/v1/events").await.is_problem(429, "of this token");
    api.get("operates", "/v1/audit/head").await.is_problem(404, "no audit log");
    assert_eq!(begun(&api, "calls-a", "/v1/events").await.status(), 200);
    held.pop();
    assert_eq!(begun(&api, "operates", "/v1/events").await.status(), 200);
}

#[tokio::test]
async fn a_websocket_has_a_place_of_its_token_until_it_ends() {
    let api = Api::new();
    let closing = api.frontend.0.closing.clone();
    let clients = std::sync::Arc::new(api.app.clients.clone());
    let router = api.frontend.router(client::routes(clients, closing.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = listener.local_addr().unwrap();
    let frontend = api.frontend.clone();
    let ends = closing.child_token();
    tokio::spawn(async move {
        frontend.run(listener, router, ends, std::time::Duration::ZERO).await.unwrap();
    });
    let mut request = format!("ws://{local}/v1/client").into_client_request().unwrap();
    for (name, value) in [
        ("host", "localhost:8808"),
        ("authorization", "Bearer calls-a"),
        ("sec-websocket-protocol", CLIENT_PROTOCOL),
    ] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let (socket, _) = connect_async(request).await.unwrap();
    let places = || api.frontend.0.tokens.speakers().map(|it| it.places.available_permits()).min();
    assert_eq!(places(), Some(AT_ONCE - 1));
    drop(socket);
    until(|| places() == Some(AT_ONCE)).await;
    closing.cancel();
}
