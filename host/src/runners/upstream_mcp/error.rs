//! Why a server isn't there.
//!
//! Texts of the server in it are clipped and escaped already.

use crate::registry::NameError;

/// Why a server can't be spoken to.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpstreamError {
    /// The operator's words for it can't be used.
    #[error("it can't be started: {0}")]
    Unusable(String),
    /// The process.
    #[error("`{program}` can't be started: {reason}")]
    Spawn {
        /// What was to be started.
        program: String,
        /// What the machine says.
        reason: std::io::Error,
    },
    /// It isn't an MCP server that belljar can speak to, or not now.
    #[error("it didn't come up: {0}")]
    Handshake(String),
    /// It took too long.
    #[error("it didn't come up and list its tools within {0} s: raise `start_timeout`")]
    Slow(u64),
    /// Its list of tools.
    #[error("its tools can't be listed: {0}")]
    Listing(String),
    /// Its names.
    #[error("its tools can't be offered: {0}")]
    Name(#[from] NameError),
    /// The host ends.
    #[error("belljar is ending")]
    Ending,
    /// It was there and went away.
    #[error("it went away: {0}")]
    Gone(String),
}
