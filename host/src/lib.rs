//! Belljar runs the tools of AI agents as WebAssembly components.
//!
//! Start at [`contract`] for the words, at `ARCHITECTURE.md` for the life of a call.

pub mod app;
pub mod config;
pub mod contract;
pub mod engine;
pub mod events;
pub mod frontends;
pub mod gate;
pub mod host;
pub mod registry;
pub mod runners;
pub mod sandbox;
pub mod storage;

pub use host::Host;
