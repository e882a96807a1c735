//! A host whose tools do as their names say, and a client that speaks lines.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{self, Config, McpApprovals, Sources, Surroundings};
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd, End, ReturnCase, Returned};
use crate::contract::descriptor::{Isolation, ToolDescriptor, ToolExecutor, ToolSource, example};
use crate::contract::effects::Effect;
use crate::contract::grants::{Grants, ToolGrants};
use crate::contract::ids::ToolId;
use crate::contract::result::{Attachment, AttachmentKind, MissingGrant, Usage};
use crate::contract::sink::Progress;
use crate::engine::ports::{FoundTool, ToolListing, ToolLookup, ToolRunner};
use crate::engine::{Engine, EngineParts, EngineSettings};
use crate::events::{EventBus, EventStream, unix_ms};
use crate::frontends::access::Access;
use crate::frontends::mcp::{McpFrontend, McpSettings};
use crate::gate::approval::{ApprovalQueue, ApprovalSettings};
use crate::gate::{Policy, PolicySettings};
use crate::host::{Host, HostParts};
use crate::registry::Catalog;
use crate::storage::SqliteStore;

/// How long a test waits for a line before it fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tools that may come and go.
pub(super) struct Tools {
    all: Mutex<Arc<[FoundTool]>>,
    revision: watch::Sender<u64>,
}

impl Tools {
    pub(super) fn set(&self, tools: Vec<ToolDescriptor>) {
        let mut tools = tools;
        tools.sort_by_key(|tool| tool.id.to_string());
        let found = tools.into_iter().map(|tool| FoundTool {
            descriptor: Arc::new(tool),
            check: Arc::new(RefuseBad),
            grants: ToolGrants::Fixed(Arc::new(Grants::default())),
            owner: None,
        });
        *self.all.lock().unwrap() = found.collect();
        self.revision.send_modify(|revision| *revision += 1);
    }
}

impl ToolListing for Tools {
    fn list(&self) -> Arc<[FoundTool]> {
        Arc::clone(&self.all.lock().unwrap())
    }

    fn named(&self, name: &str) -> Option<FoundTool> {
        let is = |it: &&FoundTool| {
            it.descriptor.wire_name == name || it.descriptor.id.to_string() == name
        };
        self.list().iter().find(is).cloned()
    }

    fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}

impl ToolLookup for Tools {
    fn find(&self, name: &str) -> Option<FoundTool> {
        self.named(name)
    }

    fn near(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }
}

struct RefuseBad;

impl ArgumentCheck for RefuseBad {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        match args.get("bad") {
            None => Ok(args),
            Some(_) => Err(vec![ArgumentFailure::new("/bad", "isn't wanted")]),
        }
    }
}

/// Does what the tool's name says.
#[derive(Default)]
pub(super) struct Runner {
    /// Attempts that began.
    pub(super) begun: AtomicUsize,
    /// Attempts that were cancelled.
    pub(super) stopped: AtomicUsize,
    pub(super) seen: Mutex<Vec<Attempt>>,
    /// Cancelled when slow tools may end by themselves.
    pub(super) released: CancellationToken,
}

#[async_trait::async_trait]
impl ToolRunner for Runner {
    async fn run(&self, tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().unwrap().push(attempt.clone());
        let (mut missing_grants, mut attachments) = (Vec::new(), Vec::new());
        let (mut case, mut value) = (ReturnCase::Plain, json!("fine"));
        match tool.tool.as_str() {
            "slow" => tokio::select! {
                () = self.released.cancelled() => {}
                () = attempt.cancel.cancelled() => {
                self.stopped.fetch_add(1, Ordering::SeqCst);
                let usage = Usage::default();
                return AttemptEnd { end: End::Interrupted, usage, missing_grants };
                }
            },
            "echo" => value = json!(attempt.arguments.canonical()),
            "fails" => {
                if attempt.arguments.canonical().contains("slow") {
                    self.released.cancelled().await;
                }
                (case, value) = (ReturnCase::Err, json!({"message": "no such file"}));
            }
            "lies" => value = json!(7),
            "steps" => {
                for done in [1, 2, 2, 1, 5] {
                    let message = Some(format!("step {done}"));
                    attempt.sink.progress(Progress { done, total: Some(5), message });
                }
            }
            "wants" => missing_grants.push(MissingGrant {
                kind: "dir".into(),
                tried: "to open `x`".into(),
                grant: Some("--dir HOST:/x".into()),
                why: None,
            }),
            "shows" => attachments = pictures(attempt.call_id.as_str()),
            _ => {}
        }
        let end = End::Returned(Returned { case, value: Some(value), wrapped: true, attachments });
        AttemptEnd { end, usage: Usage::default(), missing_grants }
    }
}

