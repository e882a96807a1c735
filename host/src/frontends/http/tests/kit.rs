//! A host with tools that do as they are named, an API over it, and requests to it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, request};
use axum::response::Response;
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use crate::app::{App, Setup, start};
use crate::config::{Config, Sources, from_text};
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd, End, ReturnCase, Returned};
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;
use crate::contract::grants::{DirGrant, DirMode, Grants, ToolGrants};
use crate::contract::ids::{Digest, ToolId};
use crate::contract::result::{Attachment, AttachmentKind, Usage};
use crate::contract::sink::LogLevel;
use crate::engine::ports::{FoundTool, ToolRunner};
use crate::frontends::http::doors::Peer;
use crate::frontends::http::{HttpFrontend, HttpParts};
use crate::runners::OutsideTools;

/// Bytes that `fake.flood` leaves: more than the system holds of a connection that nobody reads, and
/// not more than is kept of one call.
pub(super) const FLOOD_LEN: usize = 15 << 20;

/// The port that requests are made under.
pub(super) const PORT: u16 = 8808;

/// The folder of this machine that `fake.disk` may use.
pub(super) const HOST_PATH: &str = "/srv/the-operators-own";

/// What every configuration has: a token for each role, whose text is its name, and one of another
/// caller.
pub(super) const TOKENS: &str = r#"
[callers.a]
level = "READ_WRITE"
[callers.b]
level = "FULL"
tools = ["fake.echo", "fake.hang"]
[approvals]
hand_back = "1ms"
"#;

/// Whether a tool is running now.
#[derive(Debug, Default)]
pub(super) struct Running(AtomicUsize);

impl Running {
    pub(super) fn now(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Runner(Arc<Running>);

struct Alive(Arc<Running>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait::async_trait]
impl ToolRunner for Runner {
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        self.0.0.fetch_add(1, Ordering::SeqCst);
        let _alive = Alive(Arc::clone(&self.0));
        let text = |text: &str| Some(Value::String(text.to_owned()));
        let mut attachments = Vec::new();
        let value = match tool.tool.as_str() {
            "hang" => {
                attempt.cancel.cancelled().await;
                let end = End::Interrupted;
                return AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() };
            }
            "panic" => panic!("a runner that panics"),
            "blob" | "flood" => {
                let is_flood = tool.tool.as_str() == "flood";
                let bytes = if is_flood { vec![b'x'; FLOOD_LEN] } else { b"<script>".to_vec() };
                attachments.push(Attachment {
                    uri: crate::contract::normalise::result_uri(&attempt.call_id, 0),
                    kind: AttachmentKind::Blob,
                    mime_type: Some("text/html".into()),
                    size: bytes.len() as u64,
                    bytes,
                });
                text("one")
            }
            "log" => {
                attempt.sink.log(LogLevel::Info, "the word is swordfish-1234".into());
                text("said")
            }
            _ => text(attempt.arguments.canonical()),
        };
        let end =
            End::Returned(Returned { case: ReturnCase::Plain, value, wrapped: true, attachments });
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

/// Refuses an argument `bad`.
struct RefuseBad;

impl ArgumentCheck for RefuseBad {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        match args.get("bad") {
            None => Ok(args),
            Some(_) => Err(vec![ArgumentFailure::new("/bad", "isn't wanted")]),
        }
    }
}

/// A host and its API.
pub(super) struct Api {
    pub(super) app: App,
    pub(super) frontend: HttpFrontend,
    pub(super) router: Router,
    pub(super) running: Arc<Running>,
    folder: Option<tempfile::TempDir>,
}

fn found(name: &str) -> FoundTool {
    // All but one are proven harmless.
    let is_harmless = !matches!(name, "fake.write" | "fake.disk");
    let effect = if is_harmless { Effect::proven(true) } else { Effect::assumed(false) };
    let mut grants = Grants::default();
    if name == "fake.disk" {
        let (host, guest) = (HOST_PATH.into(), "/desk".to_owned());
        grants.add_dir(DirGrant { host, guest, mode: DirMode::ReadWrite }).unwrap();
    }
    FoundTool {
        descriptor: Arc::new(example(name, effect)),
        check: Arc::new(RefuseBad),
        grants: ToolGrants::Fixed(Arc::new(grants)),
        owner: None,
    }
}

/// A configuration with these lines and the tokens.
pub(super) fn config(more: &str) -> Config {
    let token = |name: &str, caller: &str, roles: &str| {
        let caller =
            if caller.is_empty() { String::new() } else { format!("caller = \"{caller}\"\n") };
        let digest = Digest::of(name.as_bytes());
        format!("[tokens.{name}]\nsha256 = \"{digest}\"\n{caller}roles = [{roles}]\n")
    };
    let tokens = [
        token("calls-a", "a", "\"caller\""),
        token("calls-b", "b", "\"caller\""),
        token("both-a", "a", "\"caller\", \"approver\""),
        token("approves", "", "\"approver\""),
        token("operates", "", "\"operator\""),
    ];
    let text = format!("{more}\n{TOKENS}{}", tokens.concat());
    from_text(&text, Path::new("/nowhere/belljar.toml"), &Sources::default()).unwrap()
}

impl Api {
    pub(super) fn new() -> Self {
        Self::with("")
    }

