//! The one place that runs tools: every step of a call in its order.
//!
//! Safe to drop at any await. A panic anywhere in a call ends that call alone.

use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::admit::{Admission, admit};
use super::batch::{BatchCall, Slot, calmly, run_batch, words_of};
use super::breaker::FailureBreaker;
use super::execute::execute;
use super::kept::KeptResults;
use super::locks::Locks;
use super::plan::ParallelRules;
use super::ports::{FoundTool, LiveLevels, ToolLookup, ToolRunner};
use super::prepare::{Prepared, look_up, prepare};
use super::refused::Refused;
use super::report::OpenCall;
use super::retry::Retries;
use super::settings::{EngineSettings, SettingsError};
use super::share::Sharing;
use crate::contract::approval::CallerContext;
use crate::contract::ids::Digest;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::{Attachment, ToolResult};
use crate::events::{Clock, EventBus, EventKind, Journal};
use crate::gate::Policy;
use crate::gate::approval::ApprovalQueue;
use crate::storage::ResultStore;

/// Calls whose grants are made out at once, where those are templates.
const RESOLVING: usize = 16;

/// Everything an engine is joined from.
#[derive(Clone)]
pub struct EngineParts {
    /// Finds tools.
    pub lookup: Arc<dyn ToolLookup>,
    /// Runs attempts.
    pub runner: Arc<dyn ToolRunner>,
    /// Where events go.
    pub bus: EventBus,
    /// The rules.
    pub policy: Arc<Policy>,
    /// Where people are asked.
    pub approvals: ApprovalQueue,
    /// Where results of calls with an idempotency key are kept.
    pub results: Arc<dyn ResultStore>,
    /// Where each call is recorded; `None`: nowhere.
    pub journal: Option<Journal>,
    /// Batches, retries, repeated failures.
    pub settings: EngineSettings,
    /// The time, for what is kept.
    pub clock: Clock,
    /// The levels that live sessions set; `None`: there are none.
    pub levels: Option<Arc<dyn LiveLevels>>,
}

impl std::fmt::Debug for EngineParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineParts").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Runs calls. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<Shared>);

pub(super) struct Shared {
    pub(super) lookup: Arc<dyn ToolLookup>,
    pub(super) runner: Arc<dyn ToolRunner>,
    pub(super) bus: EventBus,
    pub(super) policy: Arc<Policy>,
    pub(super) approvals: ApprovalQueue,
    pub(super) results: Arc<dyn ResultStore>,
    pub(super) journal: Option<Journal>,
    pub(super) locks: Locks,
    pub(super) retries: Retries,
    pub(super) breaker: FailureBreaker,
    pub(super) clock: Clock,
    levels: Option<Arc<dyn LiveLevels>>,
    kept: KeptResults,
    /// Places for looking at folders of grants that are templates.
    pub(super) resolving: Arc<Semaphore>,
    settings: EngineSettings,
    parallel: ParallelRules,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

impl Engine {
    /// Joins the parts.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(parts: EngineParts) -> Result<Self, SettingsError> {
        let EngineParts {
            lookup,
            runner,
            bus,
            policy,
            approvals,
            results,
            journal,
            settings,
            clock,
            levels,
        } = parts;
        settings.validate()?;
        Ok(Self(Arc::new(Shared {
            lookup,
            runner,
            bus,
            policy,
            approvals,
            results,
            journal,
            locks: Locks::default(),
            retries: Retries::new(&settings),
            breaker: FailureBreaker::new(settings.failure_breaker),
            clock,
            levels,
            kept: KeptResults::default(),
            resolving: Arc::new(Semaphore::new(RESOLVING)),
            parallel: ParallelRules::new(&settings)?,
            settings,
        })))
    }

    /// Runs one call to its end. Never fails: every end is a result (A17).
    pub async fn call(&self, call: ToolInvocation, cancel: CancellationToken) -> ToolResult {
        self.call_in(Slot::alone(), call, cancel).await
    }

