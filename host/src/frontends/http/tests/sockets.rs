//! What connections do: close, stall, say too little, and end with the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::kit::{Api, PORT, until};
use crate::frontends::http::HttpError;

/// A server that listens, under the name of another port.
struct Served {
    api: Api,
    address: SocketAddr,
    shutdown: CancellationToken,
    running: JoinHandle<Result<(), HttpError>>,
}

impl Served {
    async fn new(drain: Duration) -> Self {
        Self::within(64, drain).await
    }

    /// With places for so many connections.
    async fn within(places: usize, drain: Duration) -> Self {
        let places = Arc::new(Semaphore::new(places));
        let api = Api::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
        let (frontend, router, stop) = (api.frontend.clone(), api.router.clone(), shutdown.clone());
        let running = tokio::spawn(async move {
            frontend.run_within(places, listener, router, stop, drain).await
        });
        Self { api, address, shutdown, running }
    }

    async fn connect(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }
}

fn call(tool: &str) -> String {
    let body = format!(r#"{{"tool":"{tool}"}}"#);
    let length = body.len();
    format!(
        "POST /v1/calls HTTP/1.1\r\nhost: localhost:{PORT}\r\nauthorization: Bearer calls-a\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn get(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost:{PORT}\r\nauthorization: Bearer calls-a\r\n\r\n"
    )
}

/// Reads on until these words have come.
async fn seen(stream: &mut TcpStream, words: &str) {
    let mut text = String::new();
    while !text.contains(words) {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
}

async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.ok();
    String::from_utf8_lossy(&text).into_owned()
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn t27_a_client_that_goes_away_ends_its_call() {
    let served = Served::new(LONG).await;
    let running = &served.api.running;
    let gone = served.connect(&call("fake.hang")).await;
    until(|| running.now() == 1).await;
    drop(gone);
    until(|| running.now() == 0).await;
}

#[tokio::test]
async fn a_client_that_has_only_said_all_is_answered() {
    let served = Served::new(Duration::ZERO).await;
    for asks in
        [call("fake.echo"), get("/v1/tools"), format!("{}{}", get("/v1/x"), call("fake.echo"))]
    {
        let mut half = served.connect(&asks).await;
        half.shutdown().await.unwrap();
        let text = rest(half).await;
        assert!(text.contains("\"success\"") || text.contains("\"tools\":"), "{text}");
    }
    // Also where the answer takes its time: it is told apart from one that has gone.
    let mut half = served.connect(&call("fake.hang")).await;
    until(|| served.api.running.now() == 1).await;
    half.shutdown().await.unwrap();
    seen(&mut half, "HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(served.api.running.now(), 1);
    served.shutdown.cancel();
    let text = rest(half).await;
    assert!(text.contains("\"outcome\":\"interrupted\""), "{text}");
    served.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn of_http_10_and_of_a_stream_the_end_of_one_side_is_the_end() {
    let served = Served::new(LONG).await;
    let mut old = served.connect(&call("fake.hang").replacen("HTTP/1.1", "HTTP/1.0", 1)).await;
    until(|| served.api.running.now() == 1).await;
    old.shutdown().await.unwrap();
    until(|| served.api.running.now() == 0).await;
    assert_eq!(rest(old).await, "", "it knows no interim answer");
    let mut watching = served.connect(&get("/v1/events")).await;
    seen(&mut watching, ": belljar").await;
    watching.shutdown().await.unwrap();
    rest(watching).await;
}

#[tokio::test]
async fn a_body_that_stops_with_its_client_is_refused_at_once() {
    let served = Served::new(LONG).await;
    let whole = call("fake.echo");
    let mut half = served.connect(&whole[..whole.len() - 3]).await;
    half.shutdown().await.unwrap();
    let text = rest(half).await;
    assert!(text.contains("HTTP/1.1 400") && text.contains("broke off"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_on_which_nobody_known_speaks_is_ended_soon() {
    let served = Served::new(LONG).await;
    let began = tokio::time::Instant::now();
    let health = format!("GET /healthz HTTP/1.1\r\nhost: localhost:{PORT}\r\n\r\n");
    for begun in ["", "GET /healthz HTTP/1.1\r\nhost: local", health.as_str()] {
        rest(served.connect(begun).await).await;
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    let began = tokio::time::Instant::now();
    rest(served.connect(&get("/v1/tools")).await).await;
    assert!(began.elapsed() >= Duration::from_secs(29), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn where_no_connection_is_free_a_strangers_ends_for_the_next() {
    let served = Served::within(1, LONG).await;
    let began = tokio::time::Instant::now();
    let stranger = served.connect("").await;
    let mut next = served.connect(&get("/v1/tools")).await;
    seen(&mut next, "HTTP/1.1 200").await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(rest(stranger).await, "");
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let served = Served::new(LONG).await;
    let mut stream = served.connect(&call("fake.echo")).await;
    for _ in 0..3 {
        seen(&mut stream, "\"outcome\":\"success\"").await;
        stream.write_all(call("fake.echo").as_bytes()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_doesnt_come_and_an_idle_connection_are_ended() {
    let served = Served::new(LONG).await;
    for begun in ["", "GET /healthz HTTP/1.1\r\nhost: local"] {
        let stream = served.connect(begun).await;
        // The clock goes on by itself where everybody waits.
        let text = rest(stream).await;
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 408"), "{text}");
    }
}

#[tokio::test]
async fn told_to_end_it_lets_calls_end_first() {
    let served = Served::new(LONG).await;
    let idle = served.connect("").await;
    let watching = served.connect(&get("/v1/events")).await;
    let waiting = served.connect(&call("fake.hang")).await;
    until(|| served.api.running.now() == 1).await;
    served.shutdown.cancel();
    assert!(rest(watching).await.contains(": belljar"));
    assert_eq!(rest(idle).await, "");
    assert_eq!(served.api.running.now(), 1, "it is still waited for");
    assert!(!served.running.is_finished());
    until(|| served.api.running.now() == 1).await;
    assert!(TcpStream::connect(served.address).await.is_err(), "nothing new is accepted");
    drop(waiting);
    served.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_runs_longer_than_that_is_cancelled_and_still_answered() {
    let served = Served::new(Duration::ZERO).await;
    let waiting = served.connect(&call("fake.hang")).await;
    until(|| served.api.running.now() == 1).await;
    served.shutdown.cancel();
    let answer = rest(waiting).await;
    assert!(answer.contains("\"outcome\":\"interrupted\""), "{answer}");
    served.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_background_call_is_waited_for_and_then_cancelled() {
    let served = Served::new(Duration::from_millis(1)).await;
    let body = serde_json::json!({"tool": "fake.hang", "background": true});
    served.api.post("calls-a", "/v1/calls", body).await.is(202);
    until(|| served.api.running.now() == 1).await;
    served.shutdown.cancel();
    served.running.await.unwrap().unwrap();
    assert_eq!(served.api.running.now(), 0);
}

#[tokio::test]
async fn connections_are_bounded_and_a_stream_of_events_takes_no_place_among_them() {
    let served = Served::within(1, LONG).await;
    let mut watching = served.connect(&get("/v1/events")).await;
    seen(&mut watching, ": belljar").await;
    let only = served.connect(&call("fake.hang")).await;
    until(|| served.api.running.now() == 1).await;
    let mut next = served.connect(&call("fake.echo")).await;
    let early = tokio::time::timeout(Duration::from_millis(20), next.read_u8()).await;
    assert!(early.is_err(), "there is no place for it: {early:?}");
    drop(only);
    seen(&mut next, "\"outcome\":\"success\"").await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_loses_its_connection() {
    let served = Served::within(1, LONG).await;
    let body = serde_json::json!({"tool": "fake.flood", "callId": "x"});
    served.api.post("calls-a", "/v1/calls", body).await.is(200);
    let mut stalled = served.connect(&get("/v1/results/x/0")).await;
    seen(&mut stalled, "HTTP/1.1 200").await;
    // The clock goes on by itself where everybody waits.
    let mut next = served.connect(&get("/v1/tools")).await;
    seen(&mut next, "HTTP/1.1 200").await;
}
