//! What executes attempts, behind the engine's ports.

mod router;
mod tools;
#[cfg(feature = "mcp")]
pub mod upstream_mcp;

pub use router::Router;
pub use tools::{OutsideTools, Tools};