fn pictures(call: &str) -> Vec<Attachment> {
    let kinds = [
        (AttachmentKind::Image, "image/png"),
        (AttachmentKind::Audio, "audio/wav"),
        (AttachmentKind::Resource { target: "note://1".into() }, "text/plain"),
        (
            AttachmentKind::ResourceLink { target: "https://x.test/".into(), name: "x".into() },
            "a/b",
        ),
        (AttachmentKind::Blob, "application/octet-stream"),
    ];
    let made = kinds.into_iter().enumerate().map(|(at, (kind, mime))| {
        let is_link = matches!(kind, AttachmentKind::ResourceLink { .. });
        let bytes = if is_link { Vec::new() } else { b"abc".to_vec() };
        let (uri, mime_type) = (format!("belljar://result/{call}/{at}"), Some(mime.to_owned()));
        Attachment { uri, kind, mime_type, size: bytes.len() as u64, bytes }
    });
    made.collect()
}

/// A tool that every level lets through.
pub(super) fn reader(id: &str) -> ToolDescriptor {
    let mut tool = example(id, Effect::proven(true));
    tool.effects.destructive = Effect::proven(false);
    tool.output_schema = Some(json!({
        "type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"],
    }));
    tool
}

/// A tool that a person is asked about.
pub(super) fn writer(id: &str) -> ToolDescriptor {
    let mut tool = example(id, Effect::assumed(false));
    tool.effects.destructive = Effect::assumed(true);
    tool.title = Some("Write \u{202e}it".into());
    tool
}

pub(super) fn config(text: &str) -> Config {
    let sources =
        Sources { option: None, surroundings: Surroundings::read(|_| None), builtins: &[] };
    config::from_text(text, Path::new("/etc/belljar/belljar.toml"), &sources).unwrap()
}

