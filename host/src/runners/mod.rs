//! What executes attempts, behind the engine's ports.

mod router;

pub use router::Router;
