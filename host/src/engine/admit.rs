//! Asks the gate, and a person where it says so, whether a call may run.
//!
//! Whatever can't be found out is a no. While a person is awaited the call holds no slot, no lock
//! and no time of its own.

use std::sync::Arc;

use tokio::time::Instant;

use super::attempt::limits_of;
use super::dispatch::{Shared, Within};
use super::execute::Admitted;
use super::prepare::{Prepared, grants_of, look_up, prepare};
use super::question;
use super::refused::Refused;
use super::repeat::known;
use super::report::OpenCall;
use super::timely::in_time;
use crate::contract::approval::ApprovalEntry;
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::{ApprovalMark, ApprovedBy, AskReason, Decision};
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::events::{EventKind, Verdict};
use crate::gate::approval::{Answer, ApprovalError, Asking};
use crate::gate::{GateView, apply_remembered, judge};

/// What became of a call at the gate.
pub(super) enum Admission {
    /// It runs.
    Run(Box<Admitted>),
    /// It ends without a run, and not for want of permission: its result was kept, or a person
    /// answered in the tool's place.
    Ended(Box<ToolResult>),
}

/// Lets a call through, or says why not.
pub(super) async fn admit(
    shared: &Shared,
    within: &Within<'_>,
    open: &mut OpenCall,
    prepared: Prepared,
) -> Result<Admission, Refused> {
    let call = within.call;
    let decision = decide(shared, call, &prepared).await?;
    publish(shared, call, &prepared, &decision);
    let ask = match decision {
        Decision::Deny(refusal) => return Err(refusal.into()),
        Decision::Allow(mark) => Ok(mark),
        Decision::Ask(ask) => Err(ask),
    };
    // Before anybody is asked: what has run needs no approval to be told again.
    if call.idempotency_key.is_some() {
        let told = known(shared, call, &prepared);
        if let Some(result) = in_time(open, &prepared.limits, within, told).await? {
            return Ok(Admission::Ended(result));
        }
    }
    match ask {
        Ok(mark) => {
            let (asked, came) = (mark.by == ApprovedBy::Person, prepared.arguments.hash());
            Ok(Admission::Run(Box::new(Admitted { prepared, mark, asked, came, answer: None })))
        }
        // Large and seldom: within the call's own future, every call would have room for it.
        Err(ask) => Box::pin(ask_a_person(shared, within, open, prepared, ask)).await,
    }
}

/// The gate's word, with what people said of such calls before. What they said and can't be read
/// may have been a no.
async fn decide(
    shared: &Shared,
    call: &ToolInvocation,
    prepared: &Prepared,
) -> Result<Decision, Refused> {
    let tool = &prepared.tool.descriptor;
    let decision = judge(&shared.policy, &GateView::new(tool, call, Some(&prepared.arguments)));
    if !shared.policy.is_enabled() {
        return Ok(decision);
    }
    let remembered = shared.approvals.remembered().await.map_err(|error| {
        let why = format!(
            "what was remembered can't be read, so the call was not run: {}",
            error.without_path()
        );
        Refused::new(Outcome::HostFault, why)
    })?;
    if !remembered.knows(&tool.id) {
        return Ok(decision);
    }
    let asking = asking(shared, call, prepared);
    Ok(apply_remembered(decision, remembered.find(&asking.asked(), (shared.clock)())))
}

/// Asks the gate again where the caller's level was lowered since it was asked (A15): a person may
/// have been awaited, or a lock. What would now need a person, and had none, is to be called again.
/// Gives the level that holds.
pub(super) async fn still_admitted(
    shared: &Shared,
    call: &ToolInvocation,
    prepared: &Prepared,
    asked: bool,
) -> Result<PermissionLevel, Refused> {
    let level = shared.level_of(call);
    if level == call.permission_level {
        return Ok(level);
    }
    let lowered = ToolInvocation { permission_level: level, ..call.clone() };
    match decide(shared, &lowered, prepared).await? {
        Decision::Deny(refusal) => Err(refusal.into()),
        Decision::Ask(ask) if !asked => {
            let why = format!(
                "the caller's level was lowered before the call ran, and it now needs a person \
                 ({}): repeat the call",
                ask.reason
            );
            Err(Refused::new(Outcome::ApprovalDeclined, why))
        }
        Decision::Ask(_) | Decision::Allow(_) => Ok(level),
    }
}

pub(super) fn asking<'a>(
    shared: &Shared,
    call: &ToolInvocation,
    prepared: &'a Prepared,
) -> Asking<'a> {
    Asking::new(
        &prepared.tool.descriptor,
        call,
        &prepared.arguments,
        &prepared.grants,
        &prepared.limits,
        shared.policy.revision(),
    )
}

