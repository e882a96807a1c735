//! Ways in. Each makes the same invocation and never runs a tool itself.

pub mod access;
#[cfg(feature = "cli")]
pub mod cli;
pub mod export;
#[cfg(any(feature = "http", feature = "mcp"))]
mod held;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
