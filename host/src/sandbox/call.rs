//! One attempt in the sandbox: permit, store, instance, call, end.
//!
//! Three clocks bound it, all armed before the instance exists: fuel, the epoch inside running
//! wasm, and a timer round the whole for the time a guest waits for the host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::ComponentExportIndex;

use super::compiled::Compiled;
use super::entry::Entry;
use super::facade::Sandbox;
use super::guest::Work;
use super::permits::Permit;
use super::ready::{Shelf, Spent};
use super::running::{Guest, Report, Running};
use super::store::{Access, Gathered};
use crate::contract::attempt::{Attempt, AttemptEnd, End, GuestFault, RunnerRefusal};
use crate::contract::limits::LimitKind;
use crate::contract::result::Usage;
use crate::contract::sink::Stream;

/// How much later the outer timer is than the deadline, so that a guest caught in its own code ends
/// there, where its usage is still known.
const OUTER_GRACE: Duration = Duration::from_millis(2);

/// A tool as the sandbox sees it: made once at load.
#[derive(Debug, Clone)]
pub struct SandboxedTool {
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) function: ComponentExportIndex,
    pub(crate) entry: Arc<Entry>,
    pub(crate) access: Arc<Access>,
    /// Whether each call opens the folders of its own grants.
    opens_per_call: bool,
}

impl SandboxedTool {
    /// Joins what a call needs.
    pub fn new(
        compiled: Arc<Compiled>,
        function: &super::ExportedFunction,
        entry: Arc<Entry>,
        access: Access,
    ) -> Self {
        let access = Arc::new(access);
        Self { compiled, function: function.index, entry, access, opens_per_call: false }
    }

    /// The same tool, whose calls each open what they were granted.
    pub fn opening_per_call(self) -> Self {
        Self { opens_per_call: true, ..self }
    }

    /// The same tool with other grants, for one call. What it says of its access stays.
    fn with_access(&self, access: &Access) -> Self {
        Self { access: Arc::new(access.of(self.access.said.clone())), ..self.clone() }
    }

    /// Whether it is a program, whose arguments are argv and stdin and whose stdout is its output.
    pub(super) fn is_command(&self) -> bool {
        matches!(self.entry.as_ref(), Entry::Command { .. })
    }

    /// How its arguments and results are carried over.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }
}

/// Runs one attempt. Safe to drop at any await.
pub(crate) async fn run(sandbox: &Sandbox, tool: &SandboxedTool, attempt: Attempt) -> AttemptEnd {
    let started = Instant::now();
    let refused = |refusal| {
        let usage = Usage { wall_ms: millis(started.elapsed()), ..Usage::default() };
        AttemptEnd { end: End::Refused(refusal), usage, missing_grants: Vec::new() }
    };
    let permit = match wait_for_permit(sandbox, tool, &attempt).await {
        Ok(permit) => permit,
        Err(refusal) => return refused(refusal),
    };
    if tool.opens_per_call {
        return match open_for(sandbox, tool, &attempt, permit).await {
            Ok((opened, permit)) => run_within(sandbox, &opened, attempt, permit, started).await,
            Err(refusal) => refused(refusal),
        };
    }
    run_within(sandbox, tool, attempt, permit, started).await
}

/// Opens what this call was granted. A folder may be slow to open, or hang: then the call ends by
/// its deadline, and its permit is held until the folder is done with.
async fn open_for(
    sandbox: &Sandbox,
    tool: &SandboxedTool,
    attempt: &Attempt,
    permit: Permit,
) -> Result<(SandboxedTool, Permit), RunnerRefusal> {
    let (opens, grants) = (sandbox.clone(), Arc::clone(&attempt.grants));
    let opening = tokio::spawn(async move {
        (tokio::task::spawn_blocking(move || opens.open(&grants)).await, permit)
    });
    let unavailable = RunnerRefusal::Unavailable;
    let (opened, permit) = tokio::select! {
        biased;
        () = attempt.cancel.cancelled() => return Err(RunnerRefusal::Cancelled),
        opened = opening => opened.map_err(|_lost| unavailable("belljar is ending".to_owned()))?,
        () = tokio::time::sleep_until(attempt.deadline.into()) => {
            return Err(RunnerRefusal::TimedOut);
        }
    };
    let opened = opened.map_err(|_lost| unavailable("belljar is ending".to_owned()))?;
    let access = opened.map_err(|error| unavailable(error.to_string()))?;
    Ok((tool.with_access(&access), permit))
}

