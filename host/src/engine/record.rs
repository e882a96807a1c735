//! What the audit log is told of a call, beside its end.

use super::dispatch::Shared;
use super::prepare::Prepared;
use super::refused::Refused;
use super::repeat::key_hash;
use crate::contract::approval::CallerContext;
use crate::contract::decision::ApprovalMark;
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Outcome;
use crate::events::{CallStarted, JournalError, OpenEntry};

/// Writes that a call runs next.
pub(super) async fn started(
    shared: &Shared,
    call: &ToolInvocation,
    caller: &CallerContext,
    prepared: &Prepared,
    mark: &ApprovalMark,
) -> Result<Option<OpenEntry>, Refused> {
    let Some(journal) = &shared.journal else { return Ok(None) };
    let tool = &prepared.tool.descriptor;
    let key_hash = key_hash(call, &prepared.grants);
    let record = CallStarted {
        call_id: &call.call_id,
        tool_name: &call.tool_name,
        tool: &tool.id,
        plugin_digest: Some(&tool.plugin.digest),
        arguments: &prepared.arguments,
        caller,
        mark,
        policy_revision: &shared.policy.revision(),
        trace_parent: call.trace_parent.as_deref(),
        idempotency_key_hash: key_hash.as_ref(),
    };
    journal.begin(record).await.map(Some).map_err(|error| unwritten(&error))
}

/// Waits until the start is on the disk.
pub(super) async fn synced(entry: &OpenEntry) -> Result<(), Refused> {
    entry.sync().await.map_err(|error| unwritten(&error))
}

/// What can't be recorded isn't run. Where the log lies is no caller's business.
fn unwritten(error: &JournalError) -> Refused {
    tracing::error!("the audit log can't be written: {error}");
    let why = match error {
        JournalError::Full(_) => "no room is left on its disk",
        JournalError::Forbidden { .. } => "belljar may not write it",
        JournalError::Closed => "it is closed",
        _ => "belljar's own log says why",
    };
    let why = format!("the audit log can't be written, so the call was not run: {why}");
    Refused::new(Outcome::HostFault, why)
}
