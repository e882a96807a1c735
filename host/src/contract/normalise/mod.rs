//! From whatever happened to one [`ToolResult`](super::result::ToolResult): facts first, text last.
//!
//! The only place that maps ends to results, so that no path has rules of its own (A19). Alters
//! nothing that a tool produced, and decides nothing about retries.

mod fault;
mod message;
mod output;
mod settle;
mod text;

pub use output::{result_uri, wrapped};
pub use settle::{Settling, settle};
pub use text::{TextRule, normalise_text};

#[cfg(test)]
mod tests;
