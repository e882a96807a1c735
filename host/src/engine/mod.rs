//! Calls from request to result, alone or in batches: lookup, arguments, gate, attempts, normalise.
//!
//! Knows neither wasm nor protocols: it speaks to both through [`ports`]. Only [`dispatch`] runs
//! tools, after the gate.

mod admit;
mod attempt;
mod batch;
mod breaker;
pub mod dispatch;
mod execute;
mod explain;
mod identity;
mod kept;
mod locks;
mod plan;
pub mod ports;
mod prepare;
mod question;
mod record;
mod refused;
mod repeat;
mod report;
mod resolve;
mod retry;
mod settings;
mod share;
mod timely;

#[cfg(test)]
mod tests;

pub use dispatch::{Engine, EngineParts};
pub use identity::{CallIds, Renamed, unique_ids};
pub use kept::{
    KEPT_MAX, KEPT_MAX_BYTES, KEPT_MAX_BYTES_OF_ONE, KEPT_MAX_MS, KEPT_MAX_OF_ONE, KeptResults,
};
pub use settings::{BreakerSettings, EngineSettings, SettingsError};