fn publish(shared: &Shared, call: &ToolInvocation, prepared: &Prepared, decision: &Decision) {
    shared.bus.publish_for(&call.call_id, call.caller.as_deref(), || {
        let (verdict, by, reason) = match decision {
            Decision::Allow(mark) => (Verdict::Allow, Some(mark.by), mark.reason.as_str()),
            Decision::Deny(refusal) => (Verdict::Deny, None, refusal.why()),
            Decision::Ask(ask) => (Verdict::Ask, None, ask.reason.as_str()),
        };
        EventKind::Decision {
            tool: prepared.tool.descriptor.id.clone(),
            arguments_hash: prepared.arguments.hash(),
            verdict,
            by,
            reason: reason.to_owned(),
        }
    });
}

/// Waits for a person's answer and acts on it.
async fn ask_a_person(
    shared: &Shared,
    within: &Within<'_>,
    open: &mut OpenCall,
    prepared: Prepared,
    ask: AskReason,
) -> Result<Admission, Refused> {
    let call = within.call;
    let remembered = shared.approvals.remembered().await;
    let remembered = remembered.map_err(|error| unasked(&error.into()))?;
    let request = asking(shared, call, &prepared);
    let request = shared.approvals.request(&request, &ask, &remembered);
    let request = request.map_err(|error| unasked(&error))?;
    let began = Instant::now();
    let answer = shared.approvals.ask(request, call.approval_mode, within.cancel);
    let answer = open.slot.aside(answer).await;
    open.waited += began.elapsed();
    // The key was nobody's meanwhile. What has run since leaves the answer untaken.
    let runs = matches!(answer, Answer::Admitted(_) | Answer::Edited { .. });
    let told = async { if runs { known(shared, call, &prepared).await } else { Ok(None) } };
    if let Some(result) = in_time(open, &prepared.limits, within, told).await? {
        return Ok(Admission::Ended(result));
    }
    match answer {
        Answer::Admitted(entry) => Ok(answered(prepared, entry, None)),
        Answer::Edited { arguments_json, entry } => {
            match edited(shared, within, open, &prepared, &arguments_json).await {
                Ok(edited) => Ok(answered(prepared, entry, Some(edited))),
                Err(refused) => Err(unfit(shared, within, open, prepared, entry, refused).await),
            }
        }
        Answer::Answered { content, entry } => {
            let mut result = ToolResult::new(call.call_id.clone(), Outcome::Success, content);
            result.executed = Executed::No;
            result.approval = Some(mark_of(&entry, "a person answered in the tool's place"));
            if ask.question {
                let given = question::answered(&prepared.arguments, &result.content);
                result.structured = Some(given);
            }
            Ok(Admission::Ended(Box::new(result)))
        }
        other => {
            let unanswered = question::unanswered(&other).filter(|_| ask.question);
            Err(Refused { unanswered, ..not_admitted(other, &ask) })
        }
    }
}

/// How a call ends that nobody let through.
fn not_admitted(answer: Answer, ask: &AskReason) -> Refused {
    match answer {
        Answer::Declined { reason, by, id } => {
            let whose = by.as_ref().map(|by| format!(" by {}", by.name)).unwrap_or_default();
            let why =
                format!("the call was declined{whose}: {reason} (asked because {})", ask.reason);
            let refused = Refused::new(Outcome::ApprovalDeclined, why);
            Refused { approval: id, approver: by, ..refused }
        }
        Answer::Expired(id) => {
            let why = format!("nobody answered in time ({}); it was not run", ask.reason);
            Refused::new(Outcome::ApprovalExpired, why).of_request(&id)
        }
        Answer::Pending { id, .. } => {
            let (what, how) = match ask.question {
                true => ("answer this", format!("answer {id} TEXT")),
                false => ("approve this call", format!("approve {id}")),
            };
            let why = format!(
                "a person has to {what} ({}): `belljar approvals {how}`, or `deny`; then repeat \
                 the identical call",
                ask.reason
            );
            Refused::new(Outcome::ApprovalPending, why).of_request(&id)
        }
        Answer::Unavailable(why) => {
            let why = format!("nobody could be asked, so the call was declined: {why}");
            Refused::new(Outcome::ApprovalDeclined, why)
        }
        Answer::CalledOff { by, id } => {
            let why = format!("called off by {} instead of being let through", by.name);
            Refused::new(Outcome::Cancelled, why).of_request(&id).said_by(by)
        }
        // What lets through has been dealt with; what is left is a call that was called off.
        Answer::Cancelled
        | Answer::Admitted(_)
        | Answer::Edited { .. }
        | Answer::Answered { .. } => {
            Refused::new(Outcome::Cancelled, "called off before it was let through")
        }
    }
}

