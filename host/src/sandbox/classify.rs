//! From wasmtime's error to one of the typed ends.
//!
//! Our own types first, then wasmtime's, then messages that have no type in wasmtime 48. Where one of
//! those changes its words, the end is told as a crash instead; hostile guests notice it.

use wasmtime::component::ResourceTableError;
use wasmtime::{Error, PoolConcurrencyLimitError, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::codec::{FromValError, ToValError};
use super::fault::HostEnd;
use super::limiter::Meter;
use super::room::{errno, short_of};
use crate::contract::attempt::{Attempt, End, GuestFault, RunnerRefusal};
use crate::contract::escape::cut;
use crate::contract::limits::LimitKind;

/// wasmtime 48, `component/func/options.rs`.
const LIFTED_TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";
/// wasmtime 48, `vm/component/handle_table.rs`.
const TOO_MANY_HANDLES: &str = "store handle limit exceeded";
/// wasmtime 48, `runtime/store.rs`.
const TOO_MANY_PARTS: &str = "resource limit exceeded";
/// Longest trap text that is passed on, in bytes.
const TRAP_TEXT_MAX_LEN: usize = 500;
/// Frames of a backtrace that are told.
const FRAMES_MAX: usize = 20;
/// Longest function name in one, in bytes.
const NAME_MAX_LEN: usize = 200;

/// When the error came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The store and its instance were being made: start functions may have run.
    Instantiating,
    /// The export was being called.
    Calling,
}

/// What a store says of its guest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// When the error came up.
    pub(crate) phase: Phase,
    /// Whether the guest has asked anything of the host. What hasn't has changed nothing.
    pub(crate) asked: bool,
    /// What its limits on memory and tables say.
    pub(crate) meter: &'a Meter,
}

/// Says what an error means.
pub(crate) fn classify(error: &Error, seen: Seen<'_>, attempt: &Attempt) -> End {
    let limits = &attempt.limits;
    if let Some(end) = error.downcast_ref::<HostEnd>() {
        return own_end(end, attempt.deadline_kind);
    }
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::OutOfFuel) {
        let used = LimitKind::Fuel.show(limits.get(LimitKind::Fuel).value);
        return limit(LimitKind::Fuel, format!("the tool used up its {used}"));
    }
    if let Some((kind, asked)) = seen.meter.refused() {
        return limit(*kind, asked.clone());
    }
    if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        return End::Guest(GuestFault::Exited(*code));
    }
    // A call takes a stack of its own, so this comes up there as well.
    match no_room(error) {
        Some(text) if seen.asked => return End::Host(text),
        Some(text) => return End::Refused(RunnerRefusal::Overloaded(text)),
        None => {}
    }
    match error.downcast_ref::<FromValError>() {
        Some(FromValError::Attachments { .. }) => {
            return limit(LimitKind::OutputKept, error.to_string());
        }
        Some(FromValError::Mismatch { .. }) => return End::Host(error.to_string()),
        None => {}
    }
    if error.is::<ToValError>() {
        return End::Host(error.to_string());
    }
    // Not the whole chain: wasmtime's context is a backtrace with the plugin's own names in it.
    let text = error.root_cause().to_string();
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full))
        || text.contains(TOO_MANY_HANDLES)
    {
        let many = LimitKind::Handles.show(limits.get(LimitKind::Handles).value);
        return limit(LimitKind::Handles, format!("the plugin held more than {many} handles"));
    }
    if text.contains(LIFTED_TOO_MUCH) {
        return limit(LimitKind::Lifted, "the plugin handed over too much at once".to_owned());
    }
    if text.contains(TOO_MANY_PARTS) {
        return limit(LimitKind::Instances, "the plugin is made of too many parts".to_owned());
    }
    match (trap, seen.phase) {
        (Some(trap), _) => End::Guest(GuestFault::Trapped(trap.to_string())),
        // What the machine refuses while an instance is made.
        (None, Phase::Instantiating) if errno(error).is_some() => End::Host(first_words(error)),
        // Whatever runs guest code and is no trap is a value that breaks the component model.
        (None, _) => End::Guest(GuestFault::Trapped(first_words(error))),
    }
}

/// Whether there was no place for an instance, in the pool or on the machine, and in which words.
pub(crate) fn no_room(error: &Error) -> Option<String> {
    if error.is::<PoolConcurrencyLimitError>() {
        return Some("the pool of sandboxes is exhausted".to_owned());
    }
    let why = short_of(error)?;
    Some(format!("the machine has no room for another sandbox: {why}"))
}

fn own_end(end: &HostEnd, deadline: LimitKind) -> End {
    match end {
        HostEnd::DeadlinePassed => limit(deadline, "the tool was still running".to_owned()),
        HostEnd::Cancelled => End::Interrupted,
        HostEnd::Limit(kind, asked) => limit(*kind, asked.clone()),
    }
}

fn limit(kind: LimitKind, used: String) -> End {
    End::Guest(GuestFault::Limit(kind, used))
}

/// The root cause: the context above it is wasmtime's account of where, which authors get by event.
fn first_words(error: &Error) -> String {
    cut(&error.root_cause().to_string(), TRAP_TEXT_MAX_LEN).to_owned()
}

/// Whether the store's fuel is exact after an error. Compiled code counts in a register and writes it
/// back where it calls or returns; where it trapped or met a tick of the clock, what is written may
/// be far behind.
pub(crate) fn knows_fuel(error: &Error) -> bool {
    match (error.downcast_ref::<Trap>(), error.downcast_ref::<HostEnd>()) {
        (Some(trap), _) => *trap == Trap::OutOfFuel,
        (None, Some(end)) => matches!(end, HostEnd::Limit(..)),
        (None, None) => true,
    }
}

/// Where a guest was when it trapped, for its author. Names are the plugin's and may have megabytes,
/// so wasmtime's own text is never made.
pub(crate) fn backtrace(error: &Error) -> Option<String> {
    let frames = error.downcast_ref::<WasmBacktrace>()?.frames();
    let lines = frames.iter().take(FRAMES_MAX).map(|frame| {
        let name = cut(frame.func_name().unwrap_or("a function without a name"), NAME_MAX_LEN);
        let at = frame.module_offset().map(|offset| format!(" at 0x{offset:x}"));
        format!("  {name}{}", at.unwrap_or_default())
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| format!("wasm frames, innermost first:\n{}", lines.join("\n")))
}

#[cfg(test)]
mod tests;
