//! Takes answers: who may give which, what is remembered of it, and what else it answers.
//!
//! The first valid answer stands; the store says who was first.

use std::collections::BTreeMap;

use super::error::ApprovalError;
use super::pattern::Pattern;
use super::queue::ApprovalQueue;
use super::recording;
use super::remembered::{Asked, Rule};
use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, ApprovalRequest, ApprovalState, Approver, Decided,
    RememberScope, Remembered, RememberedVerdict,
};
use crate::contract::arguments::{self, ArgumentBounds};
use crate::contract::ids::ApprovalId;
use crate::events::EventKind;
use crate::storage::{ListFilter, StorageError};

/// Which requests one answer is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// These.
    Ids(Vec<ApprovalId>),
    /// Those that the list holds when it is read.
    Listed(ListFilter),
}

/// What became of each request of a selection.
pub type Decisions = Vec<(ApprovalId, Result<ApprovalEntry, ApprovalError>)>;

impl ApprovalQueue {
    /// Answers one request, and every other that what is remembered of it covers.
    ///
    /// # Errors
    /// An answer that may not be given, one that means nothing, or one that comes too late.
    pub fn decide(
        &self,
        id: &ApprovalId,
        decision: ApprovalDecision,
        approver: Approver,
    ) -> Result<ApprovalEntry, ApprovalError> {
        let (entry, remembered) = self.decide_one(id, decision, approver, None)?;
        self.decide_covered(remembered);
        Ok(entry)
    }

    /// Answers many requests alike, but for those with an answer of their own in `overrides`. Each
    /// gets its own result, in the order of the selection; one that fails leaves the others alone.
    ///
    /// # Errors
    /// The list can't be read.
    pub fn decide_all(
        &self,
        selection: Selection,
        decision: &ApprovalDecision,
        overrides: &BTreeMap<ApprovalId, ApprovalDecision>,
        approver: &Approver,
    ) -> Result<Decisions, StorageError> {
        let ids = match selection {
            Selection::Ids(ids) => ids,
            Selection::Listed(filter) => {
                self.list(&filter)?.into_iter().map(|summary| summary.id).collect()
            }
        };
        let mut remembered = Vec::new();
        let mut decide = |id: ApprovalId| {
            let decision = overrides.get(&id).unwrap_or(decision).clone();
            let decided = self.decide_one(&id, decision, approver.clone(), None);
            let entry = decided.map(|(entry, remember)| {
                remembered.extend(remember);
                entry
            });
            (id, entry)
        };
        let results = ids.into_iter().map(&mut decide).collect();
        // Only now, so that an answer of its own comes before one that covers it.
        self.decide_covered(remembered);
        Ok(results)
    }

    fn decide_one(
        &self,
        id: &ApprovalId,
        decision: ApprovalDecision,
        approver: Approver,
        along: Option<ApprovalId>,
    ) -> Result<(ApprovalEntry, Option<Remembered>), ApprovalError> {
        let now = self.now();
        let request = self.0.store.get(id)?.request;
        self.check(&request, &decision, &approver, now)?;
        let decided = Decided { decision, approver, at_unix_ms: now, along };
        let remembered = remembered_of(&request, &decided);
        recording::decided(self, &request, &decided)?;
        let entry = match self.0.store.decide(id, &decided, remembered.as_ref()) {
            Ok(entry) => entry,
            Err(error) => {
                let state = self.0.store.state(id).unwrap_or(ApprovalState::Pending);
                let error = ApprovalError::from(error);
                recording::not_counted(self, &request, state, &error);
                return Err(error);
            }
        };
        self.forget_seen();
        self.announce(&entry);
        self.0.waiting.wake(id);
        Ok((entry, remembered))
    }

    fn check(
        &self,
        request: &ApprovalRequest,
        decision: &ApprovalDecision,
        approver: &Approver,
        now: u64,
    ) -> Result<(), ApprovalError> {
        // A caller may always refuse or call off its own call.
        let gives = decision.admits() || matches!(decision, ApprovalDecision::Answer { .. });
        let own = request.caller.caller.as_ref() == Some(&approver.name);
        if gives && own && !self.0.settings.self_approval {
            return Err(ApprovalError::SelfApproval(approver.name.clone()));
        }
        match decision {
            ApprovalDecision::Edit { arguments_json } => {
                // The tool's own bounds are checked where the call is.
                arguments::parse(arguments_json, ArgumentBounds::widest())?;
            }
            ApprovalDecision::Session if request.caller.session_id.is_none() => {
                return Err(ApprovalError::NoSession);
            }
            ApprovalDecision::Always { scope, expires_unix_ms } => {
                if let Some(expires) = expires_unix_ms.filter(|expires| *expires <= now) {
                    let (expires_unix_ms, now_unix_ms) = (expires, now);
                    return Err(ApprovalError::PastExpiry { expires_unix_ms, now_unix_ms });
                }
                check_scope(request, scope)?;
            }
            ApprovalDecision::DenyAlways { scope, .. } => check_scope(request, scope)?,
            _ => {}
        }
        Ok(())
    }