/// An answer that lets a call through, and the arguments that the person was asked about.
pub(super) struct Answered {
    entry: Box<ApprovalEntry>,
    asked_about: Arc<CheckedArguments>,
}

/// A call that an answer lets through, with the arguments that it runs with.
fn answered(
    prepared: Prepared,
    entry: Box<ApprovalEntry>,
    edited: Option<Arc<CheckedArguments>>,
) -> Admission {
    let mut mark = mark_of(&entry, "a person approved it");
    let asked_about = Arc::clone(&prepared.arguments);
    let came = asked_about.hash();
    mark.edited_arguments = edited.as_ref().map(|edited| edited.value().clone());
    let prepared = Prepared { arguments: edited.unwrap_or(prepared.arguments), ..prepared };
    let answer = Some(Answered { entry, asked_about });
    Admission::Run(Box::new(Admitted { prepared, mark, asked: true, came, answer }))
}

/// How a call ends whose approver wrote arguments that can't be used. The answer is taken, so that
/// a repeat of the call is asked about anew.
async fn unfit(
    shared: &Shared,
    within: &Within<'_>,
    open: &OpenCall,
    prepared: Prepared,
    entry: Box<ApprovalEntry>,
    refused: Refused,
) -> Refused {
    let (id, limits) = (entry.request.id.clone(), Arc::clone(&prepared.limits));
    let approver = entry.decided.as_ref().map(|decided| decided.approver.clone());
    let answer = Answered { entry, asked_about: Arc::clone(&prepared.arguments) };
    let taken = in_time(open, &limits, within, take(shared, within.call, prepared, answer)).await;
    if let Err(refused) = taken {
        return refused;
    }
    let why = format!("the approver's arguments were refused: {}", refused.why);
    Refused { approver, ..Refused::new(Outcome::ApprovalDeclined, why).of_request(&id) }
}

/// Takes the answer for this call, by what is in force now: had the tool, its grants, its limits or
/// the rules changed since the question, the answer isn't this call's. Gives back the call as it now
/// is.
pub(super) async fn take(
    shared: &Shared,
    call: &ToolInvocation,
    prepared: Prepared,
    answer: Answered,
) -> Result<Prepared, Refused> {
    let Answered { entry, asked_about } = answer;
    let id = &entry.request.id;
    let tool = look_up(shared, call)?;
    let grants = grants_of(shared, &tool, call).await?;
    let limits = Arc::new(limits_of(&tool.descriptor, call));
    let now = Prepared { tool, limits, grants, arguments: asked_about };
    let binding = asking(shared, call, &now).binding().map_err(|error| unasked(&error))?;
    shared.approvals.take(id, binding).await.map_err(|error| {
        let why = format!("the approval doesn't admit this call: {}", error.without_path());
        Refused::new(Outcome::ApprovalDeclined, why).of_request(id)
    })?;
    Ok(Prepared { arguments: prepared.arguments, ..now })
}

/// Arguments that a person wrote are checked like any others, and no person lifts a denial.
async fn edited(
    shared: &Shared,
    within: &Within<'_>,
    open: &OpenCall,
    prepared: &Prepared,
    arguments_json: &str,
) -> Result<Arc<CheckedArguments>, Refused> {
    let tool = prepared.tool.clone();
    let edited = prepare(shared, tool, within, open, arguments_json).await?;
    match decide(shared, within.call, &edited).await? {
        Decision::Deny(refusal) => Err(refusal.into()),
        Decision::Allow(_) | Decision::Ask(_) => Ok(edited.arguments),
    }
}

fn mark_of(entry: &ApprovalEntry, what: &str) -> ApprovalMark {
    let approver = entry.decided.as_ref().map(|decided| decided.approver.clone());
    let decision = entry.decided.as_ref().map_or("once", |decided| decided.decision.name());
    ApprovalMark {
        approval: Some(entry.request.id.clone()),
        approver,
        ..ApprovalMark::new(ApprovedBy::Person, format!("{what} ({decision})"))
    }
}

/// Where things are on this machine is for the log alone.
fn unasked(error: &ApprovalError) -> Refused {
    tracing::warn!("nobody could be asked: {error}");
    let why = format!("nobody could be asked, so the call was declined: {}", error.without_path());
    Refused::new(Outcome::ApprovalDeclined, why)
}
