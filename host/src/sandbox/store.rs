//! The one place where a store is made, with every bound already in it.
//!
//! There is no way to a store without limits, a deadline and somebody to answer to: all of them are
//! parameters here, and no other file calls `Store::new`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTable;
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi_http::WasiHttpCtx;

use super::call::SandboxedTool;
use super::capability::denied::Denials;
use super::capability::files::{FileWatch, Folders};
use super::capability::http::DenyHttp;
use super::capability::speech::Speech;
use super::compiled::Compiled;
use super::context::{Context, Given};
use super::fault::HostEnd;
use super::limiter::Meter;
use super::profile::{Profile, Recording};
use super::state::HostState;
use super::stdio::Printed;
use crate::contract::arguments::CheckedArguments;
use crate::contract::attempt::Attempt;
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::sink::{CallSink, LogLevel, Progress, Stream};

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

/// What a store gathers, for whoever waits for it.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Set when nobody waits any more, which ends the guest.
    ended: AtomicBool,
    pub(crate) denials: Denials,
    pub(crate) files: FileWatch,
    pub(crate) stdout: Printed,
    pub(crate) stderr: Printed,
    /// Where the guest is sampled, where it is.
    pub(crate) recording: Option<Recording>,
}

impl Gathered {
    pub(crate) fn new(
        tool: &SandboxedTool,
        attempt: &Attempt,
        profile: Option<&Profile>,
    ) -> Arc<Self> {
        // A command's stdout is its output, under that limit.
        let output = tool.is_command().then(|| attempt.limits.size(LimitKind::OutputKept));
        let recording = profile.and_then(|profile| profile.begin(attempt.number));
        Self::of(&tool.access.said, attempt, output, recording)
    }

    fn of(
        said: &AccessWords,
        attempt: &Attempt,
        stdout_max: Option<usize>,
        recording: Option<Recording>,
    ) -> Arc<Self> {
        let half = attempt.limits.size(LimitKind::Stdio) / 2;
        Arc::new(Self {
            ended: AtomicBool::new(false),
            denials: Denials::default(),
            files: FileWatch::new(said.held_read_only, said.may_want_folders),
            stdout: Printed::new(stdout_max.unwrap_or(half)),
            stderr: Printed::new(half),
            recording,
        })
    }

    /// Ends the guest at its next tick.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }
}

/// What a store is made for.
pub(crate) struct OfCall<'a> {
    pub(crate) access: &'a Arc<Access>,
    /// The arguments of a command; `None`: it is none.
    pub(crate) command: Option<&'a Arc<CheckedArguments>>,
    pub(crate) attempt: &'a Arc<Attempt>,
    pub(crate) gathered: &'a Arc<Gathered>,
    pub(crate) began: Instant,
}

impl OfCall<'_> {
    fn state(&self) -> HostState {
        let Self { access, attempt, gathered, .. } = self;
        let mut table = ResourceTable::new();
        table.set_max_capacity(attempt.limits.size(LimitKind::Handles));
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HTTP_FIELDS_MAX);
        HostState {
            table,
            context: Context::new(Given {
                began: self.began,
                stdout: gathered.stdout.clone(),
                stderr: gathered.stderr.clone(),
                access: Arc::clone(access),
                command: self.command.cloned(),
            }),
            http,
            http_hooks: DenyHttp { denials: gathered.denials.clone() },
            meter: Meter::new(&attempt.limits),
            gathered: Arc::clone(gathered),
            speech: Speech::new(attempt),
            random_max: attempt.limits.get(LimitKind::RandomBytes).value,
            missing_env: Arc::clone(&access.said.missing_env),
            asked: false,
        }
    }
}

/// Makes the store of one attempt.
pub(crate) fn new_store(
    compiled: &Compiled,
    call: &OfCall<'_>,
) -> wasmtime::Result<Store<HostState>> {
    let mut store = Store::try_new(compiled.pre.engine(), call.state())?;
    store.limiter(|state| &mut state.meter);
    arm(&mut store, call.attempt, call.gathered, 0)?;
    Ok(store)
}

/// Makes the store of an attempt of one whose instance was made ahead, by what `start` took of its
/// fuel: nothing that it had before stays but the memory that the instance holds.
pub(crate) fn claim(
    store: &mut Store<HostState>,
    start: u64,
    call: &OfCall<'_>,
) -> wasmtime::Result<()> {
    let mut state = call.state();
    state.meter.take_over(&store.data().meter);
    *store.data_mut() = state;
    arm(store, call.attempt, call.gathered, start)
}

/// Makes a store for nobody's call, under limits of another: nothing is granted, and nobody hears what
/// its guest says.
pub(crate) fn bare_store(
    compiled: &Compiled,
    limits: &Arc<Limits>,
    fuel: u64,
    deadline: Instant,
) -> wasmtime::Result<Store<HostState>> {
    let attempt = Arc::new(nobodys(Arc::clone(limits), deadline)?);
    let access: Arc<Access> = Arc::default();
    let gathered = Gathered::of(&access.said, &attempt, None, None);
    let (attempt, gathered) = (&attempt, &gathered);
    let call = OfCall { access: &access, command: None, attempt, gathered, began: Instant::now() };
    let mut store = new_store(compiled, &call)?;
    store.set_fuel(fuel)?;
    Ok(store)
}

/// An attempt that nobody asked for: without arguments, and nobody hears of it.
pub(super) fn nobodys(limits: Arc<Limits>, deadline: Instant) -> wasmtime::Result<Attempt> {
    Ok(Attempt {
        call_id: "ahead".parse()?,
        number: 1,
        arguments: Arc::new(CheckedArguments::new(serde_json::Map::new())),
        limits,
        grants: Arc::default(),
        idempotency_key: None,
        deadline,
        deadline_kind: LimitKind::AttemptDeadline,
        cancel: CancellationToken::new(),
        shares_task: false,
        sink: Arc::new(Nobody),
        asked_by: None,
    })
}

/// Hears nothing.
struct Nobody;

impl CallSink for Nobody {
    fn progress(&self, _progress: Progress) {}
    fn log(&self, _level: LogLevel, _message: String) {}
    fn printed(&self, _stream: Stream, _text: String, _dropped: u64) {}
    fn author_note(&self, _text: String) {}
}

/// Puts every bound on a store. `start`: what is spent of its fuel already.
fn arm(
    store: &mut Store<HostState>,
    attempt: &Attempt,
    gathered: &Arc<Gathered>,
    start: u64,
) -> wasmtime::Result<()> {
    let limits = &attempt.limits;
    store.set_fuel(limits.get(LimitKind::Fuel).value.saturating_sub(start))?;
    store.set_hostcall_fuel(limits.size(LimitKind::Lifted));
    store.set_max_component_handles(limits.size(LimitKind::Handles));
    arm_deadline(store, attempt, Arc::clone(gathered));
    Ok(())
}

/// The deadline is the call's own instant, so ticks only decide how soon it is noticed.
fn arm_deadline(store: &mut Store<HostState>, attempt: &Attempt, gathered: Arc<Gathered>) {
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
        if cancel.is_cancelled() || gathered.ended.load(Ordering::Acquire) {
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
