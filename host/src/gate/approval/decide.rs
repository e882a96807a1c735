//! Takes answers: each is recorded before it counts, and may answer what else waits.
//!
//! The first valid answer stands; the store says who was first. Which answers may be given is in
//! `check`.

use std::collections::BTreeMap;

use super::check::check;
use super::error::ApprovalError;
use super::queue::ApprovalQueue;
use super::recording;
use super::remembered::{Asked, RememberedSet};
use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, ApprovalRequest, ApprovalState, Approver, Decided,
    RememberScope, Remembered, RememberedVerdict,
};
use crate::contract::ids::ApprovalId;
use crate::events::EventKind;
use crate::storage::{ListFilter, StorageError};

/// Requests that one answer answers along. Each waits for the disk twice.
const ALONG_MAX: usize = 1_000;

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
    /// Answers one request, and others that what is remembered of it covers: the oldest 1,000. Any
    /// beyond that wait on, for answers of their own. Blocks, for the disk and for other processes:
    /// never on a thread that runs calls.
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
        self.decide_along(remembered.into_iter().collect());
        Ok(entry)
    }

    /// Answers many requests alike, but for those with an answer of their own in `overrides`. Each
    /// gets its own result, in the order of the selection; one that fails leaves the others alone.
    /// Answers others along, and blocks, as [`ApprovalQueue::decide`] does.
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
        self.decide_along(remembered);
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
        check(&self.0.settings, &request, &decision, &approver, now)?;
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

    /// Answers what else waits and is covered by what was just remembered, in the same person's
    /// name: who says `always` doesn't mean to be asked again for the next in the queue.
    fn decide_along(&self, remembered: Vec<Remembered>) {
        if remembered.is_empty() {
            return;
        }
        let set = RememberedSet::new(remembered);
        let pending = match self.0.store.list(&ListFilter::pending()) {
            Ok(pending) => pending,
            Err(error) => {
                tracing::warn!("other requests wait on, though they are answered: {error}");
                return;
            }
        };
        let mut answered = 0;
        for id in pending.into_iter().filter(|it| set.knows(&it.tool)).map(|it| it.id) {
            if answered == ALONG_MAX {
                tracing::warn!(
                    "one answer covers more than {ALONG_MAX} requests: the rest wait on"
                );
                return;
            }
            match self.decide_if_covered(&id, &set) {
                Ok(true) => answered += 1,
                Ok(false) => {}
                Err(error) => tracing::debug!("`{id}` isn't answered along: {error}"),
            }
        }
    }

    fn decide_if_covered(
        &self,
        id: &ApprovalId,
        set: &RememberedSet,
    ) -> Result<bool, ApprovalError> {
        let request = self.0.store.get(id)?.request;
        let Some(remembered) = set.find(&asked(&request), self.now()) else { return Ok(false) };
        let decision = match remembered.verdict {
            RememberedVerdict::Allow => ApprovalDecision::Once,
            RememberedVerdict::Deny => ApprovalDecision::Deny { reason: remembered.reason.clone() },
        };
        let (approver, along) = (remembered.approver.clone(), Some(remembered.id.clone()));
        self.decide_one(id, decision, approver, along).map(|_entry| true)
    }

    /// Tells watchers of an answer, once.
    pub(super) fn announce(&self, entry: &ApprovalEntry) {
        let (request, Some(decided)) = (&entry.request, &entry.decided) else { return };
        if entry.state == ApprovalState::Decided && self.0.waiting.first_to_announce(&request.id) {
            self.0.bus.publish_for(&request.call_id, request.caller.caller.as_deref(), || {
                EventKind::ApprovalDecided {
                    request_id: request.id.clone(),
                    decision: decided.decision.name().to_owned(),
                    approver: decided.approver.clone(),
                }
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
        user_id: request.caller.user_id.clone(),
        execution_user_id: request.caller.execution_user_id.clone(),
        workspace: request.caller.workspace.clone(),
        session_id,
        approver: decided.approver.clone(),
        reason,
        created_unix_ms: decided.at_unix_ms,
        expires_unix_ms,
    })
}
