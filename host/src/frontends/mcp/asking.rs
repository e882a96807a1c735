//! A call that needs a person, put to whoever sits at the client.
//!
//! Decides nothing itself: an answer is handed to the queue of approvals, and the call is made again,
//! which the gate admits or not. A state that comes back is the client's word until it is verified.

mod askers;
mod elsewhere;
mod form;
mod in_task;
mod state;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitRequestParams, ErrorData,
    InputRequest, InputRequests, InputRequiredResult,
};
use rmcp::service::RequestContext;

pub(super) use self::askers::Askers;
pub(super) use self::form::is_question;
pub(super) use self::in_task::wait_in_task;
pub(super) use self::state::Used;

use self::askers::Asks;
use self::elsewhere::over;
use self::form::Form;
use super::answer::answer;
use super::call::Call;
use super::server::is_modern;
use super::shared::Shared;
use crate::config::McpApprovals;
use crate::contract::approval::{ApprovalDecision, ApprovalRequest, Approver, Channel};
use crate::contract::ids::ApprovalId;
use crate::contract::invocation::ApprovalMode;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::events::EventStream;

/// Why a request ends whose call was called off.
const CALLED_OFF: &str = "the call was called off while it waited for a person";
/// The one question of a round, and its answer.
const QUESTION: &str = "approval";

/// Whether the client shows forms.
pub(super) fn can_be_asked(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|it| it.elicitation);
    // One that says no more than that it elicits shows forms.
    elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none())
}

/// Whether whoever sits at a client may answer at all.
fn may_ask(shared: &Shared) -> bool {
    matches!(shared.settings.approvals, McpApprovals::Elicit | McpApprovals::Client)
}

/// Makes a call whose client has asked already.
pub(super) async fn client_asked(call: &Call<'_>) -> Result<CallToolResponse, ErrorData> {
    let result = call.make(ApprovalMode::HandBackAtOnce).await?;
    match pending(&result) {
        Some(id) => {
            decide(call, id, ApprovalDecision::Once).await;
            call.ended(ApprovalMode::HandBackAtOnce).await
        }
        None => Ok(answer(result, &call.tool).into()),
    }
}

/// Makes a call, asks at the client where it must be asked, and makes it again with the answer.
pub(super) async fn elicit(
    call: &Call<'_>,
    request: &CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    take_answer(call, request).await?;
    let modern = is_modern(call.context);
    let events = (!modern).then(|| call.shared.host.events());
    let result = call.make(ApprovalMode::HandBackAtOnce).await?;
    let Some(id) = pending(&result) else {
        return Ok(answer(result, &call.tool).into());
    };
    let asks = call.shared.askers.join(&id);
    let asked = asked(call, id.clone()).await?;
    match events {
        None => input_required(call, &asked),
        Some(events) => match ask_peer(call, &asked, events).await? {
            Said::Decided(decision) => {
                decide(call, id, decision).await;
                call.ended(ApprovalMode::HandBackAtOnce).await
            }
            Said::Elsewhere => call.ended(ApprovalMode::HandBackAtOnce).await,
            Said::CalledOff => Ok(answer(call_off(call, asks, result).await, &call.tool).into()),
            Said::Nothing => Ok(answer(result, &call.tool).into()),
        },
    }
}

/// Hands in the answer that a modern client sends along with the state of its question.
async fn take_answer(call: &Call<'_>, request: &CallToolRequestParams) -> Result<(), ErrorData> {
    let sealed = request.request_state.as_ref().filter(|_| is_modern(call.context));
    let Some(sealed) = sealed else { return Ok(()) };
    let state = state::open(call, sealed)?;
    let answers = request.input_responses.as_ref();
    // Without an answer it is asked again.
    let Some(said) = answers.and_then(|answers| answers.get(QUESTION)) else { return Ok(()) };
    let asked = asked(call, state.approval.clone()).await?;
    let decision = decision(&asked, said)?;
    state::use_up(call, &state)?;
    decide(call, state.approval, decision).await;
    Ok(())
}

/// What an answer to the form of a request means.
pub(super) fn decision(
    asked: &ApprovalRequest,
    said: &serde_json::Value,
) -> Result<ApprovalDecision, ErrorData> {
    let unusable = || {
        let why = "an answer is an object with an `action`: `accept`, `decline` or `cancel`";
        ErrorData::invalid_params(why, None)
    };
    // By their places in an array its members could be read as well.
    let said = Some(said).filter(|said| said.is_object()).ok_or_else(unusable)?;
    let said = serde_json::from_value(said.clone()).map_err(|_error| unusable())?;
    Form::of(asked).decision(&said)
}

