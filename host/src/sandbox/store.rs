//! The one place where a store is made, with every bound already in it.
//!
//! There is no way to a store without limits, a deadline and somebody to answer to: all of them are
//! parameters here, and no other file calls `Store::new`.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};
use wasmtime_wasi_http::WasiHttpCtx;

use super::call::SandboxedTool;
use super::capability::clocks::{CoarseMonotonic, CoarseWall};
use super::capability::denied::Denials;
use super::capability::files::{FileWatch, Folders};
use super::capability::http::DenyHttp;
use super::capability::speech::Speech;
use super::command::Process;
use super::engine::SandboxEngine;
use super::entry::Entry;
use super::fault::HostEnd;
use super::limiter::Meter;
use super::profile::{Profile, Recording};
use super::state::HostState;
use super::stdio::Printed;
use crate::contract::attempt::Attempt;
use crate::contract::limits::LimitKind;

/// Size of a set of http header fields, in bytes as wasmtime-wasi-http counts them: 8 KiB on the wire
/// is what most servers take.
const HTTP_FIELDS_MAX: usize = 16 << 10;

/// What one tool may use: made once when it is loaded.
#[derive(Debug, Clone, Default)]
pub struct Access {
    pub(crate) folders: Folders,
    pub(crate) env: Arc<[(String, String)]>,
    pub(crate) said: AccessWords,
}

/// What a tool's own words say of its access: they name what is missing and grant nothing.
#[derive(Debug, Clone, Default)]
pub struct AccessWords {
    /// Its tag holds it to reading.
    pub held_read_only: bool,
    /// It says that it needs a folder, or names no need at all.
    pub may_want_folders: bool,
    /// Variables it says it needs and wasn't given.
    pub missing_env: Arc<[String]>,
}

impl Access {
    /// The same access for a tool that says so of itself.
    pub fn of(&self, said: AccessWords) -> Self {
        Self { said, ..self.clone() }
    }
}

/// Handles to what a store gathers, for whoever waits for it.
#[derive(Debug, Clone)]
pub(crate) struct Gathered {
    pub(crate) denials: Denials,
    pub(crate) files: FileWatch,
    pub(crate) stdout: Printed,
    pub(crate) stderr: Printed,
    /// Where the guest is sampled, where it is.
    pub(crate) recording: Option<Recording>,
}

impl Gathered {
    pub(crate) fn new(tool: &SandboxedTool, attempt: &Attempt, profile: Option<&Profile>) -> Self {
        let half = attempt.limits.size(LimitKind::Stdio) / 2;
        // A command's stdout is its output, under that limit.
        let stdout_max = match tool.entry.as_ref() {
            Entry::Function(_) => half,
            Entry::Command { .. } => attempt.limits.size(LimitKind::OutputKept),
        };
        Self {
            denials: Denials::default(),
            files: FileWatch::new(
                tool.access.said.held_read_only,
                tool.access.said.may_want_folders,
            ),
            stdout: Printed::new(stdout_max),
            stderr: Printed::new(half),
            recording: profile.and_then(|profile| profile.begin(attempt.number)),
        }
    }
}

/// Makes the store of one attempt.
pub(crate) fn new_store(
    engine: &SandboxEngine,
    tool: &SandboxedTool,
    attempt: &Attempt,
    gathered: &Gathered,
) -> wasmtime::Result<Store<HostState>> {
    let (limits, access) = (&attempt.limits, &tool.access);
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.size(LimitKind::Handles));
    let mut http = WasiHttpCtx::new();
    http.set_field_size_limit(HTTP_FIELDS_MAX);
    let state = HostState {
        table,
        wasi: wasi_context(tool, attempt, gathered),
        http,
        http_hooks: DenyHttp { denials: gathered.denials.clone() },
        meter: Meter::new(limits),
        files: gathered.files.clone(),
        denials: gathered.denials.clone(),
        speech: Speech::new(attempt),
        random_max: limits.get(LimitKind::RandomBytes).value,
        missing_env: Arc::clone(&access.said.missing_env),
    };
    let mut store = Store::new(engine.wasmtime(), state);
    *store.data_mut().filesystem().ctx = access.folders.context();
    store.limiter(|state| &mut state.meter);
    store.set_fuel(limits.get(LimitKind::Fuel).value)?;
    store.set_hostcall_fuel(limits.size(LimitKind::Lifted));
    store.set_max_component_handles(limits.size(LimitKind::Handles));
    arm_deadline(&mut store, attempt, gathered);
    Ok(store)
}

fn wasi_context(tool: &SandboxedTool, attempt: &Attempt, gathered: &Gathered) -> WasiCtx {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(gathered.stdout.clone())
        .stderr(gathered.stderr.clone())
        .wall_clock(CoarseWall)
        .monotonic_clock(CoarseMonotonic::starting(Instant::now()));
    for (name, value) in tool.access.env.iter() {
        wasi.env(name, value);
    }
    if let Entry::Command { .. } = tool.entry.as_ref() {
        let process = Process::new(attempt.arguments.value());
        wasi.args(&process.argv).stdin(process.stdin);
    }
    wasi.build()
}

/// The deadline is the call's own instant, so ticks only decide how soon it is noticed.
fn arm_deadline(store: &mut Store<HostState>, attempt: &Attempt, gathered: &Gathered) {
    let sampler = gathered.recording.as_ref().map(Recording::sampler);
    let deadline = attempt.deadline;
    let cancel = attempt.cancel.clone();
    store.set_epoch_deadline(1);
    let mut ticks = 0_u32;
    store.epoch_deadline_callback(move |store| {
        if let Some(sampler) = &sampler {
            sampler.sample(&store);
        }
        if Instant::now() >= deadline {
            return Err(HostEnd::DeadlinePassed.into());
        }
        if cancel.is_cancelled() {
            return Err(HostEnd::Cancelled.into());
        }
        ticks = ticks.saturating_add(1);
        // The first tick comes at whatever moment: a short call that happens to meet one needn't
        // give way for it.
        if ticks == 1 {
            return Ok(UpdateDeadline::Continue(1));
        }
        // tokio's own yield: a self-waking one would leave its timers waiting behind busy guests.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
}
