//! The signals that end `belljar serve`.
//!
//! Says that one came; what that means is decided elsewhere.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::frontends::cli::error::CliError;

/// SIGTERM, SIGINT and SIGHUP, from now on.
#[derive(Debug)]
pub(super) struct Signals([Signal; 3]);

impl Signals {
    /// Watches.
    pub(super) fn watch() -> Result<Self, CliError> {
        let watched = |kind| {
            signal(kind)
                .map_err(|error| CliError::Machine(format!("signals can't be watched: {error}")))
        };
        Ok(Self([
            watched(SignalKind::terminate())?,
            watched(SignalKind::interrupt())?,
            watched(SignalKind::hangup())?,
        ]))
    }

    /// Waits for the next of any of them.
    pub(super) async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
