//! MCP as a server, of both eras (2026-07-28 and the handshake before it), by `rmcp`.
//!
//! Makes invocations of requests and answers of results. Runs no tool itself, authenticates nobody,
//! and takes from no request whose call it is.

mod answer;
mod asking;
mod call;
mod flight;
mod listen;
mod listing;
mod message;
mod methods;
mod outlet;
#[cfg(feature = "http")]
mod over_http;
mod progress;
mod resources;
mod server;
mod settings;
mod shared;
mod tasks;
mod tool;
mod wire;

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::server::Server;
use self::shared::Shared;
use self::wire::Wire;
use super::access::Access;
use crate::host::Host;

pub use self::settings::{McpBounds, McpSettings};

/// Why MCP can't be served.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Nothing to sign with.
    #[error("no random bytes for the keys of MCP: {0}")]
    NoRandom(#[source] std::io::Error),
    /// A connection that could not begin.
    #[error("the MCP connection could not begin: {0}")]
    Handshake(String),
}

/// The MCP server of a host. Cheap to clone.
#[derive(Clone)]
pub struct McpFrontend {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for McpFrontend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpFrontend")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

impl McpFrontend {
    /// A server over `host`.
    ///
    /// # Errors
    /// `NoRandom`.
    pub fn new(host: Host, settings: McpSettings) -> Result<Self, McpError> {
        Ok(Self { shared: Arc::new(Shared::new(host, settings)?) })
    }

    /// Serves one connection, a message a line, until it is closed or `shutdown` is cancelled. Calls
    /// that run then may end within [`McpSettings::drain`]; what still runs is cancelled.
    ///
    /// Without a session in `access`, the connection is one.
    ///
    /// # Errors
    /// `Handshake`: it could not begin.
    pub async fn serve<R, W>(
        &self,
        access: Access,
        read: R,
        write: W,
        shutdown: CancellationToken,
    ) -> Result<(), McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let session = self.shared.next_id("session");
        let access = match access.context().session_id {
            Some(_) => access,
            None => access.in_session(session.clone()),
        };
        let access = Arc::new(access);
        let server = Server::of_connection(Arc::clone(&self.shared), Arc::clone(&access));
        let lane = server.lane();
        let stop = CancellationToken::new();
        let closing = server.closing();
        let wire = Wire::open(read, write, &self.shared.settings, &closing, &stop, shutdown);
        let ended = match rmcp::service::serve_server_with_ct(server, wire, stop).await {
            Ok(running) => {
                // A loop that panicked has nobody left to answer.
                running.waiting().await.ok();
                Ok(())
            }
            Err(
                rmcp::service::ServerInitializeError::ConnectionClosed(_)
                | rmcp::service::ServerInitializeError::Cancelled,
            ) => Ok(()),
            Err(error) => Err(McpError::Handshake(error.to_string())),
        };
        lane.idle().await;
        self.shared.tasks.forget(&access);
        self.shared.end_session(session).await;
        ended
    }

    /// Waits until no task of a request over http runs. They end within [`McpSettings::drain`] of
    /// the `shutdown` that the service over http was given, which must have come.
    pub async fn idle(&self) {
        let running = &self.shared.tasks.of_requests;
        running.close();
        running.wait().await;
    }
}

#[cfg(test)]
mod tests;
