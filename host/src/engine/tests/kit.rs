//! A host of fake tools and a fake runner around a real engine, gate, queue and store.

mod calls;
mod runner;
mod tools;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(super) use self::calls::*;
pub(super) use self::runner::*;
pub(super) use self::tools::*;
use crate::contract::approval::ApprovalDecision;
use crate::contract::ids::ApprovalId;
use crate::contract::invocation::ToolInvocation;
use crate::contract::result::ToolResult;
use crate::engine::ports::LiveLevels;
use crate::engine::{Engine, EngineParts, EngineSettings};
use crate::events::{Clock, Entry, EventBus, EventKind, EventStream, Filter, Journal, Seen, read};
use crate::gate::approval::{ApprovalHook, ApprovalQueue, ApprovalSettings};
use crate::gate::{Policy, PolicySettings};
use crate::storage::{ListFilter, ResultStore, SqliteStore, Summary};

/// What the clock says where a test sets none.
pub(super) const NOW: u64 = 1_700_000_000_000;

/// A host to be made.
pub(super) struct Setup {
    pub(super) policy: PolicySettings,
    pub(super) settings: EngineSettings,
    pub(super) store: Arc<SqliteStore>,
    /// Where results are kept, if not in the store.
    pub(super) results: Option<Arc<dyn ResultStore>>,
    pub(super) journal: Option<(Journal, PathBuf)>,
    pub(super) hook: Option<Arc<dyn ApprovalHook>>,
    pub(super) clock: Clock,
    /// Whether somebody watches the bus, and so could answer.
    pub(super) watched: bool,
    pub(super) levels: Option<Arc<dyn LiveLevels>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            policy: PolicySettings::default(),
            settings: EngineSettings::default(),
            store: Arc::new(SqliteStore::in_memory().unwrap()),
            results: None,
            journal: None,
            hook: None,
            clock: || NOW,
            watched: true,
            levels: None,
        }
    }
}

/// An engine with all that is around it.
pub(super) struct Host {
    pub(super) engine: Engine,
    pub(super) tools: Arc<Tools>,
    pub(super) runner: Arc<Runner>,
    pub(super) queue: ApprovalQueue,
    pub(super) store: Arc<SqliteStore>,
    pub(super) events: Option<EventStream>,
}

impl Setup {
    /// The host, whose tools are `fake.read`, `fake.write` and `fake.pay`; each answers `fine`.
    pub(super) fn host(self) -> Host {
        self.host_with(|policy| policy)
    }

    pub(super) fn host_with(self, policy: impl FnOnce(Policy) -> Policy) -> Host {
        let Self { policy: rules, settings, store, results, journal, hook, clock, watched, levels } =
            self;
        let bus = EventBus::new(clock);
        let events = watched.then(|| bus.watch());
        let asks = ApprovalSettings::default();
        let queue = ApprovalQueue::new(Arc::clone(&store) as _, bus.clone(), clock, asks, hook);
        if let Some((journal, _)) = &journal {
            queue.record_in(journal.clone());
        }
        let runner = Arc::new(Runner::new(journal.clone()));
        let tools = Arc::new(Tools::default());
        for tool in [reader("fake.read"), writer("fake.write"), writer("fake.pay")] {
            tools.put(tool, no_grants());
        }
        let engine = Engine::new(EngineParts {
            lookup: Arc::clone(&tools) as _,
            runner: Arc::clone(&runner) as _,
            bus,
            policy: Arc::new(policy(Policy::new(&rules).unwrap())),
            approvals: queue.clone(),
            results: results.unwrap_or_else(|| Arc::clone(&store) as _),
            journal: journal.map(|(journal, _)| journal),
            settings,
            clock,
            levels,
        });
        Host { engine: engine.unwrap(), tools, runner, queue, store, events }
    }
}

impl Host {
    pub(super) fn new() -> Self {
        Setup::default().host()
    }

    pub(super) async fn call(&self, call: ToolInvocation) -> ToolResult {
        self.engine.call(call, CancellationToken::new()).await
    }

    /// A call on a task of its own.
    pub(super) fn start(&self, call: ToolInvocation) -> JoinHandle<ToolResult> {
        self.start_with(call, CancellationToken::new())
    }

    pub(super) fn start_with(
        &self,
        call: ToolInvocation,
        cancel: CancellationToken,
    ) -> JoinHandle<ToolResult> {
        let engine = self.engine.clone();
        tokio::spawn(async move { engine.call(call, cancel).await })
    }

    pub(super) async fn batch(&self, calls: Vec<ToolInvocation>) -> Vec<ToolResult> {
        self.engine.batch(calls, CancellationToken::new(), |_, _| {}).await
    }

    /// A batch on a task of its own.
    pub(super) fn start_batch(&self, calls: Vec<ToolInvocation>) -> JoinHandle<Vec<ToolResult>> {
        let engine = self.engine.clone();
        tokio::spawn(async move { engine.batch(calls, CancellationToken::new(), |_, _| {}).await })
    }

    /// Waits for the next event that `wanted` makes something of.
    pub(super) async fn until<T>(
        &mut self,
        mut wanted: impl FnMut(&str, &EventKind) -> Option<T>,
    ) -> T {
        let events = self.events.as_mut().unwrap();
        loop {
            let Seen::Event(event) = events.next().await.unwrap() else { continue };
            let call_id = event.call_id.as_ref().map_or("", |id| id.as_str());
            if let Some(found) = wanted(call_id, &event.kind) {
                return found;
            }
        }
    }

    /// Waits until a person is asked: for which call, and by which request.
    pub(super) async fn asked(&mut self) -> (String, ApprovalId) {
        self.until(|call_id, kind| match kind {
            EventKind::ToolApprovalRequest { request_id, .. } => {
                Some((call_id.to_owned(), request_id.clone()))
            }
            _ => None,
        })
        .await
    }

    /// Waits until an attempt starts.
    pub(super) async fn attempt_started(&mut self) {
        self.until(|_, kind| matches!(kind, EventKind::AttemptStarted { .. }).then_some(())).await;
    }

    pub(super) fn decide(&self, id: &ApprovalId, decision: ApprovalDecision) {
        self.queue.decide(id, decision, ann()).unwrap();
    }

    pub(super) fn pending(&self) -> Vec<Summary> {
        self.queue.list(&ListFilter::pending()).unwrap()
    }

    /// The events there are by now, as JSON.
    pub(super) fn told(&mut self) -> Vec<Value> {
        let events = self.events.as_mut().unwrap();
        std::iter::from_fn(|| events.try_next())
            .map(|seen| match seen {
                Seen::Event(event) => serde_json::to_value(event.as_ref()).unwrap(),
                Seen::Missed(missed) => panic!("{missed} events were missed"),
            })
            .collect()
    }

    /// Of those, the ones of a kind.
    pub(super) fn told_of(&mut self, kind: &str) -> Vec<Value> {
        self.told().into_iter().filter(|event| event["type"] == kind).collect()
    }
}

/// A folder that a store takes: closed to others.
pub(super) fn private_folder() -> tempfile::TempDir {
    let closed = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(closed).tempdir().unwrap()
}

/// What lies in the audit log.
pub(super) fn log(audit: &Path) -> Vec<Entry> {
    read(audit, Filter::default()).unwrap().map(Result::unwrap).collect()
}

/// The kinds of what it says of a call.
pub(super) fn kinds(log: &[Entry], call_id: &str) -> Vec<String> {
    let of_call = log.iter().filter(|entry| entry.text("callId") == Some(call_id));
    of_call.map(|entry| entry.kind.clone()).collect()
}
