//! Makes what a person is shown, from what the gate saw.
//!
//! Keeps nothing and asks nobody.

use std::io::Read as _;

use super::binding::Binding;
use super::error::ApprovalError;
use super::remembered::Asked;
use crate::contract::approval::{ApprovalRequest, CallerContext, Remembered};
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::AskReason;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::grants::{DirMode, Grants, GrantsRecord};
use crate::contract::ids::{APPROVAL_ID_LEN, ApprovalId, CallId, Digest};
use crate::contract::invocation::ToolInvocation;
use crate::contract::limits::{LimitKind, Limits};

/// One call as the gate saw it, with all that an approval of it is bound to.
#[derive(Debug, Clone)]
pub struct Asking<'a> {
    /// The tool.
    pub descriptor: &'a ToolDescriptor,
    /// The call.
    pub call_id: CallId,
    /// Who makes it.
    pub caller: CallerContext,
    /// Its arguments, as checked.
    pub arguments: &'a CheckedArguments,
    /// What it may use.
    pub grants: GrantsRecord,
    /// The bounds in force.
    pub limits: &'a Limits,
    /// The rules in force.
    pub policy_revision: Digest,
}

impl<'a> Asking<'a> {
    /// The call `call` of the tool `descriptor`.
    pub fn new(
        descriptor: &'a ToolDescriptor,
        call: &ToolInvocation,
        arguments: &'a CheckedArguments,
        grants: &Grants,
        limits: &'a Limits,
        policy_revision: Digest,
    ) -> Self {
        Self {
            descriptor,
            call_id: call.call_id.clone(),
            caller: call.context(),
            arguments,
            grants: grants.record(),
            limits,
            policy_revision,
        }
    }

    /// What an approval of this call is bound to. At dispatch it is made again, from what is then
    /// in force; after an edit with the arguments that the person was asked about.
    ///
    /// # Errors
    /// A granted folder whose path has no JSON.
    pub fn binding(&self) -> Result<Digest, ApprovalError> {
        let binding = Binding {
            tool: &self.descriptor.id,
            plugin_digest: &self.descriptor.plugin.digest,
            arguments_hash: &self.arguments.hash(),
            grants: &self.grants,
            limits: self.limits,
            caller: &self.caller,
            policy_revision: &self.policy_revision,
        };
        binding.digest()
    }

    /// What remembered answers are compared with.
    pub fn asked(&self) -> Asked<'_> {
        Asked {
            tool: &self.descriptor.id,
            plugin_digest: &self.descriptor.plugin.digest,
            arguments: self.arguments,
            grants: &self.grants,
            caller: &self.caller,
        }
    }

    /// The request, made at `now` and good for `ttl_ms`; `last` is what was remembered of this
    /// tool and doesn't hold any more.
    pub(super) fn request(
        &self,
        reason: &AskReason,
        now: u64,
        ttl_ms: u64,
        last: Option<&Remembered>,
    ) -> Result<ApprovalRequest, ApprovalError> {
        let limit = |kind: LimitKind| {
            (kind.facts().name.to_owned(), kind.show(self.limits.get(kind).value))
        };
        Ok(ApprovalRequest {
            id: fresh_id()?,
            created_unix_ms: now,
            expires_unix_ms: now.saturating_add(ttl_ms),
            binding: self.binding()?,
            call_id: self.call_id.clone(),
            tool: self.descriptor.id.clone(),
            title: self.descriptor.title.clone(),
            plugin: self.descriptor.plugin.clone(),
            isolation: self.descriptor.isolation,
            effects: self.descriptor.effects,
            arguments: self.arguments.clone(),
            caller: self.caller.clone(),
            grants: self.grants.clone(),
            limits: LimitKind::ALL.into_iter().map(limit).collect(),
            reason: reason.reason.clone(),
            policy_revision: self.policy_revision,
            changed: last.map(|last| self.changes_since(last)).unwrap_or_default(),
            yes_allowed: reason.yes_allowed,
            question: reason.question,
        })
    }

    /// A line for each thing that was otherwise when `last` was answered.
    fn changes_since(&self, last: &Remembered) -> Vec<String> {
        let mut lines = Vec::new();
        let (was, is) = (&last.plugin_digest, &self.descriptor.plugin.digest);
        if was != is {
            lines.push(format!("the plugin is another build: {was} was approved, this is {is}"));
        }
        for dir in &self.grants.dirs {
            let one = GrantsRecord { dirs: vec![dir.clone()], env: Vec::new() };
            if !one.is_within(&last.grants) {
                let mode = match dir.mode {
                    DirMode::ReadOnly => "read",
                    DirMode::ReadWrite => "read and write",
                };
                let (guest, host) = (&dir.guest, dir.host.display());
                lines.push(format!("it may now {mode} the folder `{guest}`, which is `{host}`"));
            }
        }
        for env in &self.grants.env {
            if !last.grants.env.contains(env) {
                lines.push(format!("it now sees the variable `{}`, new or changed", env.0));
            }
        }
        lines
    }
}

/// An id that nobody guesses.
fn fresh_id() -> Result<ApprovalId, ApprovalError> {
    let mut random = [0; APPROVAL_ID_LEN];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut random))
        .map_err(ApprovalError::NoRandom)?;
    Ok(ApprovalId::from_random(random))
}
