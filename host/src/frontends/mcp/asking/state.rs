//! The state that a client carries from a question to its answer: signed, bound and used once.
//!
//! What it holds is no secret, and nothing of it is believed before the signature is verified.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorData, RequestStateError, SealOptions};
use serde::{Deserialize, Serialize};

use super::super::call::Call;
use crate::contract::approval::ApprovalRequest;
use crate::contract::arguments::{ArgumentBounds, CheckedArguments, parse};
use crate::contract::ids::{ApprovalId, Digest};

/// States that are remembered as used. Of older ones the request has been answered long since, and
/// the queue takes no second answer.
const USED_MAX: usize = 10_000;

/// What a state says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// The request that was asked about.
    pub(super) approval: ApprovalId,
    /// Tells this state from every other.
    once: String,
}

/// States that came back with an answer.
#[derive(Debug, Default)]
pub(in super::super) struct Used(Mutex<(HashSet<String>, VecDeque<String>)>);

impl Used {
    /// Whether it is used now for the first time.
    fn first(&self, once: &str) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *used;
        if !known.insert(once.to_owned()) {
            return false;
        }
        order.push_back(once.to_owned());
        if order.len() > USED_MAX
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }
}

/// A state for a request, good for as long as the request is.
pub(super) fn seal(
    call: &Call<'_>,
    asked: &ApprovalRequest,
    now_unix_ms: u64,
) -> Result<String, ErrorData> {
    let state = State { approval: asked.id.clone(), once: call.shared.next_id("state") };
    let left = Duration::from_millis(asked.expires_unix_ms.saturating_sub(now_unix_ms));
    let binding = binding(call);
    let options = SealOptions::new().associated_data(&binding).ttl(left);
    call.shared.codec.seal_json_with(&state, &options).map_err(|error| {
        ErrorData::internal_error(format!("the request can't be signed: {error}"), None)
    })
}

/// What a state that came back says.
pub(super) fn open(call: &Call<'_>, sealed: &str) -> Result<State, ErrorData> {
    call.shared.codec.open_json_with(sealed, &binding(call)).map_err(|error| {
        let why = match error {
            RequestStateError::Expired => {
                "has expired: make the call without it, and it is asked about anew"
            }
            _ => "is none of this server, or of another call, session or caller",
        };
        ErrorData::invalid_params(format!("`requestState` {why}"), None)
    })
}

/// Marks a state as used.
pub(super) fn use_up(call: &Call<'_>, state: &State) -> Result<(), ErrorData> {
    match call.shared.used.first(&state.once) {
        true => Ok(()),
        false => {
            Err(ErrorData::invalid_params("`requestState` was used before: once is all", None))
        }
    }
}

/// What a state is good for: this caller, session, tool, and these arguments.
fn binding(call: &Call<'_>) -> Vec<u8> {
    let context = call.access.context();
    let arguments = match parse(&call.arguments, ArgumentBounds::widest()) {
        Ok(arguments) => CheckedArguments::new(arguments).hash(),
        Err(_) => Digest::of(call.arguments.as_bytes()),
    };
    let bound = serde_json::json!([
        "approval",
        context.caller,
        context.session_id,
        context.user_id,
        call.tool.id.to_string(),
        arguments,
    ]);
    bound.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_counts_once_and_the_newest_are_remembered() {
        let used = Used::default();
        assert!(used.first("a"));
        assert!(!used.first("a"));
        for number in 0..USED_MAX {
            assert!(used.first(&number.to_string()));
        }
        let kept = used.0.lock().unwrap();
        assert_eq!((kept.0.len(), kept.1.len()), (USED_MAX, USED_MAX));
        assert!(!kept.0.contains("a"));
    }
}
