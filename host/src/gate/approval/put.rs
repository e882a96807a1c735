//! Puts a request where people can see it: kept, recorded and shown, in this order.
//!
//! What becomes of it then is `ask`'s.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::answer::Answer;
use super::ask::unavailable;
use super::leaving::{CALL_GONE, Leaving};
use super::queue::ApprovalQueue;
use super::recording;
use super::waiting::Waiter;
use crate::contract::approval::ApprovalRequest;
use crate::contract::invocation::ApprovalMode;
use crate::events::EventKind;
use crate::storage::{Inserted, StorageError};

impl ApprovalQueue {
    /// Keeps, records and shows a request, or finds the one that an identical call left. Until it
    /// is on record it goes with its call in every mode; `leaving` says what of it goes later.
    pub(super) async fn put(
        &self,
        request: ApprovalRequest,
        mode: ApprovalMode,
        leaving: &mut Leaving,
    ) -> Result<(ApprovalRequest, Waiter), Answer> {
        let waiter = self.0.waiting.register(&request.id);
        match self.keep(&request, mode, Arc::clone(&leaving.gone)).await {
            Ok(Inserted::New) => {
                if let Err(error) = recording::requested(self, &request).await {
                    tracing::error!("the audit log can't be written: {error}");
                    return Err(Answer::Unavailable("the audit log can't be written".to_owned()));
                }
                leaving.armed = mode == ApprovalMode::Wait;
                self.publish(&request);
                Ok((request, waiter))
            }
            Ok(Inserted::Existing(entry)) => {
                leaving.armed = false;
                let waiter = self.0.waiting.register(&entry.request.id);
                Ok((entry.request, waiter))
            }
            Err(error) => {
                leaving.armed = false;
                Err(match error {
                    StorageError::TooMany { .. } => {
                        Answer::declined(format!("nobody can be asked: {error}"), None)
                    }
                    _ => unavailable(&error),
                })
            }
        }
    }

    async fn keep(
        &self,
        request: &ApprovalRequest,
        mode: ApprovalMode,
        gone: Arc<AtomicBool>,
    ) -> Result<Inserted, StorageError> {
        let request = request.clone();
        self.blocking(move |queue| {
            queue.sweep()?;
            let (store, now) = (&queue.0.store, queue.now());
            let inserted = if mode.hands_back() {
                store.insert_shared(&request, now)?
            } else {
                store.insert(&request, now)?;
                Inserted::New
            };
            // The call may have gone while this was on its way; then nobody else withdraws it.
            if inserted == Inserted::New && gone.load(Ordering::SeqCst) {
                store.withdraw(&request.id, CALL_GONE, now)?;
            }
            Ok(inserted)
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
