//! The guest's part of an attempt: a store, an instance, the call, and what is known of its end.
//!
//! Waits for no permit and answers to nobody; what it comes to is a report.

use std::sync::Arc;
use std::time::Instant;

use wasmtime::Store;
use wasmtime::component::Instance;

use super::call::SandboxedTool;
use super::classify::{Phase, Seen, backtrace, classify, knows_fuel, no_room};
use super::codec;
use super::command;
use super::entry::Entry;
use super::ready::Ready;
use super::running::Report;
use super::state::HostState;
use super::store::{Gathered, OfCall, claim, new_store};
use crate::contract::attempt::{Attempt, End, Returned, RunnerRefusal};
use crate::contract::limits::LimitKind;

/// What a guest works on.
pub(super) struct Work {
    pub(super) tool: SandboxedTool,
    pub(super) attempt: Arc<Attempt>,
    pub(super) gathered: Arc<Gathered>,
    /// When it has its permit: the guest's clock begins there.
    pub(super) began: Instant,
}

impl Work {
    /// Everything that happens inside the sandbox. Owns all that it needs.
    pub(super) async fn run(self) -> Report {
        let (mut store, instance) = match self.begin() {
            Ok(begun) => begun,
            Err(error) => {
                let end = match no_room(&error) {
                    Some(text) => End::Refused(RunnerRefusal::Overloaded(text)),
                    None => End::Host(format!("no store could be made: {error:#}")),
                };
                return Report { fuel: Some(0), ..Report::of(end) };
            }
        };
        let mut phase = Phase::Instantiating;
        let result = async {
            let instance = match instance {
                Some(instance) => instance,
                None => self.tool.compiled.pre.instantiate_async(&mut store).await?,
            };
            phase = Phase::Calling;
            self.call(&mut store, &instance).await
        }
        .await;
        report(store, result, phase, &self.attempt)
    }

    /// A store that was made ahead, with its instance, or one of its own.
    fn begin(&self) -> wasmtime::Result<(Store<HostState>, Option<Instance>)> {
        let Self { tool, attempt, gathered, began } = self;
        let command = tool.is_command().then_some(&attempt.arguments);
        let call = OfCall { access: &tool.access, command, attempt, gathered, began: *began };
        match tool.compiled.shelf.take(&attempt.limits) {
            Some(Ready { mut store, instance, fuel, .. }) => {
                claim(&mut store, fuel, &call)?;
                Ok((store, Some(instance)))
            }
            None => Ok((new_store(&tool.compiled, &call)?, None)),
        }
    }

    async fn call(
        &self,
        mut store: &mut Store<HostState>,
        instance: &Instance,
    ) -> wasmtime::Result<Returned> {
        let Self { tool, attempt, gathered, .. } = self;
        if let Some(recording) = &gathered.recording {
            recording.calling();
        }
        let function = instance
            .get_func(&mut store, tool.function)
            .ok_or_else(|| wasmtime::format_err!("the exported function is gone"))?;
        let (arguments, call_id) = (attempt.arguments.value(), &attempt.call_id);
        match tool.entry.as_ref() {
            Entry::Function(plan) => {
                codec::invoke(function, &mut store, plan, arguments, call_id).await
            }
            Entry::Command { .. } => {
                let Gathered { stdout, stderr, .. } = gathered.as_ref();
                command::invoke(function, &mut store, stdout, stderr, call_id).await
            }
        }
    }
}

fn report(
    mut store: Store<HostState>,
    result: wasmtime::Result<Returned>,
    phase: Phase,
    attempt: &Attempt,
) -> Report {
    let left = store.get_fuel().unwrap_or_default();
    let fuel = attempt.limits.get(LimitKind::Fuel).value.saturating_sub(left);
    let fuel = result.as_ref().err().is_none_or(knows_fuel).then_some(fuel);
    let HostState { meter, asked, .. } = store.data();
    let seen = Seen { phase, asked: *asked, meter };
    let peak_bytes = meter.peak_bytes();
    let (end, note) = match result {
        Ok(returned) => (End::Returned(returned), None),
        Err(error) => (classify(&error, seen, attempt), backtrace(&error)),
    };
    store.data_mut().end();
    Report { end, fuel, peak_bytes, note, store: Some(store) }
}
