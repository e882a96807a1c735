//! Engines joined by hand over a host's own tools, each with one part of the way left out.
//!
//! Measures nothing: what a part costs is the difference between two lanes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar::app::App;
use belljar::config::Config;
use belljar::contract::arguments::{
    ArgumentBounds, ArgumentCheck, ArgumentFailure, CheckedArguments, parse,
};
use belljar::contract::attempt::{Attempt, AttemptEnd, End, ReturnCase, Returned};
use belljar::contract::ids::ToolId;
use belljar::contract::limits::LimitKind;
use belljar::contract::normalise::{Settling, TextRule, settle};
use belljar::contract::outcome::Outcome;
use belljar::contract::result::Usage;
use belljar::contract::sink::{CallSink, LogLevel, Progress, Stream};
use belljar::engine::ports::{FoundTool, ToolLookup, ToolRunner};
use belljar::engine::{Engine, EngineParts, EngineSettings};
use belljar::events::{EventBus, Journal, JournalOptions, unix_ms};
use belljar::gate::approval::{ApprovalQueue, ApprovalSettings};
use belljar::gate::{Policy, PolicySettings};
use belljar::registry::LoadedTool;
use belljar::runners::Router;
use belljar::storage::SqliteStore;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::hosts::invocation;

const TOOL: &str = "bench.nop";

/// What is left in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct On {
    pub(crate) audit: bool,
    pub(crate) gate: bool,
    pub(crate) check: bool,
    pub(crate) sandbox: bool,
    /// Somebody watches the events.
    pub(crate) watched: bool,
}

/// The whole way.
pub(crate) const ALL: On =
    On { audit: true, gate: true, check: true, sandbox: true, watched: false };

/// An engine with what is on.
pub(crate) struct Part {
    engine: Engine,
    _watcher: Option<belljar::events::EventStream>,
}

impl Part {
    /// Joins it; `folder` is where its audit log and its approvals are.
    pub(crate) fn new(app: &App, folder: &Path, on: On) -> Self {
        let bus = EventBus::new(unix_ms);
        let router = Arc::new(Router::new(Arc::clone(&app.tools), app.sandbox.clone()));
        std::fs::create_dir_all(folder).expect("a folder");
        // In a file, as a host has it: the gate looks there for what was answered for good.
        let store = Arc::new(SqliteStore::at(folder.join("approvals.sqlite")));
        let settings = ApprovalSettings::default();
        let approvals = ApprovalQueue::new(store.clone(), bus.clone(), unix_ms, settings, None);
        // What holds where nobody configured anything is more than no rules at all.
        let policy = PolicySettings { enabled: on.gate, ..Config::default().policy };
        let journal = on.audit.then(|| {
            let options = JournalOptions::default();
            Journal::open(&folder.join("audit"), options, unix_ms).expect("an audit log").0
        });
        let unchecked = Unchecked { router: Arc::clone(&router), check: Arc::new(TakesAll) };
        let engine = Engine::new(EngineParts {
            lookup: if on.check { Arc::clone(&router) as _ } else { Arc::new(unchecked) },
            runner: if on.sandbox { router } else { Arc::new(AtOnce) },
            bus: bus.clone(),
            policy: Arc::new(Policy::new(&policy).expect("a policy")),
            approvals,
            results: store,
            journal,
            settings: EngineSettings::default(),
            clock: unix_ms,
            levels: Some(Arc::new(app.clients.clone())),
        });
        let watcher = on.watched.then(|| bus.watch());
        Self { engine: engine.expect("an engine"), _watcher: watcher }
    }

    /// One call of the tool that does nothing.
    pub(crate) async fn call(&self, number: usize) -> Duration {
        let call = invocation(number, TOOL, "{}");
        let began = Instant::now();
        let result = self.engine.call(call, CancellationToken::new()).await;
        let took = began.elapsed();
        assert_eq!(result.outcome, Outcome::Success, "{result:?}");
        took
    }
}

/// Finds tools whose arguments nobody checks.
struct Unchecked {
    router: Arc<Router>,
    check: Arc<dyn ArgumentCheck>,
}

impl ToolLookup for Unchecked {
    fn find(&self, name: &str) -> Option<FoundTool> {
        let found = self.router.find(name)?;
        Some(FoundTool { check: Arc::clone(&self.check), ..found })
    }

    fn near(&self, name: &str) -> Vec<String> {
        self.router.near(name)
    }
}

struct TakesAll;

impl ArgumentCheck for TakesAll {
    fn check(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        Ok(arguments)
    }
}

/// Answers at once.
struct AtOnce;

#[async_trait::async_trait]
impl ToolRunner for AtOnce {
    async fn run(&self, _tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        returned_nothing()
    }
}

fn returned_nothing() -> AttemptEnd {
    let (case, attachments) = (ReturnCase::Plain, Vec::new());
    let end = End::Returned(Returned { case, value: None, wrapped: false, attachments });
    AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
}

/// Hears what a guest says and does nothing with it.
struct Deaf;

impl CallSink for Deaf {
    fn progress(&self, _progress: Progress) {}
    fn log(&self, _level: LogLevel, _message: String) {}
    fn printed(&self, _stream: Stream, _text: String, _dropped: u64) {}
    fn author_note(&self, _text: String) {}
}

/// The tool that does nothing, outside every engine.
pub(crate) fn loaded(app: &App) -> LoadedTool {
    app.host.catalog().tool(TOOL).expect("the guest has it").clone()
}

/// One attempt in the sandbox alone.
pub(crate) async fn in_sandbox(app: &App, tool: &LoadedTool) -> Duration {
    let limits = Arc::new(tool.descriptor.limits.clone());
    let attempt = Attempt {
        call_id: "bench".parse().expect("a call id"),
        number: 1,
        arguments: Arc::new(CheckedArguments::new(Map::new())),
        deadline: Instant::now() + limits.duration(LimitKind::AttemptDeadline),
        limits,
        grants: Arc::default(),
        idempotency_key: None,
        deadline_kind: LimitKind::AttemptDeadline,
        cancel: CancellationToken::new(),
        shares_task: false,
        sink: Arc::new(Deaf),
        asked_by: None,
    };
    let began = Instant::now();
    let end = app.sandbox.run(&tool.sandboxed, attempt).await;
    let took = began.elapsed();
    assert!(matches!(end.end, End::Returned(_)), "{end:?}");
    took
}

/// From the text of the arguments to what the gate sees: so many times, the time of one on average.
pub(crate) fn read_arguments(tool: &LoadedTool, text: &str, count: u32) -> Duration {
    let bounds = ArgumentBounds::of(&tool.descriptor.limits);
    let began = Instant::now();
    for _ in 0..count {
        let arguments = parse(text, bounds).expect("they can be read");
        let arguments = tool.sandboxed.entry().check(arguments).expect("they are right");
        std::hint::black_box(CheckedArguments::new(arguments));
    }
    began.elapsed() / count
}

/// From an end to a result: so many times, the time of one on average.
pub(crate) fn settle_ends(tool: &LoadedTool, count: u32) -> Duration {
    let call_id = "bench".parse().expect("a call id");
    let limits = &tool.descriptor.limits;
    let (text_rule, attempts, duration_ms) = (TextRule::On, 1, Some(0));
    let settling = Settling { call_id: &call_id, limits, text_rule, attempts, duration_ms };
    let began = Instant::now();
    for _ in 0..count {
        std::hint::black_box(settle(&settling, returned_nothing()));
    }
    began.elapsed() / count
}
