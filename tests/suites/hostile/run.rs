//! Runs one row: starts a host with its guest, calls it in fresh instances and in one that was made
//! ahead, and holds the ends against the row.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use belljar::app::{App, DirRequest, PluginSource, Setup};
use belljar::contract::grants::DirMode;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::limits::{LimitKind, Limits};
use belljar::contract::outcome::Outcome;
use belljar::contract::result::ToolResult;
use belljar::events::{Event, EventKind, Seen};
use belljar::sandbox::Sandbox;

use super::spoiled;
use crate::guests::built;
use crate::guests::fixture::{Fixture, SECRET};
use crate::guests::outcomes::{End, Folders, Guest, Met, Row};

/// After this long a call that still holds its place holds it for ever.
const REST: Duration = Duration::from_secs(20);
/// An instance that isn't there by then was mostly never to be made.
const READY: Duration = Duration::from_millis(100);
/// The innocent neighbour shares the row's small limits, which a busy machine can make too small.
const NEIGHBOUR_TRIES: usize = 10;

/// Runs a row; `code` keeps compiled code from row to row.
pub(super) async fn row(row: &Row, code: &Path) -> Result<()> {
    match row.end {
        End::NotLoaded => {
            for bytes in bytes(row.guest) {
                refused(Stage::with(&bytes, row, code))?;
            }
            Ok(())
        }
        End::Survived => survived(row),
        End::Unsupported => Stage::start(row, code)?.leaves_out(row.tool),
        End::Call(outcome) => called(row, code, outcome, None).await,
        End::Content(content) => called(row, code, Outcome::Success, Some(content)).await,
    }
}

fn bytes(guest: Guest) -> Vec<Vec<u8>> {
    match guest {
        Guest::Wat(name) => vec![built::wat(name)],
        Guest::Rust(name) => vec![built::rust(name).to_vec()],
        Guest::Spoiled(spoiled) => spoiled::files(spoiled),
    }
}

fn refused(stage: Result<Stage>) -> Result<()> {
    let Err(error) = stage else { bail!("it was loaded") };
    let said = error.to_string();
    ensure!(said.contains("can't be loaded"), "it wasn't refused as a plugin: {said}");
    ensure!(!said.contains(char::is_control), "the reason isn't one clean line: {said:?}");
    Ok(())
}

/// Loads what may be a component and may not. That it ends and the engine goes on is the test.
fn survived(row: &Row) -> Result<()> {
    let sandbox = Sandbox::try_new()?;
    for bytes in bytes(row.guest) {
        if let Err(error) = sandbox.compile(&bytes) {
            ensure!(!error.to_string().is_empty(), "a refusal without a word");
        }
    }
    sandbox
        .compile(&built::wat("counter"))
        .context("a whole component, after all the spoiled ones")?;
    Ok(())
}

async fn called(row: &Row, code: &Path, outcome: Outcome, content: Option<&str>) -> Result<()> {
    let stage = Stage::start(row, code)?;
    for turn in ["first", "second", "third", "fourth"] {
        if turn == "fourth" && outcome == Outcome::Success {
            stage.instance_is_ready(row).await?;
        }
        let before = stage.seen(outcome);
        let (result, events) = stage.call(row).await;
        let ended = format!("{turn} call: {:?}: {}", result.outcome, brief(&result));
        ensure!(result.outcome == outcome, "expected {outcome:?}, {ended}");
        if let Some(content) = content {
            ensure!(result.content == content, "expected `{content}`, {ended}");
        }
        says_its_limit(row, &result, &events).with_context(|| ended.clone())?;
        says_what_is_missing(row, &result).with_context(|| ended.clone())?;
        let told = serde_json::to_string(&result)?;
        ensure!(!told.contains(SECRET), "the secret got out, {ended}");
        ensure!(stage.seen(outcome) == before, "files were changed, {ended}");
        stage.comes_to_rest().await.with_context(|| ended)?;
    }
    stage.neighbour_works().await
}

fn brief(result: &ToolResult) -> String {
    let said = result.error_message.as_deref().unwrap_or(&result.content);
    said.chars().take(200).collect()
}

fn says_its_limit(row: &Row, result: &ToolResult, events: &[Arc<Event>]) -> Result<()> {
    let Some(Met { kind, .. }) = row.met else { return Ok(()) };
    let cut = |event: &Arc<Event>| matches!(event.kind, EventKind::Printed { dropped, .. } if dropped > 0);
    match kind {
        LimitKind::Stdio => ensure!(events.iter().any(cut), "nothing printed was dropped"),
        LimitKind::OutputShown => ensure!(result.truncated.is_some(), "nothing was cut"),
        _ if result.outcome == Outcome::Success => {}
        _ => {
            let named = format!("the {} limit is ", kind.facts().name);
            let message = result.error_message.as_deref().unwrap_or_default();
            ensure!(message.contains(&named), "the limit `{}` isn't named", kind.facts().name);
        }
    }
    Ok(())
}

fn says_what_is_missing(row: &Row, result: &ToolResult) -> Result<()> {
    let Some(kind) = row.missing else { return Ok(()) };
    let named = result.missing_grants.iter().any(|missing| missing.kind == kind);
    ensure!(named, "the missing `{kind}` grant isn't named: {:?}", result.missing_grants);
    Ok(())
}

