//! What executes attempts, behind the engine's ports.

mod ask_user;
pub mod client;
mod own;
mod results;
mod router;
mod said;
mod schema;
mod tools;
#[cfg(feature = "mcp")]
pub mod upstream_mcp;

pub use own::{OwnError, add_own_tools};
pub use router::Router;
pub use tools::{ExpectedPlugin, OutsideTools, Tools};
