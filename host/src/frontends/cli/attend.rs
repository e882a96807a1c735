//! Waits for work of a running host: tells what is said meanwhile, and heeds Ctrl-C.
//!
//! The first Ctrl-C cancels the work, the second leaves it. SIGTERM and SIGHUP cancel it too.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::CliError;
use super::screen::Screen;
use super::watch::Watcher;
use crate::Host;
use crate::events::EventStream;

/// How long the end of the audit log is waited for, while another process may be writing to it.
const LOG_WAIT: Duration = Duration::from_secs(10);

/// Watches a host while it works.
#[derive(Debug)]
pub(super) struct Attendant {
    interrupts: Signal,
    endings: [Signal; 2],
    events: EventStream,
    watcher: Watcher,
    screen: Arc<Screen>,
    cancel: CancellationToken,
}

impl Attendant {
    /// Watches from now on.
    pub(super) fn new(
        host: &Host,
        watcher: Watcher,
        screen: Arc<Screen>,
    ) -> Result<Self, CliError> {
        let watched = |kind| {
            signal(kind)
                .map_err(|error| CliError::Machine(format!("signals can't be watched: {error}")))
        };
        let interrupts = watched(SignalKind::interrupt())?;
        let endings = [watched(SignalKind::terminate())?, watched(SignalKind::hangup())?];
        let cancel = CancellationToken::new();
        Ok(Self { interrupts, endings, events: host.events(), watcher, screen, cancel })
    }

    /// What Ctrl-C and the other endings cancel.
    pub(super) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Waits for `work`, which must go on by itself: a terminal that takes no more lines holds up
    /// the lines and not a call's deadline. `None`: a second Ctrl-C, so nobody waits any more.
    pub(super) async fn until<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let ended = loop {
            let [terminate, hangup] = &mut self.endings;
            tokio::select! {
                ended = &mut work => break ended,
                Some(()) = self.interrupts.recv() => {
                    if self.cancel.is_cancelled() {
                        return None;
                    }
                    self.cancel.cancel();
                }
                // What a call asked is taken back with it, and nobody answers for nothing.
                Some(()) = terminate.recv() => self.cancel.cancel(),
                Some(()) = hangup.recv() => self.cancel.cancel(),
                Some(seen) = self.events.next() => {
                    if let Some(lines) = self.watcher.lines(&seen) {
                        self.screen.tell(&lines);
                    }
                }
            }
        };
        while let Some(seen) = self.events.try_next() {
            if let Some(lines) = self.watcher.lines(&seen) {
                self.screen.tell(&lines);
            }
        }
        Some(ended)
    }

    /// Ends the audit log of this process, so that whoever looks next sees all of it. That it isn't
    /// there yet is told and no fault of the calls: the next start makes up for it.
    pub(super) async fn close(mut self, host: &Host) {
        let closing = tokio::time::timeout(LOG_WAIT, host.close());
        let problem = match self.until(closing).await {
            None | Some(Ok(Ok(()))) => return,
            Some(Ok(Err(problem))) => problem,
            Some(Err(_late)) => format!("it took longer than {} s", LOG_WAIT.as_secs()),
        };
        self.screen.tell(&format!(
            "warning: the audit log doesn't hold all of this run yet: {problem}; the next start \
             completes it"
        ));
    }
}