/// A host with its server.
pub(super) struct Desk {
    pub(super) host: Host,
    pub(super) tools: Arc<Tools>,
    pub(super) runner: Arc<Runner>,
    pub(super) frontend: McpFrontend,
    pub(super) config: Config,
    pub(super) bus: EventBus,
    pub(super) store: Arc<SqliteStore>,
    /// Those who come over http.
    #[cfg(feature = "http")]
    tokens: Mutex<std::collections::HashMap<String, Arc<Access>>>,
    /// Somebody who watches, and so could answer.
    _watcher: EventStream,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self::with(McpSettings::default())
    }

    pub(super) fn asking(approvals: McpApprovals) -> Self {
        Self::with(McpSettings { approvals, ..McpSettings::default() })
    }

    pub(super) fn with(settings: McpSettings) -> Self {
        let bus = EventBus::new(unix_ms);
        let store = Arc::new(SqliteStore::in_memory().unwrap());
        let asks = ApprovalSettings { hand_back: Duration::from_millis(50), ..Default::default() };
        let approvals =
            ApprovalQueue::new(Arc::clone(&store) as _, bus.clone(), unix_ms, asks, None);
        let tools =
            Arc::new(Tools { all: Mutex::new(Arc::new([])), revision: watch::channel(0).0 });
        let ids = ["echo", "fails", "lies", "read", "shows", "slow", "steps", "wants"];
        let mut all: Vec<_> = ids.iter().map(|id| reader(&format!("fake.{id}"))).collect();
        if let Some(lies) = all.iter_mut().find(|tool| tool.wire_name == "fake_lies") {
            (lies.source, lies.executor) = (ToolSource::Mcp, ToolExecutor::McpServer);
            lies.isolation = Isolation::None;
            lies.output_schema = Some(json!({
                "type": "object", "properties": {"result": {"type": "boolean"}},
                "required": ["result"],
            }));
        }
        all.push(writer("fake.write"));
        tools.set(all);
        let runner = Arc::new(Runner::default());
        let engine = Engine::new(EngineParts {
            lookup: Arc::clone(&tools) as _,
            runner: Arc::clone(&runner) as _,
            bus: bus.clone(),
            policy: Arc::new(Policy::new(&PolicySettings::default()).unwrap()),
            approvals: approvals.clone(),
            results: Arc::clone(&store) as _,
            journal: None,
            settings: EngineSettings::default(),
            clock: unix_ms,
            levels: None,
        });
        let _watcher = bus.watch();
        let host = Host::new(HostParts {
            engine: engine.unwrap(),
            catalog: Arc::new(Catalog::default()),
            tools: Arc::clone(&tools) as _,
            bus: bus.clone(),
            approvals,
            journal: None,
        });
        let frontend = McpFrontend::new(host.clone(), settings).unwrap();
        let config = config("[callers.eve]\nlevel = \"FULL\"\ntools = [\"fake.r*\"]\n");
        Self {
            host,
            tools,
            runner,
            frontend,
            config,
            bus,
            store,
            #[cfg(feature = "http")]
            tokens: Mutex::default(),
            _watcher,
        }
    }

    pub(super) fn access(&self, caller: &str) -> Access {
        Access::new(&self.config, caller).unwrap()
    }

    /// The access of a token of this caller, the same each time.
    #[cfg(feature = "http")]
    pub(super) fn token(&self, caller: &str) -> Arc<Access> {
        let mut tokens = self.tokens.lock().unwrap();
        let of = tokens.entry(caller.to_owned()).or_insert_with(|| Arc::new(self.access(caller)));
        Arc::clone(of)
    }

    /// A connection of the caller `mcp`.
    pub(super) fn connect(&self) -> Client {
        self.connect_as("mcp")
    }

    pub(super) fn connect_as(&self, caller: &str) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (from, to) = tokio::io::split(theirs);
        let (frontend, access) = (self.frontend.clone(), self.access(caller));
        let shutdown = CancellationToken::new();
        let stop = shutdown.clone();
        let served = tokio::spawn(async move { frontend.serve(access, from, to, stop).await });
        let (from, to) = tokio::io::split(ours);
        Client {
            from: BufReader::new(from),
            to,
            shutdown,
            served,
            modern: true,
            capabilities: json!({}),
        }
    }

    /// A connection of the older era that has shaken hands.
    pub(super) async fn shaken(&self, version: &str, capabilities: Value) -> Client {
        let mut client = self.connect();
        client.modern = false;
        let params = json!({"protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "0"}});
        let answer = client.ask(0, "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        client
    }
}

/// A client of one connection.
pub(super) struct Client {
    from: BufReader<ReadHalf<DuplexStream>>,
    to: WriteHalf<DuplexStream>,
    pub(super) shutdown: CancellationToken,
    pub(super) served: JoinHandle<Result<(), crate::frontends::mcp::McpError>>,
    /// Whether its requests say all that 2026-07-28 asks for.
    pub(super) modern: bool,
    pub(super) capabilities: Value,
}

impl Client {
    pub(super) async fn line(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    /// A request with the metadata that its era asks for.
    pub(super) fn request(&self, id: impl Into<Value>, method: &str, mut params: Value) -> Value {
        if self.modern {
            let meta = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
            params["_meta"].as_object_mut().unwrap().extend(meta);
        }
        json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
    }

    pub(super) async fn send(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let request = self.request(id, method, params);
        self.line(&request.to_string()).await;
    }

    /// The next line.
    pub(super) async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.from.read_line(&mut line)).await;
        assert_ne!(read.expect("a line in time").unwrap(), 0, "the connection ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Whether the server ended the connection, without another line.
    pub(super) async fn ended(&mut self) -> bool {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.from.read_line(&mut line)).await;
        read.expect("an end in time").unwrap() == 0
    }

    /// A line whose newline is still to come.
    pub(super) async fn unended(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).await.unwrap();
    }

    /// Closes its own half.
    pub(super) async fn half_close(&mut self) {
        self.to.shutdown().await.unwrap();
    }

    pub(super) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        let id = id.into();
        self.send(id.clone(), method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(super) async fn call(
        &mut self,
        id: impl Into<Value>,
        tool: &str,
        arguments: Value,
    ) -> Value {
        self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// The answer to a request, whatever comes before it.
    pub(super) async fn until_id(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        loop {
            let line = self.next().await;
            if line["id"] == id && line.get("method").is_none() {
                return line;
            }
        }
    }

    /// The answer to a call, whatever comes before it.
    pub(super) async fn until_id_of(&mut self, id: i64, tool: &str) -> Value {
        self.send(id, "tools/call", json!({"name": tool})).await;
        self.until_id(id).await
    }
}
