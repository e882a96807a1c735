//! Calls with an idempotency key: looked up before anybody is asked, claimed before they run, settled
//! when they have ended.
//!
//! A repeat gets the result instead of a second run. Decides nothing of retries.

use std::sync::Arc;

use super::dispatch::Shared;
use super::prepare::Prepared;
use super::refused::Refused;
use crate::contract::decision::{ApprovalMark, ApprovedBy};
use crate::contract::grants::Grants;
use crate::contract::ids::{CallId, Digest};
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::events::Clock;
use crate::storage::{Claim, ResultKey, ResultStore, StorageError};

/// A key that this call holds. Dropped before its call has ended, it is given back, on this thread:
/// nothing has run.
#[derive(Debug)]
pub(super) struct Claimed {
    results: Arc<dyn ResultStore>,
    key: ResultKey,
    call_id: CallId,
    clock: Clock,
    open: bool,
}

/// What the key of a call comes to.
pub(super) enum Repeat {
    /// It has none.
    Keyless,
    /// It runs, and holds its key.
    First(Claimed),
    /// It ran before, and this was its result.
    Known(Box<ToolResult>),
}

/// The result of a call whose key is known; refuses one whose key another call holds. Claims
/// nothing: who waits for a person may be gone before the answer.
pub(super) async fn known(
    shared: &Shared,
    call: &ToolInvocation,
    prepared: &Prepared,
) -> Result<Option<Box<ToolResult>>, Refused> {
    let Some(key) = key_of(call, prepared) else { return Ok(None) };
    let (results, clock) = (Arc::clone(&shared.results), shared.clock);
    let hash = prepared.arguments.hash();
    let found = blocking(move || results.known(&key, &hash, clock())).await.map_err(unkept)?;
    let Some(claim) = found.map_err(|error| unkept(error.without_path()))? else { return Ok(None) };
    told(claim, &call.call_id)
}

/// Claims the key of a call, if it has one. `hash`: of the arguments that it came with.
pub(super) async fn claim(
    shared: &Shared,
    call: &ToolInvocation,
    prepared: &Prepared,
    hash: Digest,
) -> Result<Repeat, Refused> {
    let Some(key) = key_of(call, prepared) else { return Ok(Repeat::Keyless) };
    let (results, call_id, clock) =
        (Arc::clone(&shared.results), call.call_id.clone(), shared.clock);
    let claimed = Claimed { results, key, call_id, clock, open: false };
    let answer = blocking(move || {
        let mut claimed = claimed;
        let claim = claimed.results.claim(&claimed.key, &hash, &claimed.call_id, (claimed.clock)());
        claimed.open = matches!(claim, Ok(Claim::Mine));
        (claimed, claim)
    });
    let (claimed, claim) = answer.await.map_err(unkept)?;
    let claim = claim.map_err(|error| unkept(error.without_path()))?;
    Ok(told(claim, &call.call_id)?.map_or(Repeat::First(claimed), Repeat::Known))
}

fn key_of(call: &ToolInvocation, prepared: &Prepared) -> Option<ResultKey> {
    let key_hash = key_hash(call, &prepared.grants)?;
    let tool = &prepared.tool.descriptor;
    Some(ResultKey {
        caller: call.caller.clone(),
        tool: tool.id.clone(),
        plugin_digest: tool.plugin.digest,
        key_hash,
    })
}

/// The SHA-256 of a call's key, if it has one, with whose it is and what the call may use: a result
/// under other grants, or another user's, is none of this call's.
pub(super) fn key_hash(call: &ToolInvocation, grants: &Grants) -> Option<Digest> {
    let key = call.idempotency_key.as_deref()?;
    let whose = [&call.user_id, &call.execution_user_id, &call.workspace];
    // Not JSON, which has no form for a folder whose path isn't UTF-8.
    let text = format!("{:?}", (key, whose, grants.record()));
    Some(Digest::of(text.as_bytes()))
}

/// What a claim means for its call: `None`, and it may run; the result of an earlier one; a refusal.
fn told(claim: Claim, call_id: &CallId) -> Result<Option<Box<ToolResult>>, Refused> {
    let refuse = |outcome, why: String| Err(Refused::new(outcome, why));
    match claim {
        Claim::Mine => Ok(None),
        Claim::Finished(mut result) => {
            let of = std::mem::replace(&mut result.call_id, call_id.clone());
            let reason = format!("not run again: `{of}` had the same idempotency key");
            result.approval = Some(ApprovalMark::new(ApprovedBy::None, reason));
            Ok(Some(result))
        }
        Claim::NotKept { call_id, outcome } => refuse(
            Outcome::Unavailable,
            format!(
                "`{call_id}` had the same idempotency key and ended as {}; its result was too \
                 large to keep, and it is not run again",
                outcome.name()
            ),
        ),
        Claim::InFlight { call_id } => refuse(
            Outcome::Unavailable,
            format!("`{call_id}` has the same idempotency key and is still running"),
        ),
        Claim::OtherArguments { call_id } => refuse(
            Outcome::InvalidArguments,
            format!("the idempotency key was used by `{call_id}` with other arguments"),
        ),
    }
}

fn unkept(why: impl std::fmt::Display) -> Refused {
    let why = format!("the idempotency key can't be kept, so the call was not run: {why}");
    Refused::new(Outcome::HostFault, why)
}

/// The store may wait for another process or for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let lost = |error| {
        tracing::error!("an operation of a store was lost: {error}");
        "belljar's log says why".to_owned()
    };
    tokio::task::spawn_blocking(work).await.map_err(lost)
}

impl Claimed {
    /// Before it is settled elsewhere: should it be lost on the way, a key whose call may have run
    /// stays in flight, and a repeat is refused.
    pub(super) fn of_ended(mut self, result: &ToolResult) -> Self {
        self.open = result.executed == Executed::No;
        self
    }

    /// Keeps the result under the key; gives the key back where nothing ran.
    pub(super) fn settle(mut self, result: &ToolResult) {
        if result.executed == Executed::No {
            return;
        }
        self.open = false;
        report(&self, self.results.settle(&self.key, result));
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.open {
            report(self, self.results.release(&self.key, &self.call_id));
        }
    }
}

/// The call has its result already; only a repeat is worse off, and it is refused, not run twice.
fn report(claimed: &Claimed, kept: Result<(), StorageError>) {
    if let Err(error) = kept {
        tracing::error!(call = %claimed.call_id, "its idempotency key can't be settled: {error}");
    }
}
