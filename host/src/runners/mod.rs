//! What executes attempts, behind the engine's ports.

mod ask_user;
mod own;
mod results;
mod router;
mod tools;

pub use own::{OwnError, add_own_tools};
pub use router::Router;
pub use tools::{OutsideTools, Tools};
