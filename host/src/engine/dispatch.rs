//! The one place that runs tools: every step of a call in its order.
//!
//! Safe to drop at any await. A panic anywhere in a call ends that call alone.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::attempt::{Plan, limits_of};
use super::ports::{FoundTool, ToolLookup, ToolRunner};
use super::report::OpenCall;
use super::resolve::{Resolved, not_connected, not_found, resolve};
use crate::contract::arguments::{ArgumentBounds, CheckedArguments, joined, parse};
use crate::contract::decision::{ApprovalMark, ApprovedBy, Decision, Refusal};
use crate::contract::invocation::ToolInvocation;
use crate::contract::limits::Limits;
use crate::contract::normalise::{Settling, TextRule, settle};
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::events::{EventBus, EventKind, Verdict};
use crate::gate;

/// Runs calls.
#[derive(Clone)]
pub struct Engine {
    lookup: Arc<dyn ToolLookup>,
    runner: Arc<dyn ToolRunner>,
    bus: EventBus,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// Ends a call before its tool runs.
struct Refused(Outcome, String);

impl Engine {
    /// Joins whoever finds tools with whoever runs them.
    pub fn new(lookup: Arc<dyn ToolLookup>, runner: Arc<dyn ToolRunner>, bus: EventBus) -> Self {
        Self { lookup, runner, bus }
    }

    /// Runs one call to its end. Never fails: every end is a result (A17).
    pub async fn call(&self, call: ToolInvocation, cancel: CancellationToken) -> ToolResult {
        let mut open = OpenCall::new(&self.bus, &call.call_id, &call.tool_name);
        self.bus.publish(Some(&call.call_id), || EventKind::CallReceived {
            tool_name: call.tool_name.clone(),
            caller: call.caller.clone(),
            argument_bytes: call.arguments_json.len() as u64,
        });
        let steps = AssertUnwindSafe(self.steps(&call, &cancel, &mut open)).catch_unwind().await;
        let result = match steps {
            Ok(Ok(result)) => result,
            Ok(Err(Refused(outcome, why))) => {
                let mut result = ToolResult::refused(call.call_id.clone(), outcome, why);
                result.approval = Some(ApprovalMark {
                    by: ApprovedBy::None,
                    reason: format!(
                        "the call ended as {} before the gate let it through",
                        outcome.name()
                    ),
                });
                result
            }
            Err(panic) => panicked(&call, panic.as_ref()),
        };
        open.finish(result)
    }

    async fn steps(
        &self,
        call: &ToolInvocation,
        cancel: &CancellationToken,
        open: &mut OpenCall,
    ) -> Result<ToolResult, Refused> {
        if cancel.is_cancelled() {
            return Err(Refused(Outcome::Cancelled, "cancelled before it started".to_owned()));
        }
        let tool = self.look_up(call)?;
        open.tool = Some(tool.descriptor.id.clone());
        let limits = Arc::new(limits_of(&tool.descriptor, call));
        let arguments = Arc::new(check(&tool, call, &limits)?);
        open.arguments = Some(Arc::clone(&arguments));
        let mark = self.admit(call, &tool, &arguments)?;
        open.attempts += 1;
        let number = open.attempts;
        self.bus.publish(Some(&call.call_id), || EventKind::AttemptStarted { number });
        let plan = Plan {
            call,
            arguments: &arguments,
            limits: &limits,
            started: open.started(),
            cancel,
            sink: open.sink(),
        };
        let end = self.runner.run(&tool.descriptor.id, plan.attempt(number)).await;
        let settling = Settling {
            call_id: &call.call_id,
            limits: &limits,
            text_rule: TextRule::On,
            attempts: number,
            duration_ms: Some(open.duration_ms()),
        };
        let mut result = settle(&settling, end);
        result.approval = Some(mark);
        Ok(result)
    }

    fn look_up(&self, call: &ToolInvocation) -> Result<FoundTool, Refused> {
        let resolved = resolve(self.lookup.as_ref(), call);
        // A14: before anything else, since a caller with a set isn't told of what is beside it,
        // neither that it exists nor what arguments it takes.
        let names = resolved.names(call);
        if let Some(refusal) = gate::refuse_unlisted(&names, call.allowed_tools.as_deref()) {
            return Err(refused(refusal));
        }
        match resolved {
            Resolved::Loaded(tool) => Ok(tool),
            Resolved::Session(named) => Err(Refused(Outcome::Unavailable, not_connected(&named))),
            Resolved::Unknown(named) => {
                Err(Refused(Outcome::NotFound, not_found(self.lookup.as_ref(), &named)))
            }
        }
    }

    fn admit(
        &self,
        call: &ToolInvocation,
        tool: &FoundTool,
        arguments: &CheckedArguments,
    ) -> Result<ApprovalMark, Refused> {
        let decision = gate::decide(&tool.descriptor, call);
        self.bus.publish(Some(&call.call_id), || {
            let (verdict, by, reason) = match &decision {
                Decision::Allow(mark) => (Verdict::Allow, Some(mark.by), &mark.reason),
                Decision::Deny(Refusal::NotAllowed(why) | Refusal::Denied(why)) => {
                    (Verdict::Deny, None, why)
                }
                Decision::Ask(why) => (Verdict::Ask, None, why),
            };
            EventKind::Decision {
                tool: tool.descriptor.id.clone(),
                arguments_hash: arguments.hash(),
                verdict,
                by,
                reason: reason.clone(),
            }
        });
        match decision {
            Decision::Allow(mark) => Ok(mark),
            Decision::Deny(refusal) => Err(refused(refusal)),
            // Nobody can be asked yet, and no answer is no.
            Decision::Ask(why) => Err(Refused(
                Outcome::ApprovalDeclined,
                format!(
                    "{why}, and nobody is here to approve it; only level FULL needs no approval"
                ),
            )),
        }
    }
}

fn refused(refusal: Refusal) -> Refused {
    match refusal {
        Refusal::NotAllowed(why) => Refused(Outcome::NotAllowed, why),
        Refusal::Denied(why) => Refused(Outcome::Denied, why),
    }
}

/// Parses once, checks against the schema, and makes the form that everybody sees from here on.
fn check(
    tool: &FoundTool,
    call: &ToolInvocation,
    limits: &Limits,
) -> Result<CheckedArguments, Refused> {
    let invalid = |why| Refused(Outcome::InvalidArguments, why);
    let parsed = parse(&call.arguments_json, ArgumentBounds::of(limits))
        .map_err(|error| invalid(error.sentence(limits)))?;
    let checked = tool.check.check(parsed).map_err(|failures| invalid(joined(&failures)))?;
    Ok(CheckedArguments::new(checked))
}

/// A17: the caller gets a result; what the panic said is for the log.
fn panicked(call: &ToolInvocation, panic: &(dyn std::any::Any + Send)) -> ToolResult {
    let said = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned());
    tracing::error!(call = %call.call_id, "a call panicked: {said}");
    let why = "belljar itself failed in this call; its log says how";
    let mut result = ToolResult::new(
        call.call_id.clone(),
        Outcome::HostFault,
        format!("Tool execution failed: {why}"),
    );
    result.error_message = Some(why.to_owned());
    result
}
