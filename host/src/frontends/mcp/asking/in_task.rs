//! A call that needs a person and may be a task: it waits as one, for an answer at the client or by
//! any other way, and is made again with it.
//!
//! Decides nothing itself. Nobody but the client that made the call is asked by the task.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ErrorData, InputRequest,
};

use super::super::answer::answer;
use super::super::call::Call;
use super::super::tasks::{Made, Question};
use super::elsewhere::over;
use super::{
    QUESTION, asked, call_off, can_be_asked, decide, elicitation, may_ask, pending, take_answer,
};
use crate::contract::approval::{ApprovalRequest, ApprovalState};
use crate::contract::invocation::ApprovalMode;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;

/// Makes a call whose task may wait for a person.
pub(in super::super) async fn wait_in_task(
    call: &Call<'_>,
    request: &CallToolRequestParams,
    made: &Made,
) -> Result<CallToolResponse, ErrorData> {
    let asks = may_ask(call.shared) && can_be_asked(call.context);
    if asks {
        take_answer(call, request).await?;
    }
    let mut round = 1_u32;
    loop {
        let events = call.shared.host.events();
        let result = call.make(ApprovalMode::HandBackAtOnce).await?;
        let Some(id) = pending(&result) else {
            return Ok(answer(result, &call.tool).into());
        };
        let here = call.shared.askers.join(&id);
        let asked = asked(call, id.clone()).await?;
        // Nobody is asked by the client, so whoever runs the server hears of it.
        if !asks && here.is_first() {
            call.shared.host.approvals().notice(&asked);
        }
        let question = if asks { Some(question(call, &asked, round)?) } else { None };
        let told = format!("waits for a person to answer the request for approval `{id}`");
        let said = made.named.asks(told, question);
        let said = async {
            match said.await {
                Ok(decision) => decision,
                // Nothing was asked, or it was answered elsewhere.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = call.context.ct.cancelled() => {
                return Ok(answer(call_off(call, here, result).await, &call.tool).into());
            }
            () = made.leaving.cancelled() => {
                // The request of a connection ends with it, and must not be answered until then. One
                // over http stays: the identical call, made later, is admitted once it is answered.
                let ends = call.access.context().session_id.is_some();
                let ended = if ends { call_off(call, here, result).await } else { result };
                return Ok(answer(ended, &call.tool).into());
            }
            decision = said => {
                decide(call, id, decision).await;
            }
            state = over(call.shared, events, &id) => {
                if matches!(state, ApprovalState::Expired | ApprovalState::Withdrawn) {
                    return Ok(answer(unanswered(result), &call.tool).into());
                }
            }
        }
        made.named.goes_on();
        round = round.saturating_add(1);
    }
}

/// The question to the client's person, by a key that the task uses once.
fn question(call: &Call<'_>, asked: &ApprovalRequest, round: u32) -> Result<Question, ErrorData> {
    let params = elicitation(asked, (call.shared.settings.clock)())?;
    let key = match round {
        1 => QUESTION.to_owned(),
        more => format!("{QUESTION}-{more}"),
    };
    let request = InputRequest::Elicitation(ElicitRequest::new(params));
    Ok(Question { key, asked: asked.clone(), request })
}

/// The end of a call that nobody answered in time.
fn unanswered(pending: ToolResult) -> ToolResult {
    let why = "nobody answered the request for approval, and no answer counts any more";
    let mut result = ToolResult::refused(pending.call_id, Outcome::ApprovalExpired, why);
    (result.executed, result.approval) = (Executed::No, pending.approval);
    result
}
