//! Runs the calls of a batch in their runs, and gives each its result in the batch's order.
//!
//! Knows nothing of what a call does: it is handed a function that runs one to its end.

mod order;
mod slot;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio_util::sync::CancellationToken;

use self::order::Order;
pub(crate) use self::slot::Slot;
use self::slot::Slots;
use super::locks::{LockKey, keys_of};
use super::plan::{ParallelRules, Safety, cut};
use super::ports::FoundTool;
use super::share;
use crate::contract::arguments::{ArgumentBounds, parse};
use crate::contract::ids::CallId;
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;

/// A call with its place in the plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BatchCall {
    /// What to run; its id is unique in the batch.
    pub(crate) invocation: ToolInvocation,
    /// Whether it may run beside others.
    pub(crate) safety: Safety,
    /// Calls of one batch that share a key run in the batch's order, one at a time.
    pub(crate) locks: BTreeSet<LockKey>,
    /// The place of an earlier call whose answer stands for this one, which then doesn't run.
    pub(crate) shares: Option<usize>,
}

impl BatchCall {
    /// Plans a call of `tool`; `None`: of a tool that isn't known. Shares no other's answer.
    pub(crate) fn new(
        invocation: ToolInvocation,
        tool: Option<&FoundTool>,
        rules: &ParallelRules,
    ) -> Self {
        let safety = rules.safety(tool.map(|found| found.descriptor.as_ref()));
        let locks = tool.and_then(|found| calmly(|| locks_of(found, &invocation)));
        let locks = locks.unwrap_or_default();
        Self { invocation, safety, locks, shares: None }
    }
}

/// The keys of a call, under the names that its tool's check gives the arguments. `None` for
/// arguments that the check refuses: such a call runs nothing.
fn locks_of(found: &FoundTool, call: &ToolInvocation) -> Option<BTreeSet<LockKey>> {
    let tool = found.descriptor.as_ref();
    if tool.parallel.locks.is_empty() {
        return None;
    }
    let parsed = parse(&call.arguments_json, ArgumentBounds::of(&tool.limits)).ok()?;
    let checked = found.check.check(parsed).ok()?;
    Some(keys_of(tool, &checked))
}

/// Looks at a call while its batch is planned. What panics here panics again in the call itself,
/// which then ends alone.
pub(super) fn calmly<T>(look: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(look)).ok().flatten()
}

/// Runs a batch: its runs in their order, at most `concurrency` calls of a parallel-safe run at
/// once, those of a sequential run one after another (B4, B10).
///
/// There is one result for each call, at its place and under its id (B11), whatever happens: a call
/// that panics is a `host_fault` of its own, and once `cancel` is cancelled no further call begins
/// and each that hasn't is `cancelled` with no duration. Calls that have begun are waited for: they
/// were given the token and end by themselves, so that nothing of the batch runs after its return.
/// Where the batch itself is dropped, its calls are dropped with it.
///
/// A call that is handed its [`Slot`] may put it aside while it waits for a person: then another
/// begins in its stead.
///
/// `on_result` hears of each result once, as it comes in, with the call's place.
pub(crate) async fn run_batch<F, Fut>(
    calls: Vec<BatchCall>,
    concurrency: NonZeroUsize,
    cancel: &CancellationToken,
    call: F,
    on_result: impl FnMut(usize, &ToolResult),
) -> Vec<ToolResult>
where
    F: Fn(ToolInvocation, CancellationToken, Slot) -> Fut,
    Fut: Future<Output = ToolResult>,
{
    let mut results = Results::new(&calls, on_result);
    let own: Vec<(usize, BatchCall)> =
        calls.into_iter().enumerate().filter(|(place, _)| !results.shares(*place)).collect();
    let runs = cut(&own.iter().map(|(_, planned)| planned.safety).collect::<Vec<_>>());
    let mut own = own.into_iter();
    for run in runs {
        let slots = match run.safety {
            Safety::Parallel => Slots::shared(concurrency.get(), cancel),
            Safety::Sequential => Slots::single(cancel),
        };
        let mut order = Order::new(own.by_ref().take(run.places.len()));
        let mut running = FuturesUnordered::new();
        loop {
            let may_begin = !cancel.is_cancelled() && order.is_ready();
            let open = running.len();
            tokio::select! {
                biased;
                slot = slots.take(open), if may_begin => {
                    // It may have been cancelled while there was no slot.
                    if !cancel.is_cancelled() && let Some((place, invocation)) = order.begin() {
                        running.push(run_one(place, invocation, cancel, slot, &call));
                    }
                }
                Some((place, result)) = running.next() => {
                    order.end(place);
                    results.settle(place, result);
                }
                else => break,
            }
        }
    }
    results.finish()
}

