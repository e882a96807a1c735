//! Whole connections: a real host, a real socket, a real WebSocket client.

mod ends;
mod runs;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Extension;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

use super::{Patience, routes_with};
use crate::app::{App, Setup, start};
use crate::config::{CallerSettings, Config, UpstreamSettings, UpstreamWay};
use crate::contract::client::CLIENT_PROTOCOL;
use crate::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use crate::contract::result::ToolResult;
use crate::frontends::access::{Access, Narrowed};
use crate::host::Host;

/// A host that listens, without plugins, for the caller `bot` of level FULL.
struct Served {
    app: App,
    access: Arc<Access>,
    closing: CancellationToken,
    local: SocketAddr,
}

/// Patient enough for a busy machine.
const PATIENT: Patience = Patience {
    register: Duration::from_secs(60),
    ping: Duration::from_secs(60),
    silence: Duration::from_secs(120),
    send: Duration::from_secs(60),
};

impl Served {
    async fn new() -> Self {
        Self::with(PATIENT).await
    }

    async fn with(patience: Patience) -> Self {
        let mut config = Config::default();
        config.callers.push(CallerSettings {
            name: "bot".to_owned(),
            level: PermissionLevel::Full,
            tools: None,
            workspace: None,
            user: None,
            execution_user: None,
        });
        // A server that never starts here.
        config.upstream.push(UpstreamSettings {
            name: "github".parse().unwrap(),
            server_id: 1,
            way: UpstreamWay::Http { url: "http://127.0.0.1:9/".to_owned(), headers: Vec::new() },
            start_timeout_ms: 1_000,
            concurrency: 1,
            limits: Vec::new(),
            tools: Vec::new(),
        });
        let access = Arc::new(Access::new(&config, "bot").unwrap());
        let app = start(&Setup { config, ..Setup::default() }).unwrap();
        let closing = CancellationToken::new();
        let router = routes_with(Arc::new(app.clients.clone()), closing.clone(), patience)
            .layer(Extension(Arc::clone(&access)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let local = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { app, access, closing, local }
    }

    async fn open(&self) -> Client {
        self.open_as(Some(CLIENT_PROTOCOL)).await.unwrap()
    }

    async fn open_as(&self, protocol: Option<&str>) -> Result<Client, Error> {
        let mut request = format!("ws://{}/v1/client", self.local).into_client_request().unwrap();
        if let Some(protocol) = protocol {
            request.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
        }
        connect_async(request).await.map(|(socket, _)| Client(socket))
    }

    /// A client that has registered the tool `run_shell`.
    async fn client(&self, name: &str) -> Client {
        let mut client = self.open().await;
        client.register(name).await;
        assert_eq!(client.told().await["type"], "registered");
        client
    }

    fn host(&self) -> &Host {
        &self.app.host
    }

    fn invocation(&self, tool: &str, arguments: &str) -> ToolInvocation {
        let id = "c1".parse().unwrap();
        let (mode, narrowed) = (ApprovalMode::Deny, Narrowed::default());
        self.access.call(self.host(), id, tool, arguments, mode, &narrowed)
    }

    /// A call on a task of its own.
    fn start(&self, call: ToolInvocation) -> tokio::task::JoinHandle<ToolResult> {
        let host = self.host().clone();
        tokio::spawn(async move { host.call(call).await })
    }
}

struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn say(&mut self, message: Value) {
        self.0.send(Message::Text(message.to_string().into())).await.unwrap();
    }

    async fn register(&mut self, name: &str) {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let tool = json!({"name": "run_shell", "inputSchema": schema});
        self.say(json!({"type": "register", "name": name, "tools": [tool]})).await;
    }

    /// The next message of the host.
    async fn told(&mut self) -> Value {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The code and reason that the connection is closed with, whatever comes before.
    async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.0.next().await.unwrap().unwrap() {
                let frame = frame.unwrap();
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }
}
