//! Hears of changes from a server of the newer era, which tells only whoever asks to be told.
//!
//! Reads no change: the transport sees each before it comes here. Lists nothing.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{Peer, Subscription};
use tokio::time::{Instant, timeout};

use super::backoff::Backoff;
use super::state::Shared;

/// How long a server may take to say that it will tell.
const PATIENCE_MAX: Duration = Duration::from_secs(5);

/// What is asked of one server.
pub(super) struct Changes {
    peer: Peer<RoleClient>,
    patience: Duration,
    /// Whether there is anything to ask for.
    tells: bool,
    subscription: Option<Subscription>,
    since: Instant,
    backoff: Backoff,
}

impl Changes {
    /// Asks for nothing yet.
    pub(super) fn of(peer: &Peer<RoleClient>, shared: &Shared) -> Self {
        let tells = peer.peer_info().is_some_and(|says| {
            let tells = says.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
            says.protocol_version >= ProtocolVersion::V_2026_07_28 && tells == Some(true)
        });
        Self {
            peer: peer.clone(),
            patience: PATIENCE_MAX.min(shared.server.start_timeout / 2),
            tells,
            subscription: None,
            since: Instant::now(),
            backoff: Backoff::default(),
        }
    }

    /// Returns once changes may have been missed: whoever answers at an address may be another
    /// process by now. How long to wait before it is asked again. Never returns where the server
    /// tells by itself, or of nothing.
    pub(super) async fn missed(&mut self) -> Duration {
        if !self.tells {
            std::future::pending::<()>().await;
        }
        if self.subscription.is_none() {
            self.renew().await;
        }
        if let Some(subscription) = &mut self.subscription {
            while let Ok(Some(_)) = subscription.next().await {}
        }
        self.subscription = None;
        self.backoff.pause_after(self.since.elapsed())
    }

    /// Asks, where that isn't done. A server that doesn't answer is asked again later: until then
    /// its tools stay as they are.
    pub(super) async fn renew(&mut self) {
        if !self.tells || self.subscription.is_some() {
            return;
        }
        self.since = Instant::now();
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        self.subscription =
            timeout(self.patience, self.peer.listen(filter)).await.ok().and_then(Result::ok);
    }
}
