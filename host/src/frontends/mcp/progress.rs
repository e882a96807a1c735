//! Progress of one call to the client that asked for it.
//!
//! Holds up no call: what a client is too slow for, it isn't told.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio_util::sync::CancellationToken;

use crate::contract::ids::CallId;
use crate::contract::sink::Progress;
use crate::events::{EventKind, EventStream, Seen};

/// How long a client may take to be told of one step.
const TELL_MAX: Duration = Duration::from_secs(5);

/// Runs a call and tells of its progress meanwhile, all of it before the call's end is told, and none
/// once `quiet` is cancelled.
pub(super) async fn with_progress<T>(
    running: impl Future<Output = T>,
    events: EventStream,
    id: &CallId,
    token: ProgressToken,
    peer: &Peer<RoleServer>,
    quiet: Option<&CancellationToken>,
) -> T {
    let ended = CancellationToken::new();
    let running = async {
        let result = running.await;
        ended.cancel();
        result
    };
    let mut steps = Steps { events, id, last: None };
    let telling = async {
        let quiet = || quiet.is_some_and(CancellationToken::is_cancelled);
        while let Some(progress) = steps.next(&ended).await {
            if quiet() {
                break;
            }
            #[expect(clippy::cast_precision_loss, reason = "MCP's progress is a double")]
            let mut told = ProgressNotificationParam::new(token.clone(), progress.done as f64);
            #[expect(clippy::cast_precision_loss, reason = "MCP's progress is a double")]
            let total = progress.total.map(|total| total as f64);
            told.total = total;
            told.message = progress.message;
            match tokio::time::timeout(TELL_MAX, peer.notify_progress(told)).await {
                Ok(Ok(())) => {}
                _ => break,
            }
        }
    };
    let (result, ()) = tokio::join!(running, telling);
    result
}

struct Steps<'a> {
    events: EventStream,
    id: &'a CallId,
    last: Option<u64>,
}

impl Steps<'_> {
    /// The next step that is further than the one before; once the call has ended, of what was
    /// published until then.
    async fn next(&mut self, ended: &CancellationToken) -> Option<Progress> {
        loop {
            let seen = tokio::select! {
                biased;
                seen = self.events.next() => seen?,
                () = ended.cancelled() => self.events.try_next()?,
            };
            let Seen::Event(event) = seen else { continue };
            match &event.kind {
                EventKind::Progress(progress)
                    if event.call_id.as_ref() == Some(self.id)
                        && self.last.is_none_or(|last| progress.done > last) =>
                {
                    self.last = Some(progress.done);
                    return Some(progress.clone());
                }
                _ => {}
            }
        }
    }
}
