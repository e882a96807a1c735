//! The sandbox: compiles components, makes stores, runs one call in each.
//!
//! Knows nothing of names, policy, protocols or the disk beyond granted folders. The one module
//! that speaks wasmtime.

mod call;
pub(crate) mod capability;
mod classify;
pub mod codec;
mod command;
mod compiled;
mod compiling;
mod context;
mod engine;
mod entry;
mod facade;
mod fault;
mod guest;
mod limiter;
mod no_exec;
mod permits;
mod pool;
mod profile;
mod ready;
mod reaper;
mod room;
mod running;
mod settings;
mod state;
mod stdio;
mod store;
mod ticker;

pub use call::SandboxedTool;
pub use capability::files::{FolderProblem, refuse_processes};
pub(crate) use compiled::Code;
pub use compiled::{COMPONENT_MAX_LEN, Compiled, ComponentError, ExportedFunction};
pub(crate) use compiling::check as check_component;
pub use compiling::{CapsError, CompileIn, CompilingError, compile_alone};
pub use engine::EngineError;
pub use entry::Entry;
pub use facade::{OpenError, Sandbox};
pub use permits::{HEAVY_CALLS, WAITING_CALLS};
pub use profile::{Profile, Seen};
pub use reaper::BLOCKED_CALLS;
pub(crate) use room::is_short_of_room;
pub use settings::{
    CALLS_MAX, HOST_CALLS, PLUGIN_CALLS, READY_INSTANCES, READY_MAX, SandboxSettings,
};
pub use store::{Access, AccessWords};