    /// With these lines more in its configuration.
    pub(super) fn with(more: &str) -> Self {
        Self::of(config(more), None)
    }

    pub(super) fn configured(config: Config) -> Self {
        Self::of(config, None)
    }

    /// With an audit log.
    pub(super) fn recording() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config("");
        config.state = Some(folder.path().join("state"));
        Self::of(config, Some(folder))
    }

    fn of(mut config: Config, folder: Option<tempfile::TempDir>) -> Self {
        if folder.is_none() {
            config.state = None;
        }
        let app = start(&Setup { config: config.clone(), ..Setup::default() }).unwrap();
        let running = Arc::new(Running::default());
        let names = ["echo", "hang", "panic", "blob", "flood", "log", "write", "disk"];
        let tools = names.map(|name| found(&format!("fake.{name}"))).to_vec();
        let runner = Arc::new(Runner(Arc::clone(&running)));
        app.tools.put(&"fake".parse().unwrap(), OutsideTools { tools, runner }).unwrap();
        let frontend = HttpFrontend::new(HttpParts {
            host: app.host.clone(),
            config: Arc::new(config),
            local: SocketAddr::from(([127, 0, 0, 1], PORT)),
            expose: None,
        });
        let frontend = frontend.unwrap();
        let router = frontend.router(Router::new());
        Self { app, frontend, router, running, folder }
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Answer {
        Answer::of(self.router.clone().oneshot(request).await.unwrap()).await
    }

    pub(super) async fn get(&self, token: &str, path: &str) -> Answer {
        self.send(asking(Method::GET, path, token).body(Body::empty()).unwrap()).await
    }

    pub(super) async fn delete(&self, token: &str, path: &str) -> Answer {
        self.send(asking(Method::DELETE, path, token).body(Body::empty()).unwrap()).await
    }

    pub(super) async fn post(&self, token: &str, path: &str, body: Value) -> Answer {
        self.post_text(token, path, body.to_string()).await
    }

    pub(super) async fn post_text(&self, token: &str, path: &str, body: impl Into<Body>) -> Answer {
        let asking = asking(Method::POST, path, token).header("content-type", "application/json");
        self.send(asking.body(body.into()).unwrap()).await
    }

    /// The events of a caller, as far as the ends of two calls.
    pub(super) async fn seen_by(&self, token: &str) -> String {
        let events = asking(Method::GET, "/v1/events", token).header("last-event-id", "0");
        let response = self.router.clone().oneshot(events.body(Body::empty()).unwrap());
        let mut pieces = response.await.unwrap().into_body().into_data_stream();
        let mut text = String::new();
        while text.matches("\"type\":\"ToolCallInvoke\"").count() < 2 {
            let piece = pieces.next().await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(&piece));
        }
        text
    }

    /// Calls a tool of the host.
    pub(super) async fn call(&self, token: &str, tool: &str) -> Answer {
        self.post(token, "/v1/calls", json!({"tool": tool})).await
    }

    /// The folder that everything is kept in.
    pub(super) fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }
}

/// A request from this machine under the server's own name.
pub(super) fn asking(method: Method, path: &str, token: &str) -> request::Builder {
    let builder = Request::builder().method(method).uri(path);
    let builder = builder.header("host", format!("127.0.0.1:{PORT}"));
    let builder = builder.extension(Peer(SocketAddr::from(([127, 0, 0, 1], 50_000))));
    match token {
        "" => builder,
        token => builder.header("authorization", format!("Bearer {token}")),
    }
}

/// An answer, read whole.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: axum::http::HeaderMap,
    pub(super) text: String,
}

impl Answer {
    async fn of(response: Response) -> Self {
        let (head, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Self { status: head.status, headers: head.headers, text }
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Holds that it is a whole problem document with these words in its one sentence.
    #[track_caller]
    pub(super) fn is_problem(&self, status: u16, words: &str) {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let document = self.json();
        assert_eq!(document["status"], status, "{self:?}");
        assert!(document["detail"].as_str().unwrap().contains(words), "{words}: {self:?}");
    }

    /// Holds that it is this, and gives its JSON.
    #[track_caller]
    pub(super) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self.json()
    }
}

/// Waits, a moment at a time, until that is so.
pub(super) async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}
