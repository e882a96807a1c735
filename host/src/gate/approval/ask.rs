//! How a call waits for an answer: bounded in time, and never let through by silence.
//!
//! Whoever waits is registered before anybody can see the request. Wake-ups, hook, timers and other
//! processes only say when to look; what was answered is read from the store.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::error::ApprovalError;
use super::hook::ApprovalHook;
use super::put::Put;
use super::queue::{ApprovalQueue, LAPSED};
use super::waiting::Waiter;
use crate::contract::approval::{
    ApprovalDecision, ApprovalEntry, ApprovalRequest, ApprovalState, Approver,
};
use crate::contract::ids::ApprovalId;
use crate::contract::invocation::ApprovalMode;
use crate::storage::{Revision, StorageError};

/// The hook's answer on its way; for ever on its way where there is no hook.
type HookAnswer<'a> =
    Pin<Box<dyn Future<Output = Option<(ApprovalDecision, Approver)>> + Send + 'a>>;

impl ApprovalQueue {
    /// Asks for a call, and waits as `mode` says. Cancelling it, or dropping this, withdraws the
    /// request, unless an identical call waits for it or was handed it; dropping does so at once,
    /// and takes at most as long as the store waits for another process. A request that was handed
    /// back, in mode `HandBack` or `HandBackAtOnce`, stays for the repeat.
    pub async fn ask(
        &self,
        request: ApprovalRequest,
        mode: ApprovalMode,
        cancel: &CancellationToken,
    ) -> Answer {
        if let Some(reason) = self.nobody_there(mode) {
            return Answer::declined(reason, None);
        }
        if cancel.is_cancelled() {
            return Answer::Cancelled;
        }
        let Put { request, waiter, hold } = match self.put(request, mode).await {
            Ok(put) => put,
            Err(answer) => return answer,
        };
        let answer = self.wait(&request, waiter, mode, cancel).await;
        // Such a call doesn't come back for an answer. Any other has been told of the request, or of
        // the answer that it may be about to take.
        let gone = matches!(
            answer,
            Answer::Cancelled | Answer::Unavailable(_) | Answer::Declined { by: None, .. }
        );
        if !gone {
            hold.promise();
        }
        hold.let_go().await;
        answer
    }