/// The request that a call waits for.
fn pending(result: &ToolResult) -> Option<ApprovalId> {
    let waits = result.outcome == Outcome::ApprovalPending;
    result.approval.as_ref().filter(|_| waits)?.approval.clone()
}

/// What is asked.
async fn asked(call: &Call<'_>, id: ApprovalId) -> Result<ApprovalRequest, ErrorData> {
    let approvals = call.shared.host.approvals().clone();
    let shown = tokio::task::spawn_blocking(move || approvals.show(&id)).await;
    match shown {
        Ok(Ok(entry)) => Ok(entry.request),
        _ => Err(ErrorData::internal_error("the request for approval can't be read", None)),
    }
}

/// The modern way: the client asks, and repeats the call with the answer.
fn input_required(call: &Call<'_>, asked: &ApprovalRequest) -> Result<CallToolResponse, ErrorData> {
    let now = (call.shared.settings.clock)();
    let request = InputRequest::Elicitation(ElicitRequest::new(elicitation(asked, now)?));
    let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
    let state = state::seal(call, asked, now)?;
    Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
}

fn elicitation(asked: &ApprovalRequest, now: u64) -> Result<ElicitRequestParams, ErrorData> {
    let form = Form::of(asked);
    let requested_schema = serde_json::from_value(form.schema())
        .map_err(|error| ErrorData::internal_error(format!("no form: {error}"), None))?;
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: form.message(now),
        requested_schema,
    })
}

/// What came of asking while the call is open.
enum Said {
    Decided(ApprovalDecision),
    /// Somebody answered by another way.
    Elsewhere,
    /// The client wants no answer any more.
    CalledOff,
    Nothing,
}

/// The older way: the client is asked while its call is open.
async fn ask_peer(
    call: &Call<'_>,
    asked: &ApprovalRequest,
    events: EventStream,
) -> Result<Said, ErrorData> {
    let now = (call.shared.settings.clock)();
    let params = elicitation(asked, now)?;
    let timeout = Some(call.shared.settings.bounds.elicitation);
    let said = tokio::select! {
        biased;
        () = call.context.ct.cancelled() => return Ok(Said::CalledOff),
        _ = over(call.shared, events, &asked.id) => return Ok(Said::Elsewhere),
        said = call.context.peer.create_elicitation_with_timeout(params, timeout) => said,
    };
    match said {
        Ok(said) => Ok(Form::of(asked).decision(&said).map_or(Said::Nothing, Said::Decided)),
        Err(error) => {
            tracing::debug!("the client didn't answer an elicitation: {error}");
            Ok(Said::Nothing)
        }
    }
}

/// Ends a call that is called off while it waits. Its question goes along, unless an identical call
/// of this server waits for the same answer.
async fn call_off(call: &Call<'_>, asks: Asks<'_>, pending: ToolResult) -> ToolResult {
    let id = self::pending(&pending);
    if asks.leave()
        && let Some(id) = id
    {
        let approvals = call.shared.host.approvals().clone();
        let withdrawn = tokio::task::spawn_blocking(move || approvals.withdraw(&id, CALLED_OFF));
        if let Ok(Err(error)) = withdrawn.await {
            // It ends by its expiry all the same.
            tracing::warn!("a request wasn't withdrawn: {error}");
        }
    }
    let mut result = ToolResult::refused(pending.call_id, Outcome::Cancelled, CALLED_OFF);
    (result.executed, result.approval) = (Executed::No, pending.approval);
    result
}

/// Hands an answer in. One that doesn't count, since another came first or the request is over,
/// changes nothing: what counts is what the call is told when it is made again.
async fn decide(call: &Call<'_>, id: ApprovalId, decision: ApprovalDecision) {
    let caller = call.access.context().caller.as_deref().unwrap_or("unknown");
    // Whoever sits at the client isn't the caller, and belljar doesn't know who it is.
    let by = Approver { name: format!("{caller}'s client"), channel: Channel::Mcp };
    let approvals = call.shared.host.approvals().clone();
    let decided = tokio::task::spawn_blocking(move || approvals.decide(&id, decision, by)).await;
    if let Ok(Err(error)) = decided {
        tracing::info!("an answer from an MCP client doesn't count: {error}");
    }
}
