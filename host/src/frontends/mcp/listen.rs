//! Clients that are told when tools come and go.
//!
//! Says that, and not what: who is told asks again, and sees what it may.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{Peer, SubscriptionContext};
use tokio_util::sync::CancellationToken;

use super::shared::Shared;

/// Serves `subscriptions/listen` until it is cancelled or the server is leaving.
///
/// No request of this era says which list its client has: what came between that list and this
/// would never be told. So whoever subscribes after any change is told once at once.
pub(super) async fn subscription(
    shared: &Shared,
    context: &SubscriptionContext,
    closing: &CancellationToken,
) -> Result<(), ErrorData> {
    let Ok(_place) = Arc::clone(&shared.subscriptions).try_acquire_owned() else {
        let max = shared.settings.bounds.subscriptions;
        let why = format!("there are {max} subscriptions already: ask for the list instead");
        return Err(ErrorData::internal_error(why, None));
    };
    let mut revision = shared.host.tools_revision();
    if *revision.borrow() != shared.began {
        revision.mark_changed();
    }
    loop {
        tokio::select! {
            biased;
            () = closing.cancelled() => return Ok(()),
            () = context.cancelled() => return Ok(()),
            changed = revision.changed() => {
                let told = context.sink().notify_tool_list_changed().await;
                if changed.is_err() || told.is_err() {
                    return Ok(());
                }
            }
        }
    }
}

/// Tells a session of the older era until it is over.
pub(super) fn session(shared: &Arc<Shared>, peer: Peer<RoleServer>, closing: CancellationToken) {
    let mut revision = shared.host.tools_revision();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled() => return,
                changed = revision.changed() => {
                    if changed.is_err() || peer.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    });
}