    /// Why nobody can be asked, where nobody can.
    fn nobody_there(&self, mode: ApprovalMode) -> Option<&'static str> {
        if mode == ApprovalMode::Deny {
            return Some(
                "nobody can be asked here: a call from here needs a rule that allows it, or an \
                 answer that was remembered",
            );
        }
        // Whoever calls in that mode asks somebody itself.
        let nobody = mode != ApprovalMode::HandBackAtOnce
            && self.0.hook.is_none()
            && !self.others_can_answer();
        nobody.then_some(
            "nobody can be asked: there is no approver, and nobody else can see the request",
        )
    }

    /// Whether anybody but the hook can see a request: another process by the store, or somebody
    /// in this one who watches the bus.
    fn others_can_answer(&self) -> bool {
        self.0.store.is_shared() || self.0.bus.is_watched()
    }

    async fn wait(
        &self,
        request: &ApprovalRequest,
        mut waiter: Waiter,
        mode: ApprovalMode,
        cancel: &CancellationToken,
    ) -> Answer {
        // The wait is timed by a clock that never goes back, whatever the wall clock does. Nothing
        // waits longer than a fresh request may.
        let left = Duration::from_millis(request.expires_unix_ms.saturating_sub(self.now()));
        let expiry = Instant::now() + left.min(self.0.settings.ttl);
        let hand_back = match mode {
            ApprovalMode::HandBack => Instant::now() + self.0.settings.hand_back,
            ApprovalMode::HandBackAtOnce => Instant::now(),
            ApprovalMode::Wait | ApprovalMode::Deny => expiry,
        };
        let hook = self.0.hook.as_deref();
        let mut hook_answer: HookAnswer<'_> = match hook {
            Some(hook) => hook.decide(request),
            None => Box::pin(std::future::pending()),
        };
        let mut asking = hook;
        let mut last = None;
        loop {
            match self.look_at(&request.id, &mut last).await {
                Ok(Some(entry)) => return self.conclude(entry, asking).await,
                Ok(None) => {}
                Err(error) => return unavailable(&error),
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Answer::Cancelled,
                () = waiter.news() => last = None,
                answer = &mut hook_answer => {
                    (hook_answer, asking) = (Box::pin(std::future::pending()), None);
                    if let Some(refusal) = self.take_hook_answer(request, answer).await {
                        return refusal;
                    }
                    last = None;
                }
                () = tokio::time::sleep_until(expiry.min(hand_back)) => {
                    if hand_back < expiry {
                        return pending(request);
                    }
                    return self.expire(&request.id, asking).await;
                }
                () = tokio::time::sleep(self.0.settings.poll), if self.0.store.is_shared() => {}
            }
        }
    }

    /// The request, once it is over. `last` is the store's revision at the last look, which makes
    /// most looks free; `None` looks in any case.
    async fn look_at(
        &self,
        id: &ApprovalId,
        last: &mut Option<Revision>,
    ) -> Result<Option<ApprovalEntry>, StorageError> {
        let revision = self.revision(self.0.settings.poll / 2)?;
        if last.replace(revision) == Some(revision) {
            return Ok(None);
        }
        let id = id.clone();
        let look = move |queue: &Self| match queue.0.store.state(&id)? {
            ApprovalState::Pending => Ok(None),
            _ => queue.0.store.get(&id).map(Some),
        };
        self.blocking(look).await
    }

    /// Hands the hook's answer to the queue, like any other's; the call's answer where that can't
    /// be.
    async fn take_hook_answer(
        &self,
        request: &ApprovalRequest,
        answer: Option<(ApprovalDecision, Approver)>,
    ) -> Option<Answer> {
        let id = request.id.clone();
        let Some((decision, approver)) = answer else {
            let reason = "the approver gave no answer, and nobody else can see the request";
            return (!self.others_can_answer()).then(|| Answer::declined(reason, Some(id)));
        };
        let decide = {
            let id = id.clone();
            move |queue: &Self| queue.decide(&id, decision, approver).map(drop)
        };
        match self.blocking(decide).await {
            Ok(()) => None,
            // Somebody else was first: the next look says who.
            Err(ApprovalError::Storage(
                StorageError::AlreadyDecided { .. }
                | StorageError::Used(_)
                | StorageError::Withdrawn { .. },
            )) => None,
            // The wall clock is ahead of the wait, and no answer counts any more.
            Err(ApprovalError::Storage(StorageError::Expired(_))) => {
                Some(self.expire(&id, None).await)
            }
            Err(error) => {
                tracing::warn!("an approver's answer to `{id}` can't be taken: {error}");
                let error = error.without_path();
                let reason = format!("the approver's answer can't be taken: {error}");
                Some(Answer::declined(reason, Some(id)))
            }
        }
    }

    async fn expire(&self, id: &ApprovalId, hook: Option<&dyn ApprovalHook>) -> Answer {
        let id = id.clone();
        let lapse = move |queue: &Self| {
            let entry = queue.0.store.lapse(&id, queue.now())?;
            if entry.state == ApprovalState::Expired {
                queue.tell_ended(std::slice::from_ref(&id), ApprovalState::Expired, LAPSED);
            }
            Ok(entry)
        };
        match self.blocking(lapse).await {
            Ok(entry) => self.conclude(entry, hook).await,
            Err(error) => unavailable(&error),
        }
    }

    /// What a request that is over means for its call. An answer that runs nothing is taken here,
    /// so that it isn't given twice.
    async fn conclude(&self, entry: ApprovalEntry, hook: Option<&dyn ApprovalHook>) -> Answer {
        if let Some(hook) = hook {
            hook.ended(&entry);
        }
        self.announce(&entry);
        let (id, binding, state) = (entry.request.id.clone(), entry.request.binding, entry.state);
        let Some(answer) = Answer::of(entry) else {
            return Answer::declined("the request was left unanswered", Some(id));
        };
        if state == ApprovalState::Decided && !answer.runs() {
            let take = move |queue: &Self| queue.0.store.take(&id, &binding, queue.now()).map(drop);
            if let Err(error) = self.blocking(take).await {
                tracing::warn!("an answer that runs nothing was given and not marked so: {error}");
            }
        }
        answer
    }
}

fn pending(request: &ApprovalRequest) -> Answer {
    Answer::Pending { id: request.id.clone(), expires_unix_ms: request.expires_unix_ms }
}

pub(super) fn unavailable(error: &StorageError) -> Answer {
    tracing::warn!("nobody can be asked: {error}");
    Answer::Unavailable(error.without_path())
}
