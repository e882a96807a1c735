//! Events as they happen.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use futures_util::StreamExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use super::kit::{Api, asking};
use crate::frontends::http::hub::STREAMS_MAX;

/// An open stream.
struct Watching {
    pieces: BodyDataStream,
    text: String,
}

impl Watching {
    async fn new(api: &Api, token: &str, after: Option<&str>) -> Self {
        let mut asking = asking(Method::GET, "/v1/events", token);
        if let Some(after) = after {
            asking = asking.header("last-event-id", after);
        }
        let response =
            api.router.clone().oneshot(asking.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut watching =
            Self { pieces: response.into_body().into_data_stream(), text: String::new() };
        watching.until(": belljar\n\n").await;
        watching
    }

    /// Reads on until these words have come.
    async fn until(&mut self, words: &str) {
        while !self.text.contains(words) {
            let piece = self.pieces.next().await.unwrap().unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }
}

#[tokio::test]
async fn a_caller_sees_events_of_its_own_calls_and_an_operator_all() {
    let api = Api::new();
    let mut own = Watching::new(&api, "calls-a", None).await;
    let mut all = Watching::new(&api, "operates", None).await;
    let call = |id: &str| json!({"tool": "fake.echo", "callId": id});
    api.post("calls-b", "/v1/calls", call("of-b")).await.is(200);
    api.post("calls-a", "/v1/calls", call("of-a")).await.is(200);
    for watching in [&mut own, &mut all] {
        watching.until("\"of-a\",\"type\":\"ToolCallInvoke\"").await;
    }
    assert!(!own.text.contains("of-b"), "{}", own.text);
    assert!(
        all.text.contains("of-b") && all.text.contains("\"type\":\"Decision\""),
        "{}",
        all.text
    );
}

#[tokio::test]
async fn a_caller_that_takes_anothers_call_id_sees_nothing_of_its_call() {
    let api = Api::new();
    let mut other = Watching::new(&api, "calls-b", None).await;
    let call = json!({"tool": "fake.log", "callId": "same"});
    let hang = json!({"tool": "fake.hang", "callId": "same", "background": true});
    api.post("calls-b", "/v1/calls", hang).await.is(202);
    other.until("\"type\":\"AttemptStarted\"").await;
    api.post("calls-a", "/v1/calls", call).await.is(200);
    api.post("calls-b", "/v1/calls", json!({"tool": "fake.echo", "callId": "end"})).await.is(200);
    other.until("\"end\",\"type\":\"ToolCallInvoke\"").await;
    assert!(!other.text.contains("fake.log") && !other.text.contains("\"Log\""), "{}", other.text);
}

#[tokio::test]
async fn a_client_that_is_back_goes_on_behind_what_it_saw() {
    let api = Api::new();
    let mut first = Watching::new(&api, "operates", None).await;
    api.post("calls-a", "/v1/calls", json!({"tool": "fake.echo", "callId": "one"})).await.is(200);
    first.until("\"one\",\"type\":\"ToolCallInvoke\"").await;
    let last = first.text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap();
    let last = last.to_owned();
    drop(first);
    api.post("calls-a", "/v1/calls", json!({"tool": "fake.echo", "callId": "two"})).await.is(200);
    let mut back = Watching::new(&api, "operates", Some(&last)).await;
    back.until("\"two\",\"type\":\"ToolCallInvoke\"").await;
    assert!(!back.text.contains("\"one\"") && !back.text.contains("lagged"), "{}", back.text);
    let wrong = asking(Method::GET, "/v1/events", "operates").header("last-event-id", "x");
    api.send(wrong.body(Body::empty()).unwrap()).await.is_problem(400, "Last-Event-ID");
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_is_kept_alive() {
    let api = Api::new();
    let mut watching = Watching::new(&api, "calls-a", None).await;
    let begun = tokio::time::Instant::now();
    watching.until("\n\n:\n\n").await;
    assert_eq!(begun.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn streams_are_bounded_and_each_gives_its_place_back() {
    let api = Api::new();
    let hub = &api.frontend.0.hub;
    let mut held: Vec<_> = (0..STREAMS_MAX).map(|_| hub.watch(None, None).unwrap()).collect();
    api.get("operates", "/v1/events").await.is_problem(429, "streams of events");
    held.pop();
    Watching::new(&api, "operates", None).await;
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let api = Api::new();
    let mut watching = Watching::new(&api, "operates", None).await;
    api.frontend.0.closing.cancel();
    assert!(watching.pieces.next().await.is_none());
}

#[tokio::test]
async fn t43_two_thousand_idle_watchers_add_nothing_to_a_call() {
    let api = Api::new();
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(Watching::new(&api, "calls-b", None).await);
    }
    // Calls of another caller wake none of them.
    for _ in 0..100 {
        api.call("calls-a", "fake.echo").await.is(200);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let first = &mut idle[0];
    let woken = tokio::time::timeout(Duration::from_millis(1), first.pieces.next()).await;
    assert!(woken.is_err(), "{woken:?}");
}