    /// Answers what else waits and is covered by what was just remembered, in the same person's
    /// name: who says `always` doesn't mean to be asked again for the next in the queue.
    fn decide_covered(&self, remembered: impl IntoIterator<Item = Remembered>) {
        for remembered in remembered {
            if let Err(error) = self.decide_covered_by(remembered) {
                tracing::warn!("other requests wait on, though they are answered: {error}");
            }
        }
    }

    fn decide_covered_by(&self, remembered: Remembered) -> Result<(), StorageError> {
        let decision = match remembered.verdict {
            RememberedVerdict::Allow => ApprovalDecision::Once,
            RememberedVerdict::Deny => ApprovalDecision::Deny { reason: remembered.reason.clone() },
        };
        let (approver, along) = (remembered.approver.clone(), remembered.id.clone());
        let filter = ListFilter { tool: Some(remembered.tool.clone()), ..ListFilter::pending() };
        let rule = Rule::new(remembered);
        for summary in self.0.store.list(&filter)? {
            let request = self.0.store.get(&summary.id)?.request;
            if !rule.covers(&asked(&request), self.now()) {
                continue;
            }
            match self.decide_one(
                &summary.id,
                decision.clone(),
                approver.clone(),
                Some(along.clone()),
            ) {
                // Somebody answers at the same time, and stands.
                Ok(_) | Err(ApprovalError::Storage(StorageError::AlreadyDecided { .. })) => {}
                Err(error) => tracing::debug!("`{}` isn't answered along: {error}", summary.id),
            }
        }
        Ok(())
    }

    /// Tells watchers of an answer, once.
    pub(super) fn announce(&self, entry: &ApprovalEntry) {
        let (request, Some(decided)) = (&entry.request, &entry.decided) else { return };
        if entry.state == ApprovalState::Decided && self.0.waiting.first_to_announce(&request.id) {
            self.0.bus.publish(Some(&request.call_id), || EventKind::ApprovalDecided {
                request_id: request.id.clone(),
                decision: decided.decision.name().to_owned(),
                approver: decided.approver.clone(),
            });
        }
    }
}

fn asked(request: &ApprovalRequest) -> Asked<'_> {
    Asked {
        tool: &request.tool,
        plugin_digest: &request.plugin.digest,
        arguments: &request.arguments,
        grants: &request.grants,
        caller: &request.caller,
    }
}

/// A pattern must be one, and must hold for the call it is given for: anything else is a slip.
fn check_scope(request: &ApprovalRequest, scope: &RememberScope) -> Result<(), ApprovalError> {
    let RememberScope::Pattern(globs) = scope else { return Ok(()) };
    let (pattern, arguments) = (Pattern::new(globs)?, request.arguments.value());
    if let Some(name) = pattern.unknown_name(arguments) {
        let reason = format!("the call has no argument `{name}`");
        return Err(ApprovalError::Pattern(reason));
    }
    if !pattern.matches(arguments, true) {
        let reason = "it doesn't match the arguments of this very call";
        return Err(ApprovalError::Pattern(reason.into()));
    }
    Ok(())
}

/// What of an answer stands for later calls.
fn remembered_of(request: &ApprovalRequest, decided: &Decided) -> Option<Remembered> {
    let (verdict, scope, session_id, reason, expires_unix_ms) = match &decided.decision {
        ApprovalDecision::Session => {
            let session = Some(request.caller.session_id.clone()?);
            (RememberedVerdict::Allow, RememberScope::Tool, session, None, None)
        }
        ApprovalDecision::Always { scope, expires_unix_ms } => {
            (RememberedVerdict::Allow, scope.clone(), None, None, *expires_unix_ms)
        }
        ApprovalDecision::DenyAlways { scope, reason } => {
            (RememberedVerdict::Deny, scope.clone(), None, reason.clone(), None)
        }
        _ => return None,
    };
    Some(Remembered {
        id: request.id.clone(),
        verdict,
        tool: request.tool.clone(),
        plugin_digest: request.plugin.digest,
        grants: request.grants.clone(),
        scope,
        arguments_hash: request.arguments.hash(),
        caller: request.caller.caller.clone(),
        execution_user_id: request.caller.execution_user_id.clone(),
        workspace: request.caller.workspace.clone(),
        session_id,
        approver: decided.approver.clone(),
        reason,
        created_unix_ms: decided.at_unix_ms,
        expires_unix_ms,
    })
}