/// A host with a row's guest, an innocent neighbour, and the files that are granted.
pub(super) struct Stage {
    app: App,
    fixture: Option<Fixture>,
    _plugins: tempfile::TempDir,
}

impl Stage {
    /// Starts the host of a row with one guest.
    pub(super) fn start(row: &Row, code: &Path) -> Result<Self> {
        let files = bytes(row.guest);
        Self::with(files.first().context("a guest has bytes")?, row, code)
    }

    fn with(guest: &[u8], row: &Row, code: &Path) -> Result<Self> {
        let plugins = tempfile::tempdir()?;
        let fixture = (row.folders != Folders::Ungranted).then(Fixture::new);
        let mut limits = Limits::default();
        if let Some(Met { kind, set: Some(value) }) = row.met {
            limits.set(kind, value)?;
        }
        let counter = built::wat("counter");
        let plugin = |name: &str, bytes: &[u8]| -> Result<PluginSource> {
            let path = plugins.path().join(format!("{name}.wasm"));
            std::fs::write(&path, bytes)?;
            Ok(PluginSource { name: Some(name.parse()?), path })
        };
        let app = belljar::app::start(&Setup {
            plugins: vec![plugin("neighbour", &counter)?, plugin("guest", guest)?],
            builtins: false,
            dirs: fixture.as_ref().map(|fixture| dirs(row.folders, fixture)).unwrap_or_default(),
            env: Vec::new(),
            limits,
            code_folder: Some(code.to_owned()),
            ..Setup::default()
        })?;
        Ok(Self { app, fixture, _plugins: plugins })
    }

    /// Makes the row's call; with it comes what was told while it ran.
    pub(super) async fn call(&self, row: &Row) -> (ToolResult, Vec<Arc<Event>>) {
        let mut watch = self.app.host.events();
        let result = self.ask(&format!("guest.{}", row.tool), row.arguments).await;
        let mut events = Vec::new();
        while let Some(seen) = watch.try_next() {
            if let Seen::Event(event) = seen {
                events.push(event);
            }
        }
        (result, events)
    }

    async fn ask(&self, tool: &str, arguments: &str) -> ToolResult {
        let mut call = ToolInvocation::new("a-call".parse().unwrap(), tool, arguments);
        call.permission_level = PermissionLevel::Full;
        self.app.host.call(call).await
    }

    fn leaves_out(&self, tool: &str) -> Result<()> {
        let catalog = self.app.host.catalog();
        ensure!(catalog.tool(&format!("guest.{tool}")).is_none(), "it is a tool");
        let plugin = catalog.plugin("guest").context("the plugin is gone")?;
        let listed =
            plugin.unsupported.iter().any(|one| one.function == tool && !one.reason.is_empty());
        ensure!(listed, "it isn't listed as unsupported: {:?}", plugin.unsupported);
        Ok(())
    }

    /// What must not change by a call with this outcome.
    fn seen(&self, outcome: Outcome) -> Option<Vec<String>> {
        let fixture = self.fixture.as_ref()?;
        Some(if outcome == Outcome::Success { fixture.seen_outside() } else { fixture.seen() })
    }

    async fn comes_to_rest(&self) -> Result<()> {
        let sandbox = &self.app.sandbox;
        let rest = async {
            while sandbox.calls_in_use() > 0
                || sandbox.instances_in_use().is_some_and(|used| used > 0)
                || sandbox.blocked_calls() > 0
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(REST, rest).await.with_context(|| {
            let (calls, blocked) = (sandbox.calls_in_use(), sandbox.blocked_calls());
            format!("{calls} permits and {blocked} blocked calls are still held")
        })
    }

    /// Waits until an instance was made ahead, which only plugins have that return. A guest that asks
    /// something of the host at its start never has one; the one that counts its calls must.
    async fn instance_is_ready(&self, row: &Row) -> Result<()> {
        let must = matches!(row.guest, Guest::Wat("counter"));
        let ready = async {
            while self.app.sandbox.instances_ready() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let there = tokio::time::timeout(if must { REST } else { READY }, ready).await;
        ensure!(!must || there.is_ok(), "no instance was made ahead");
        Ok(())
    }

    async fn neighbour_works(&self) -> Result<()> {
        let mut said = String::new();
        for _ in 0..NEIGHBOUR_TRIES {
            let result = self.ask("neighbour.count", "{}").await;
            if result.outcome == Outcome::Success && result.content == "1" {
                return Ok(());
            }
            said = format!("{:?}: {}", result.outcome, brief(&result));
        }
        bail!("another plugin doesn't work afterwards: {said}")
    }
}

fn dirs(folders: Folders, fixture: &Fixture) -> Vec<DirRequest> {
    let dir = |name, mode| DirRequest { host: fixture.path(name), guest: None, mode };
    match folders {
        Folders::Ungranted => Vec::new(),
        Folders::ReadOnly => vec![dir("granted", DirMode::ReadOnly)],
        Folders::ReadWrite => vec![dir("granted", DirMode::ReadWrite)],
        Folders::TwoModes => {
            vec![dir("granted", DirMode::ReadWrite), dir("frozen", DirMode::ReadOnly)]
        }
    }
}