/// The rest of an attempt, with its permit.
async fn run_within(
    sandbox: &Sandbox,
    tool: &SandboxedTool,
    attempt: Attempt,
    permit: Permit,
    started: Instant,
) -> AttemptEnd {
    let gathered = Gathered::new(tool, &attempt, sandbox.profile());
    let attempt = Arc::new(attempt);
    let held = (permit, sandbox.ticker().keep_awake());
    let work = Work {
        tool: tool.clone(),
        attempt: Arc::clone(&attempt),
        gathered: Arc::clone(&gathered),
        began: Instant::now(),
    };
    let guest = Guest::begin(work.run(), &attempt).await;
    let mut running = Running::new(guest, held, &gathered, sandbox.reaper());
    let (mut report, polled) = outcome_of(&mut running, &attempt).await;
    let host_wait = started.elapsed().saturating_sub(polled);
    // The store goes before the permit that counts it. A call that failed says nothing of how its
    // plugin starts under the limits it had.
    let returned = matches!(report.end, End::Returned(_));
    let store = report.store.take().filter(|_| returned);
    if let Some(permit) = running.release().filter(|_| returned) {
        let limits = Arc::clone(&attempt.limits);
        Shelf::ended(&tool.compiled, sandbox.ready(), Spent { store, permit, limits });
    }
    drop(running);
    speak(&attempt, &gathered, report.note);
    let (bytes_in, written) = gathered.files.bytes();
    let printed = gathered.stdout.written().saturating_add(gathered.stderr.written());
    let usage = Usage {
        fuel: report.fuel,
        peak_memory_bytes: report.peak_bytes,
        wall_ms: millis(started.elapsed()),
        host_wait_ms: millis(host_wait),
        bytes_in: bytes_in.saturating_add(attempt.arguments.canonical().len() as u64),
        bytes_out: written.saturating_add(printed),
    };
    AttemptEnd { end: report.end, usage, missing_grants: gathered.denials.take() }
}

async fn wait_for_permit(
    sandbox: &Sandbox,
    tool: &SandboxedTool,
    attempt: &Attempt,
) -> Result<Permit, RunnerRefusal> {
    if !tool.access.folders.is_empty() && sandbox.reaper().is_full() {
        let blocked = sandbox.reaper().blocked();
        return Err(RunnerRefusal::Overloaded(format!(
            "{blocked} earlier calls are still blocked in file operations, so no call with folders \
             is started"
        )));
    }
    if attempt.cancel.is_cancelled() {
        return Err(RunnerRefusal::Cancelled);
    }
    // Mostly there is a place, and then nothing has to be waited for.
    if let Some(permit) = sandbox.permits().try_acquire(&tool.compiled.permits) {
        return Ok(permit);
    }
    tokio::select! {
        biased;
        () = attempt.cancel.cancelled() => Err(RunnerRefusal::Cancelled),
        permit = sandbox.permits().acquire(&tool.compiled.permits) => {
            permit.map_err(|busy| RunnerRefusal::Overloaded(busy.to_string()))
        }
        () = tokio::time::sleep_until(attempt.deadline.into()) => Err(RunnerRefusal::TimedOut),
    }
}

async fn outcome_of(running: &mut Running, attempt: &Attempt) -> (Report, Duration) {
    if let Some(report) = running.ended_in_first_steps() {
        return report;
    }
    let outer = attempt.deadline + OUTER_GRACE;
    let end = tokio::select! {
        biased;
        report = running.join() => return report,
        () = attempt.cancel.cancelled() => End::Interrupted,
        () = tokio::time::sleep_until(outer.into()) => {
            let late = "the tool was still running or waiting for the host".to_owned();
            End::Guest(GuestFault::Limit(attempt.deadline_kind, late))
        }
    };
    running.end().await;
    (Report::of(end), Duration::ZERO)
}

fn speak(attempt: &Attempt, gathered: &Gathered, note: Option<String>) {
    let share = attempt.limits.size(LimitKind::Stdio) / 2;
    for (stream, printed) in
        [(Stream::Stdout, &gathered.stdout), (Stream::Stderr, &gathered.stderr)]
    {
        // A command's stdout is kept as output; what it leaves behind unfinished is only printed.
        if let Some((text, dropped)) = printed.within(share).text() {
            attempt.sink.printed(stream, text, dropped);
        }
    }
    let unsayable = gathered.files.unsayable();
    let left_out = (unsayable > 0)
        .then(|| format!("{unsayable} folder entries were left out: their names aren't UTF-8"));
    for note in note.into_iter().chain(left_out) {
        attempt.sink.author_note(note);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