    async fn call_in(
        &self,
        slot: Slot,
        mut call: ToolInvocation,
        cancel: CancellationToken,
    ) -> ToolResult {
        let shared = self.0.as_ref();
        call.permission_level = shared.level_of(&call);
        let mut open = OpenCall::new(&self.0, &call, slot);
        shared.bus.publish_for(&call.call_id, call.caller.as_deref(), || EventKind::CallReceived {
            tool_name: call.tool_name.clone(),
            caller: call.caller.clone(),
            argument_bytes: call.arguments_json.len() as u64,
        });
        let within = Within { call: &call, cancel: &cancel };
        let ended = {
            // Large, so it stays where it is made.
            let steps = pin!(steps(shared, &within, &mut open));
            AssertUnwindSafe(steps).catch_unwind().await
        };
        let mut result = match ended {
            Ok(Ok(result)) => *result,
            Ok(Err(refused)) => refused.into_result(call.call_id.clone()),
            Err(panic) => panicked(&call, panic.as_ref(), open.attempts),
        };
        open.finish(&mut result).await;
        if !result.attachments.is_empty() {
            shared.kept.keep(&call.context(), &result, (shared.clock)());
        }
        result
    }

    /// The attachment of this address, where a call of this caller left it and it is still kept:
    /// see [`KeptResults`].
    pub fn attachment(&self, caller: &CallerContext, uri: &str) -> Option<Arc<Attachment>> {
        self.0.kept.get(caller, uri, (self.0.clock)())
    }

    /// What is kept of this caller's calls, the oldest first.
    pub fn attachments(&self, caller: &CallerContext) -> Vec<Arc<Attachment>> {
        self.0.kept.list(caller, (self.0.clock)())
    }

    /// See [`ToolLookup::near`].
    pub fn near(&self, name: &str) -> Vec<String> {
        self.0.lookup.near(name)
    }

    /// What calls leave, for the tool that reads it.
    pub fn kept(&self) -> KeptResults {
        self.0.kept.clone()
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.0
    }

    /// Runs calls that were handed over together: one result for each, in their order, whatever
    /// happens. `on_result` hears of each with its place, as it comes in. Call ids must differ.
    pub async fn batch(
        &self,
        calls: Vec<ToolInvocation>,
        cancel: CancellationToken,
        on_result: impl FnMut(usize, &ToolResult) + Send,
    ) -> Vec<ToolResult> {
        let asked: Vec<_> = calls.iter().map(without_arguments).collect();
        let results = self.run_planned(self.planned(calls), cancel, on_result).await;
        let mut told = Vec::with_capacity(results.len());
        for (call, mut result) in asked.iter().zip(results) {
            // What never came to a call of its own (it shares another's answer, or the batch was
            // cancelled before it) is recorded and told like any other that didn't run.
            told.push(match result.duration_ms {
                Some(_) => result,
                None => {
                    let mut open = OpenCall::new(&self.0, call, Slot::alone());
                    // The mark says whose answer it shares; what never began has none.
                    open.answered = result.approval.is_some();
                    open.finish(&mut result).await;
                    result
                }
            });
        }
        told
    }

    fn planned(&self, calls: Vec<ToolInvocation>) -> Vec<BatchCall> {
        let shared = self.0.as_ref();
        let mut sharing = Sharing::new(&shared.settings);
        let planned = calls.into_iter().enumerate().map(|(place, call)| {
            let tool = calmly(|| shared.lookup.find(&call.tool_name));
            let repeats =
                sharing.repeats(place, &call, tool.as_ref().map(|tool| tool.descriptor.as_ref()));
            BatchCall { shares: repeats, ..BatchCall::new(call, tool.as_ref(), &shared.parallel) }
        });
        planned.collect()
    }