/// One call to its end, whatever it does.
async fn run_one<F, Fut>(
    place: usize,
    invocation: ToolInvocation,
    cancel: &CancellationToken,
    slot: Slot,
    call: &F,
) -> (usize, ToolResult)
where
    F: Fn(ToolInvocation, CancellationToken, Slot) -> Fut,
    Fut: Future<Output = ToolResult>,
{
    let id = invocation.call_id.clone();
    let ended = async { call(invocation, cancel.clone(), slot).await };
    let mut result = match AssertUnwindSafe(ended).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            tracing::error!(call = %id, "a call of a batch panicked: {}", words_of(panic.as_ref()));
            let why = "belljar itself failed in this call; its log says how";
            ToolResult::refused(id.clone(), Outcome::HostFault, why)
        }
    };
    result.call_id = id;
    (place, result)
}

/// What a panic said, for the log.
pub(super) fn words_of(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    let said = literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    said.unwrap_or("a panic without words")
}

/// The results of a batch as they come in.
struct Results<L> {
    places: Vec<Place>,
    /// Place of a call → places of those that share its answer.
    sharers: BTreeMap<usize, Vec<usize>>,
    on_result: L,
}

struct Place {
    id: CallId,
    shares: bool,
    result: Option<ToolResult>,
}

impl<L: FnMut(usize, &ToolResult)> Results<L> {
    fn new(calls: &[BatchCall], on_result: L) -> Self {
        let mut sharers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut places: Vec<Place> = Vec::with_capacity(calls.len());
        for (place, planned) in calls.iter().enumerate() {
            // Only an earlier call that runs itself has an answer to share.
            let runs = |of: &usize| places.get(*of).is_some_and(|kept| !kept.shares);
            let of = planned.shares.filter(runs);
            if let Some(of) = of {
                sharers.entry(of).or_default().push(place);
            }
            let id = planned.invocation.call_id.clone();
            places.push(Place { id, shares: of.is_some(), result: None });
        }
        Self { places, sharers, on_result }
    }

    fn shares(&self, place: usize) -> bool {
        self.places.get(place).is_some_and(|kept| kept.shares)
    }

    fn settle(&mut self, place: usize, result: ToolResult) {
        for sharer in self.sharers.remove(&place).unwrap_or_default() {
            if let Some(id) = self.places.get(sharer).map(|kept| kept.id.clone()) {
                self.put(sharer, share::shared(&result, id));
            }
        }
        self.put(place, result);
    }

    fn put(&mut self, place: usize, result: ToolResult) {
        (self.on_result)(place, &result);
        if let Some(kept) = self.places.get_mut(place) {
            kept.result = Some(result);
        }
    }

    fn finish(mut self) -> Vec<ToolResult> {
        let missing: Vec<_> = self
            .places
            .iter()
            .enumerate()
            .filter(|(_, kept)| kept.result.is_none())
            .map(|(place, kept)| (place, never_begun(kept.id.clone())))
            .collect();
        for (place, result) in missing {
            self.put(place, result);
        }
        self.places
            .into_iter()
            .map(|kept| kept.result.unwrap_or_else(|| never_begun(kept.id)))
            .collect()
    }
}

fn never_begun(id: CallId) -> ToolResult {
    ToolResult::refused(id, Outcome::Cancelled, "the batch was cancelled before this call began")
}

#[cfg(test)]
mod tests;
