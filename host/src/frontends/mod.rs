//! Ways in. Each makes the same invocation and never runs a tool itself.

#[cfg(feature = "cli")]
pub mod cli;
pub mod export;
