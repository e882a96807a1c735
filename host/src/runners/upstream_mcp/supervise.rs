//! The life of one server: started, listed, listed again, and started again when it goes.
//!
//! Never gives up, and never hurries: see [`Backoff`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::call::ServerRunner;
use super::changes::Changes;
use super::connect::{Connection, connect, words};
use super::describe::{Described, describe};
use super::error::UpstreamError;
use super::listing::{Listed, list};
use super::spec::Way;
use super::state::Shared;
use crate::contract::escape::clipped_line;
use crate::events::{EventBus, EventKind, Redactor};
use crate::registry::NameError;
use crate::runners::{OutsideTools, Tools};

/// How long a server that says its tools changed is left alone before it is asked: several such
/// words are one.
const SETTLE: Duration = Duration::from_millis(100);
/// How long a closing connection is awaited: longer than a child's two graces.
const CLOSE_MAX: Duration = Duration::from_secs(6);
/// Findings of one list that are told.
const FINDINGS_MAX: usize = 50;

/// Keeps one server.
pub(super) struct Supervisor {
    pub(super) shared: Arc<Shared>,
    pub(super) tools: Arc<Tools>,
    pub(super) bus: EventBus,
    pub(super) redactor: Redactor,
    pub(super) end: CancellationToken,
    /// Whether a tool was left out for a plugin that is still being loaded.
    pub(super) kept_out: AtomicBool,
}

impl Supervisor {
    /// Keeps it until the host ends.
    pub(super) async fn run(self) {
        let mut backoff = Backoff::default();
        loop {
            let began = Instant::now();
            let (came_up, why) = self.live().await;
            if self.end.is_cancelled() {
                break;
            }
            let lived = if came_up { began.elapsed() } else { Duration::ZERO };
            let pause = backoff.pause_after(lived);
            self.tell_down(&why, pause);
            self.shared.settled.send_replace(true);
            tokio::select! {
                () = sleep(pause) => {}
                () = self.end.cancelled() => break,
            }
        }
        self.shared.down(UpstreamError::Ending.to_string());
        self.shared.settled.send_replace(true);
    }

    /// One life: whether it came up, and why it ended.
    async fn live(&self) -> (bool, UpstreamError) {
        let starting = timeout(self.shared.server.start_timeout, self.start());
        let slow = UpstreamError::Slow(self.shared.server.start_timeout.as_secs());
        let started = tokio::select! {
            started = starting => started,
            () = self.end.cancelled() => return (false, UpstreamError::Ending),
        };
        let (mut connection, changes) = match started {
            Err(_elapsed) => return (false, slow),
            Ok(Err(error)) => return (false, error),
            Ok(Ok(started)) => started,
        };
        let name = &self.shared.server.name;
        self.bus.publish(None, || EventKind::UpstreamUp { server: name.clone() });
        self.shared.settled.send_replace(true);
        let ended = tokio::select! {
            ended = self.follow(&connection, changes) => Some(ended),
            () = self.end.cancelled() => None,
        };
        self.shared.down(match &ended {
            Some(error) => error.to_string(),
            None => UpstreamError::Ending.to_string(),
        });
        let _late = connection.running.close_with_timeout(CLOSE_MAX).await;
        // Only now is it known how a child ended.
        let why = match ended {
            Some(UpstreamError::Gone(_)) | None => UpstreamError::Gone(connection.link.why()),
            Some(other) => other,
        };
        (true, why)
    }

    /// Connects, lists and offers.
    async fn start(&self) -> Result<(Connection, Changes), UpstreamError> {
        let connection = connect(&self.shared.server, &self.redactor).await?;
        // Before the list, so that no change falls between the two.
        let mut changes = Changes::of(connection.running.peer(), &self.shared);
        changes.renew().await;
        self.offer(&connection).await?;
        Ok((connection, changes))
    }