    async fn run_planned(
        &self,
        planned: Vec<BatchCall>,
        cancel: CancellationToken,
        on_result: impl FnMut(usize, &ToolResult) + Send,
    ) -> Vec<ToolResult> {
        let at_once = NonZeroUsize::new(self.0.settings.concurrency).unwrap_or(NonZeroUsize::MIN);
        let run = |call, cancel, slot| self.call_in(slot, call, cancel);
        run_batch(planned, at_once, &cancel, run, on_result).await
    }
}

impl Shared {
    /// The level that holds for a call now (A15).
    pub(super) fn level_of(&self, call: &ToolInvocation) -> PermissionLevel {
        self.levels.as_ref().map_or(call.permission_level, |levels| levels.level(call))
    }
}

/// A call as far as its record needs it; arguments can be long.
fn without_arguments(call: &ToolInvocation) -> ToolInvocation {
    ToolInvocation::of(call.context(), call.call_id.clone(), call.tool_name.clone(), "")
}

/// What a call is made within.
pub(super) struct Within<'a> {
    pub(super) call: &'a ToolInvocation,
    pub(super) cancel: &'a CancellationToken,
}

async fn steps(
    shared: &Shared,
    within: &Within<'_>,
    open: &mut OpenCall,
) -> Result<Box<ToolResult>, Refused> {
    let call = within.call;
    if within.cancel.is_cancelled() {
        return Err(Refused::new(Outcome::Cancelled, "cancelled before it started"));
    }
    let tool = look_up(shared, call)?;
    open.tool = Some(Arc::clone(&tool.descriptor));
    let prepared = checked(shared, within, open, tool).await?;
    let hash = prepared.arguments.hash();
    open.arguments = Some(Arc::clone(&prepared.arguments));
    let tool = Arc::clone(&prepared.tool.descriptor);
    if let Some(why) = shared.breaker.refuses(call, &tool.id, hash, Instant::now) {
        return Err(Refused::new(Outcome::Denied, why));
    }
    match admit(shared, within, open, prepared).await? {
        Admission::Run(admitted) => {
            open.arguments = Some(Arc::clone(&admitted.prepared.arguments));
            let result = execute(shared, within, open, admitted).await?;
            shared.breaker.note(call, &tool.id, hash, result.outcome, Instant::now);
            Ok(result)
        }
        Admission::Ended(result) => {
            open.answered = true;
            Ok(result)
        }
    }
}

/// The call with its arguments checked. Arguments that fail the check again and again are counted
/// like any other failure.
async fn checked(
    shared: &Shared,
    within: &Within<'_>,
    open: &OpenCall,
    tool: FoundTool,
) -> Result<Prepared, Refused> {
    let (call, descriptor) = (within.call, Arc::clone(&tool.descriptor));
    let refused = match prepare(shared, tool, within, open, &call.arguments_json).await {
        Ok(prepared) => return Ok(prepared),
        Err(refused) => refused,
    };
    if refused.outcome == Outcome::InvalidArguments {
        let (hash, id) = (Digest::of(call.arguments_json.as_bytes()), &descriptor.id);
        if let Some(why) = shared.breaker.refuses(call, id, hash, Instant::now) {
            return Err(Refused::new(Outcome::Denied, why));
        }
        shared.breaker.note(call, id, hash, refused.outcome, Instant::now);
    }
    Err(refused)
}

/// A17: the caller gets a result; what the panic said is for the log.
fn panicked(
    call: &ToolInvocation,
    panic: &(dyn std::any::Any + Send),
    attempts: u32,
) -> ToolResult {
    tracing::error!(call = %call.call_id, "a call panicked: {}", words_of(panic));
    let why = "belljar itself failed in this call; its log says how";
    let mut result = ToolResult::new(
        call.call_id.clone(),
        Outcome::HostFault,
        format!("Tool execution failed: {why}"),
    );
    result.error_message = Some(why.to_owned());
    if attempts == 0 {
        result.executed = Executed::No;
    }
    result
}
