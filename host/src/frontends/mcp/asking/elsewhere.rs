//! Whether a request was answered by another way, or is over.
//!
//! Events say it soonest. A watcher that is slow loses some, and another process sends none here, so
//! the store is looked at too.

use std::time::Duration;

use super::super::shared::Shared;
use crate::contract::approval::ApprovalState;
use crate::contract::ids::ApprovalId;
use crate::events::{EventKind, EventStream, Seen};
use crate::storage::StorageError;

/// How often the store is looked at.
pub(super) const LOOK: Duration = Duration::from_secs(2);

/// Waits until a request isn't pending any more. `events` are watched from before it was made.
pub(super) async fn over(
    shared: &Shared,
    mut events: EventStream,
    id: &ApprovalId,
) -> ApprovalState {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let state = tokio::select! {
            biased;
            seen = events.next() => match seen {
                Some(Seen::Event(event)) => told(&event.kind, id),
                Some(Seen::Missed(_)) => stands(shared, id).await,
                // Without a bus there are no calls either; the next look says so.
                None => {
                    look.tick().await;
                    stands(shared, id).await
                }
            },
            _ = look.tick() => stands(shared, id).await,
        };
        if let Some(state) = state {
            return state;
        }
    }
}

fn told(kind: &EventKind, id: &ApprovalId) -> Option<ApprovalState> {
    match kind {
        EventKind::ApprovalDecided { request_id, .. } if request_id == id => {
            Some(ApprovalState::Decided)
        }
        EventKind::ApprovalEnded { request_id, state } if request_id == id => Some(*state),
        _ => None,
    }
}

/// How it stands in the store, where it isn't pending. A store that can't be read says nothing: who
/// waits has other ends.
async fn stands(shared: &Shared, id: &ApprovalId) -> Option<ApprovalState> {
    let (approvals, id) = (shared.host.approvals().clone(), id.clone());
    let looked = tokio::task::spawn_blocking(move || approvals.show(&id)).await;
    match looked {
        Ok(Ok(entry)) => Some(entry.state).filter(|state| *state != ApprovalState::Pending),
        Ok(Err(StorageError::NotFound(_))) => Some(ApprovalState::Expired),
        _ => None,
    }
}
