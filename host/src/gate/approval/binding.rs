//! What an approval is good for, as one digest.
//!
//! Whatever is not in here may change between the answer and the run without a new question.

use std::collections::BTreeMap;

use serde::Serialize;

use super::error::ApprovalError;
use crate::contract::approval::CallerContext;
use crate::contract::arguments::canonical;
use crate::contract::grants::GrantsRecord;
use crate::contract::ids::{Digest, ToolId};
use crate::contract::limits::{LimitKind, Limits};

/// Keeps this digest apart from every other SHA-256 of JSON; changes with the form below.
const PURPOSE: &str = "belljar approval 1\n";

/// All that an approval is bound to. The caller's level is not: it says whether to ask, and the
/// gate says it anew each time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binding<'a> {
    /// The tool.
    pub(super) tool: &'a ToolId,
    /// The build it belongs to.
    pub(super) plugin_digest: &'a Digest,
    /// The canonical arguments.
    pub(super) arguments_hash: &'a Digest,
    /// What the call may use.
    pub(super) grants: &'a GrantsRecord,
    /// The bounds in force; where they came from doesn't matter.
    pub(super) limits: &'a Limits,
    /// Caller, user, execution user, session and workspace.
    pub(super) caller: &'a CallerContext,
    /// The rules in force.
    pub(super) policy_revision: &'a Digest,
}

#[derive(Serialize)]
struct Bound<'a> {
    tool: &'a ToolId,
    plugin: &'a Digest,
    arguments: &'a Digest,
    grants: &'a GrantsRecord,
    limits: BTreeMap<&'static str, u64>,
    caller: &'a Option<String>,
    user: &'a Option<String>,
    execution_user: &'a Option<String>,
    session: &'a Option<String>,
    workspace: &'a Option<String>,
    policy: &'a Digest,
}

impl Binding<'_> {
    /// The SHA-256 over the canonical JSON of it all.
    ///
    /// # Errors
    /// A granted folder whose path has no JSON.
    pub(super) fn digest(&self) -> Result<Digest, ApprovalError> {
        let limits = LimitKind::ALL.map(|kind| (kind.facts().name, self.limits.get(kind).value));
        let bound = Bound {
            tool: self.tool,
            plugin: self.plugin_digest,
            arguments: self.arguments_hash,
            grants: self.grants,
            limits: limits.into_iter().collect(),
            caller: &self.caller.caller,
            user: &self.caller.user_id,
            execution_user: &self.caller.execution_user_id,
            session: &self.caller.session_id,
            workspace: &self.caller.workspace,
            policy: self.policy_revision,
        };
        let json = serde_json::to_value(bound)
            .map_err(|error| ApprovalError::Unbindable(error.to_string()))?;
        let text = format!("{PURPOSE}{}", canonical::to_string(&json));
        Ok(Digest::of(text.as_bytes()))
    }
}
