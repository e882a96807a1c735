//! What executes attempts, behind the engine's ports.

pub mod client;
mod router;
mod tools;

pub use router::Router;
pub use tools::{OutsideTools, Tools};