    /// Lists the tools and puts them in the place of those that were there. They stay when the
    /// server goes: a call then answers `unavailable`, which is true, and not `not_found`.
    async fn offer(&self, connection: &Connection) -> Result<(), UpstreamError> {
        let peer = connection.running.peer();
        let says = peer.peer_info();
        let lists = says.as_ref().is_none_or(|says| says.capabilities.tools.is_some());
        let server = &self.shared.server;
        let over_http = matches!(server.way, Ok(Way::Http(_)));
        let listed = if lists { list(peer, over_http).await? } else { Listed::default() };
        let Listed { tools, malformed, cut, .. } = listed;
        let says = says.as_ref().and_then(|says| says.server_info.as_ref());
        let (mut described, odd) = describe(server, says, tools, malformed);
        if let Some((first, why)) = cut {
            self.tell_odd(&first, &format!("it is left out, with all that follow it: {why}"));
        }
        for odd in odd.iter().take(FINDINGS_MAX) {
            self.tell_odd(&odd.tool, &odd.finding);
        }
        // What is called must be what is listed: nothing is, between the two.
        self.shared.learn(&[]);
        self.put(&mut described)?;
        self.shared.learn(&described);
        self.shared.up(connection);
        Ok(())
    }

    /// Puts the tools up, without those whose name a tool of somebody else has.
    fn put(&self, described: &mut Vec<Described>) -> Result<(), UpstreamError> {
        let name = &self.shared.server.name;
        self.kept_out.store(false, Ordering::Release);
        loop {
            let tools = described.iter().map(|tool| tool.found.clone()).collect();
            let runner = Arc::new(ServerRunner(Arc::clone(&self.shared)));
            let Err(error) = self.tools.put(name, OutsideTools { tools, runner }) else {
                return Ok(());
            };
            let (own, other) = match &error {
                NameError::WireName(other, own) => (own, Some(other)),
                NameError::KeptWire(own, _) => {
                    self.kept_out.store(true, Ordering::Release);
                    (own, None)
                }
                _ => return Err(error.into()),
            };
            let before = described.len();
            described.retain(|tool| {
                let id = &tool.found.descriptor.id;
                id != own && (Some(id) != other || own.plugin == *name)
            });
            if described.len() == before {
                return Err(error.into());
            }
            self.tell_odd(own.tool.as_str(), &format!("it is left out: {error}"));
        }
    }

    /// Lists again whenever the server says so, and once plugins are there for which tools were left
    /// out; ends when it goes.
    async fn follow(&self, connection: &Connection, mut changes: Changes) -> UpstreamError {
        let link = &connection.link;
        loop {
            let pause = tokio::select! {
                () = link.gone.cancelled() => return UpstreamError::Gone(link.why()),
                () = link.changed.notified() => SETTLE,
                pause = changes.missed() => pause,
                () = self.tools.all_came(), if self.kept_out.load(Ordering::Acquire) => Duration::ZERO,
            };
            tokio::select! {
                () = link.gone.cancelled() => continue,
                () = sleep(pause) => {}
            }
            changes.renew().await;
            match timeout(self.shared.server.start_timeout, self.offer(connection)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return error,
                Err(_elapsed) => {
                    return UpstreamError::Slow(self.shared.server.start_timeout.as_secs());
                }
            }
        }
    }

    fn tell_down(&self, why: &UpstreamError, pause: Duration) {
        let name = &self.shared.server.name;
        let reason = words(why, &self.redactor);
        let again_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!("the server `{name}`: {reason}; it is started again in {again_ms} ms");
        self.shared.down(reason.clone());
        self.bus.publish(None, || EventKind::UpstreamDown {
            server: name.clone(),
            reason,
            again_ms,
        });
    }

    fn tell_odd(&self, tool: &str, finding: &str) {
        let name = &self.shared.server.name;
        let (tool, finding) = (clipped_line(tool, 200), clipped_line(finding, 1_000));
        tracing::warn!("the tool `{tool}` of the server `{name}`: {finding}");
        self.bus.publish(None, || EventKind::UpstreamFinding {
            server: name.clone(),
            tool,
            finding,
        });
    }
}
