//! What gate, canonical arguments, events and audit log cost: the engine over a runner that answers
//! at once, with each part switched off in turn.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar::app::{Setup, start};
use belljar::contract::arguments::ArgumentCheck;
use belljar::contract::attempt::{Attempt, AttemptEnd, End, ReturnCase, Returned};
use belljar::contract::ids::ToolId;
use belljar::contract::result::Usage;
use belljar::engine::ports::{FoundTool, ToolLookup, ToolRunner};
use belljar::engine::{Engine, EngineParts, EngineSettings};
use belljar::events::{EventBus, Journal, JournalOptions, unix_ms};
use belljar::gate::approval::{ApprovalQueue, ApprovalSettings};
use belljar::gate::{Policy, PolicySettings};
use belljar::storage::SqliteStore;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 40;
const CALLS_A_ROUND: usize = 500;

/// One tool, and no other.
struct Only(FoundTool);

impl ToolLookup for Only {
    fn find(&self, _name: &str) -> Option<FoundTool> {
        Some(self.0.clone())
    }

    fn near(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Answers at once.
struct AtOnce;

#[async_trait::async_trait]
impl ToolRunner for AtOnce {
    async fn run(&self, _tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        let value = Some(Value::String("352441c2".into()));
        let (case, attachments) = (ReturnCase::Plain, Vec::new());
        let end = End::Returned(Returned { case, value, wrapped: true, attachments });
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

/// What is switched on.
#[derive(Clone, Copy)]
struct Lane {
    name: &'static str,
    gate: bool,
    journal: bool,
    watched: bool,
    /// Otherwise the tool isn't proven read-only, and its start is synced.
    read_only: bool,
}

const LANES: [Lane; 6] = [
    Lane { name: "nothing", gate: false, journal: false, watched: false, read_only: true },
    Lane { name: "gate", gate: true, journal: false, watched: false, read_only: true },
    Lane { name: "watchedEvents", gate: false, journal: false, watched: true, read_only: true },
    Lane { name: "journal", gate: false, journal: true, watched: false, read_only: true },
    Lane { name: "all", gate: true, journal: true, watched: false, read_only: true },
    Lane { name: "allSynced", gate: true, journal: true, watched: false, read_only: false },
];

fn tool(read_only: bool) -> FoundTool {
    let app = start(&Setup { builtins: true, ..Setup::default() }).expect("a host");
    let tool = app.host.catalog().tool("codec.hash").expect("it is a builtin").clone();
    let mut descriptor = tool.descriptor.as_ref().clone();
    if !read_only {
        descriptor.effects.read_only.value = false;
    }
    let check = Arc::clone(tool.sandboxed.entry()) as Arc<dyn ArgumentCheck>;
    FoundTool { descriptor: Arc::new(descriptor), check, grants: tool.grants, owner: None }
}

fn engine(lane: Lane, folder: &Path, bus: &EventBus) -> Engine {
    let store = Arc::new(SqliteStore::at(folder.join(lane.name).join("approvals.sqlite")));
    let settings = ApprovalSettings::default();
    let approvals = ApprovalQueue::new(store.clone(), bus.clone(), unix_ms, settings, None);
    let policy = PolicySettings { enabled: lane.gate, ..PolicySettings::default() };
    let journal = lane.journal.then(|| {
        let folder = folder.join(lane.name);
        std::fs::create_dir(&folder).expect("a folder");
        Journal::open(&folder.join("audit"), JournalOptions::default(), unix_ms)
            .expect("an audit log")
            .0
    });
    Engine::new(EngineParts {
        lookup: Arc::new(Only(tool(lane.read_only))),
        runner: Arc::new(AtOnce),
        bus: bus.clone(),
        policy: Arc::new(Policy::new(&policy).expect("a policy")),
        approvals,
        results: store,
        journal,
        settings: EngineSettings::default(),
        clock: unix_ms,
        levels: None,
    })
    .expect("an engine")
}

/// p50 of a call of each lane, the lanes in turn.
pub(crate) async fn measure(folder: &Path, figures: &mut Map<String, Value>) {
    let buses: Vec<_> = LANES.iter().map(|_| EventBus::new(unix_ms)).collect();
    let lanes: Vec<_> =
        LANES.iter().zip(&buses).map(|(lane, bus)| engine(*lane, folder, bus)).collect();
    let watchers: Vec<_> =
        LANES.iter().zip(&buses).map(|(lane, bus)| lane.watched.then(|| bus.watch())).collect();
    let mut took: Vec<Vec<Duration>> = vec![Vec::new(); LANES.len()];
    for _ in 0..ROUNDS {
        for (engine, took) in lanes.iter().zip(&mut took) {
            for mut call in super::calls(CALLS_A_ROUND) {
                call.permission_level = belljar::contract::invocation::PermissionLevel::Full;
                let began = Instant::now();
                engine.call(call, CancellationToken::new()).await;
                took.push(began.elapsed());
            }
        }
    }
    drop(watchers);
    let mut lane_us = Map::new();
    for (lane, mut took) in LANES.iter().zip(took) {
        took.sort_unstable();
        let us = |at: usize| (took[at].as_secs_f64() * 1e8).round() / 100.0;
        let (p50, p99) = (us(took.len() / 2), us(took.len() * 99 / 100));
        lane_us.insert(lane.name.into(), json!({"p50": p50, "p99": p99}));
    }
    figures.insert("engineUs".into(), Value::Object(lane_us));
}
