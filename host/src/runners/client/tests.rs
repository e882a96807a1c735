//! The gateway without a socket: what is registered, and how requests end, on a paused clock.

mod registering;
mod requests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{ClientSettings, Clients};
use crate::contract::approval::CallerContext;
use crate::contract::attempt::{AskedBy, Attempt, End};
use crate::contract::client::{ClientCall, ClientMessage, HostMessage};
use crate::contract::ids::{Digest, ToolId};
use crate::contract::limits::LimitKind;
use crate::contract::sink::{CallSink, LogLevel, Progress, Stream};
use crate::engine::ports::{
    ClientConnection, ClientError, ClientGateway as _, FoundTool, ToolListing as _, ToolRunner as _,
};
use crate::events::EventBus;
use crate::registry::Catalog;
use crate::runners::{Router, Tools};
use crate::sandbox::Sandbox;

/// Clients around real tools and a real router.
struct Gateway {
    tools: Arc<Tools>,
    router: Router,
    clients: Clients,
    bus: EventBus,
}

impl Gateway {
    fn new() -> Self {
        Self::with(ClientSettings::default())
    }

    fn with(settings: ClientSettings) -> Self {
        let bus = EventBus::new(|| 0);
        let tools = Arc::new(Tools::new(Arc::new(Catalog::default()), bus.clone()));
        let router = Router::new(Arc::clone(&tools), Sandbox::try_new().unwrap());
        Self { clients: Clients::new(Arc::clone(&tools), settings), router, tools, bus }
    }

    fn connect(&self, caller: &str) -> Result<Client, ClientError> {
        let connected = self.clients.connect(&caller_of(caller))?;
        Ok(Client { connection: connected.connection, told: connected.outgoing })
    }

    /// A client that has registered, and what it was told.
    fn client(&self, caller: &str, name: &str, tools: &[Value]) -> (Client, HostMessage) {
        let mut client = self.connect(caller).unwrap();
        client.say(json!({"type": "register", "name": name, "tools": tools})).unwrap();
        let told = client.told.try_recv().unwrap();
        (client, told)
    }

    fn ids(&self) -> Vec<String> {
        self.tools.list().iter().map(|tool| tool.descriptor.id.to_string()).collect()
    }

    fn found(&self, id: &str) -> FoundTool {
        self.tools.named(id).unwrap()
    }

    /// An attempt on a task of its own, of the build that is there.
    fn start(&self, id: &str, try_of: Try) -> JoinHandle<End> {
        let built = self.tools.named(id).map(|tool| tool.descriptor.plugin.digest);
        self.start_built(id, built.unwrap_or(Digest::of(b"")), try_of)
    }

    fn start_built(&self, id: &str, digest: Digest, try_of: Try) -> JoinHandle<End> {
        let (router, id): (_, ToolId) = (self.router.clone(), id.parse().unwrap());
        tokio::spawn(async move { router.run(&id, try_of.attempt(digest)).await.end })
    }
}

fn caller_of(name: &str) -> CallerContext {
    CallerContext { caller: Some(name.to_owned()), ..CallerContext::default() }
}

/// One connected client, by hand.
struct Client {
    connection: Box<dyn ClientConnection>,
    told: mpsc::Receiver<HostMessage>,
}

impl Client {
    fn say(&mut self, message: Value) -> Result<(), ClientError> {
        let message: ClientMessage = serde_json::from_value(message).unwrap();
        self.connection.hear(message)
    }

    async fn called(&mut self) -> ClientCall {
        match self.told.recv().await.unwrap() {
            HostMessage::Call(call) => *call,
            other => panic!("{other:?} is no call"),
        }
    }
}

/// An attempt to be made.
#[derive(Clone)]
struct Try {
    caller: &'static str,
    within: Duration,
    cancel: CancellationToken,
    said: Arc<Said>,
}

impl Default for Try {
    fn default() -> Self {
        let within = Duration::from_secs(900);
        Self { caller: "bot", within, cancel: CancellationToken::new(), said: Arc::default() }
    }
}

impl Try {
    fn attempt(self, digest: Digest) -> Attempt {
        let trace_parent = Some("00-1-2-01".to_owned());
        let by = AskedBy { caller: caller_of(self.caller), digest, trace_parent };
        Attempt {
            call_id: "c1".parse().unwrap(),
            number: 1,
            arguments: Arc::new(serde_json::from_value(json!({"path": "x"})).unwrap()),
            limits: Arc::default(),
            grants: Arc::default(),
            idempotency_key: None,
            deadline: (Instant::now() + self.within).into_std(),
            deadline_kind: LimitKind::AttemptDeadline,
            cancel: self.cancel,
            shares_task: false,
            sink: self.said,
            asked_by: Some(Box::new(by)),
        }
    }
}

/// The progress that was told.
#[derive(Default)]
struct Said(Mutex<Vec<u64>>);

impl CallSink for Said {
    fn progress(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress.done);
    }
    fn log(&self, _level: LogLevel, _message: String) {}
    fn printed(&self, _stream: Stream, _text: String, _dropped: u64) {}
    fn author_note(&self, _text: String) {}
}

fn shell() -> Value {
    json!({"name": "run_shell", "inputSchema": {"type": "object"}})
}

fn result(request_id: &str, content: &str) -> Value {
    json!({"type": "result", "requestId": request_id, "content": content})
}
