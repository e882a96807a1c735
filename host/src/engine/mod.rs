//! One call from request to result: lookup, arguments, gate, attempt, normalise.
//!
//! Knows neither wasm nor protocols: it speaks to both through [`ports`]. Only [`dispatch`] runs
//! tools, after the gate.

mod attempt;
pub mod dispatch;
pub mod ports;
mod report;
mod resolve;

#[cfg(test)]
mod tests;

pub use dispatch::Engine;
