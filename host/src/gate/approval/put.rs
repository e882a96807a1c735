//! Puts a request where people can see it: kept, recorded and shown, in this order.
//!
//! What becomes of it then is `ask`'s.

use super::answer::Answer;
use super::ask::unavailable;
use super::hold::Hold;
use super::queue::ApprovalQueue;
use super::recording;
use super::waiting::Waiter;
use crate::contract::approval::ApprovalRequest;
use crate::contract::invocation::ApprovalMode;
use crate::events::EventKind;
use crate::storage::{Inserted, StorageError};

/// A request that can be answered, and what its call has of it.
pub(super) struct Put {
    pub(super) request: ApprovalRequest,
    pub(super) waiter: Waiter,
    pub(super) hold: Hold,
}

impl ApprovalQueue {
    /// Keeps, records and shows a request, or finds the one that an identical call left.
    pub(super) async fn put(
        &self,
        request: ApprovalRequest,
        mode: ApprovalMode,
    ) -> Result<Put, Answer> {
        let (request, hold) = self.keep(request, mode).await.map_err(|error| match error {
            StorageError::TooMany { .. } => {
                Answer::declined(format!("nobody can be asked: {error}"), None)
            }
            _ => unavailable(&error),
        })?;
        let waiter = self.0.waiting.register(&request.id);
        let record = recording::requested(self, &request);
        if let Err(error) = hold.tell(record, || self.publish(&request)).await {
            tracing::error!("the audit log can't be written: {error}");
            hold.let_go().await;
            return Err(Answer::Unavailable("the audit log can't be written".to_owned()));
        }
        // Whoever calls in that mode asks somebody itself; an identical call may not.
        if mode != ApprovalMode::HandBackAtOnce && hold.is_first_notice() {
            self.notice(&request);
        }
        Ok(Put { request, waiter, hold })
    }

    /// Where the call goes while this is on its way, nobody takes what comes of it, and dropping
    /// that lets go of the request.
    async fn keep(
        &self,
        request: ApprovalRequest,
        mode: ApprovalMode,
    ) -> Result<(ApprovalRequest, Hold), StorageError> {
        self.blocking(move |queue| {
            queue.sweep()?;
            // Before anybody can find the request.
            let own = Hold::first(queue, &request.id);
            let mut beside = None;
            let (store, now) = (&queue.0.store, queue.now());
            let kept = if mode.hands_back() {
                store.insert_shared(&request, now, &mut |id| {
                    beside = Hold::beside(queue, id);
                    beside.is_some()
                })
            } else {
                store.insert(&request, now).map(|()| Inserted::New)
            };
            match kept {
                Ok(Inserted::New) => Ok((request, own)),
                Ok(Inserted::Existing(entry)) => {
                    own.was_not_kept();
                    let found = entry.request;
                    let hold = beside.unwrap_or_else(|| Hold::of_others(queue, &found.id));
                    Ok((found, hold))
                }
                Err(error) => {
                    own.was_not_kept();
                    Err(error)
                }
            }
        })
        .await
    }

    fn publish(&self, request: &ApprovalRequest) {
        self.0.bus.publish_for(&request.call_id, request.caller.caller.as_deref(), || {
            EventKind::ToolApprovalRequest {
                request_id: request.id.clone(),
                tool_name: request.tool.to_string(),
                arguments: Box::new(request.arguments.clone()),
                reason: request.reason.clone(),
                expires_unix_ms: request.expires_unix_ms,
            }
        });
    }
}
