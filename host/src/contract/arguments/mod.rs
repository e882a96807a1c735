//! The arguments of a call: parsed once, checked once, and from then on one value with one hash.
//!
//! Knows no schema: what a tool expects is behind [`ArgumentCheck`].

pub mod canonical;
mod check;
mod checked;
mod error;
mod parse;
mod walk;

pub use check::{ArgumentCheck, ArgumentFailure, joined};
pub use checked::CheckedArguments;
pub use error::{ArgumentsError, Position};
pub use parse::{ArgumentBounds, parse, parse_value};
