//! What executes attempts, behind the engine's ports.

pub mod client;
mod router;
mod tools;
#[cfg(feature = "mcp")]
pub mod upstream_mcp;

pub use router::Router;
pub use tools::{OutsideTools, Tools};
