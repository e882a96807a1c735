//! The configuration as this run narrows it, and where it may listen.
//!
//! Nothing here raises what the configuration gives.

use std::net::SocketAddr;

use crate::config::{Config, HttpApprovals, McpApprovals};
use crate::frontends::cli::args::ServeArgs;
use crate::frontends::cli::error::CliError;
use crate::gate::narrow_level;

/// The configuration, where each option of this run is in the place of its key.
pub(super) fn narrowed(mut config: Config, args: &ServeArgs) -> Config {
    for caller in &mut config.callers {
        caller.level = narrow_level(caller.level, args.level);
    }
    if !args.expose.is_empty() {
        config.serve.expose = Some(args.expose.clone());
    }
    if let Some(mcp) = args.approvals {
        config.approvals.mcp = mcp;
        config.approvals.http = match mcp {
            McpApprovals::Deny => HttpApprovals::Deny,
            McpApprovals::Queue | McpApprovals::Elicit | McpApprovals::Client => {
                HttpApprovals::Queue
            }
        };
    }
    config
}

/// Refuses to listen where other machines reach it, unless it is said who may speak to it, and
/// under which names: without tokens anybody could, and without names any web page could make a
/// browser do so.
pub(super) fn refuse_open(address: SocketAddr, config: &Config) -> Result<(), CliError> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let mut missing = Vec::new();
    if config.tokens.is_empty() {
        missing.push("`tokens`, since whoever reaches it could make calls");
    }
    if config.serve.hosts.is_empty() {
        missing.push("`serve.hosts`, since a web page could reach it under a name of its own");
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "`{address}` isn't an address of this machine alone, and the configuration has no {}",
        missing.join(", and no ")
    )))
}

#[cfg(test)]
mod tests;
