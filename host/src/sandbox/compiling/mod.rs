//! From a component's bytes to code, apart from the engine that runs it.
//!
//! Runs nothing of a plugin, and keeps nothing: what to do with the code is its caller's.

mod alone;
mod caps;
mod child;
mod error;
mod wire;

use std::path::PathBuf;

use wasmtime::Engine;

use super::compiled::{COMPONENT_MAX_LEN, ComponentError, needs_async};
use super::engine::{EngineError, compiling_config};

pub use alone::compile_alone;
pub use caps::CapsError;
pub use error::CompilingError;

/// Where plugins are compiled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CompileIn {
    /// In this process, by an engine that is gone afterwards. What a hostile component makes the
    /// compiler use, in memory and in time, this process uses.
    #[default]
    ThisProcess,
    /// In a process of its own with bounds on memory and time, by this program, which is called with
    /// `compile` as its first argument: `belljar` itself, or what calls
    /// [`crate::app::compile_alone`].
    Child(PathBuf),
}

/// Compiles, and knows what the code it makes depends on.
#[derive(Debug)]
pub(crate) struct Compiling {
    place: CompileIn,
    compatibility: String,
}

impl Compiling {
    /// # Errors
    /// Where no compiler starts on this machine.
    pub(crate) fn try_new(place: CompileIn) -> Result<Self, EngineError> {
        // The engine that runs plugins doesn't know: without a compiler, its hash leaves out the
        // target, the flags and the processor.
        let compatibility = compatibility_of(&Engine::new(&compiling_config())?);
        Ok(Self { place, compatibility })
    }

    /// What compiled code depends on besides the plugin: version, machine, settings, and the bounds
    /// within which it was compiled. 16 hex digits.
    pub(crate) fn compatibility(&self) -> &str {
        &self.compatibility
    }

    /// Compiles a component. Takes seconds for a large one.
    ///
    /// # Errors
    /// Bytes that are no component this engine takes, ones that take too much to compile, and a
    /// compiler that doesn't start.
    pub(crate) fn compile(&self, bytes: &[u8]) -> Result<Vec<u8>, ComponentError> {
        check(bytes)?;
        match &self.place {
            CompileIn::ThisProcess => {
                let engine = Engine::new(&compiling_config())
                    .map_err(|error| CompilingError::Start(format!("{error:#}")))?;
                compile_here(&engine, bytes)
            }
            CompileIn::Child(program) => child::compile(program, &self.compatibility, bytes),
        }
    }
}

/// Cheap checks, which give better words than a compiler's and bound what it is handed.
///
/// # Errors
/// Bytes that are no component, and one that is too large or has too much of something.
pub(crate) fn check(bytes: &[u8]) -> Result<(), ComponentError> {
    if bytes.len() > COMPONENT_MAX_LEN {
        return Err(ComponentError::TooLarge(bytes.len()));
    }
    if wasmparser::Parser::is_core_wasm(bytes) {
        return Err(ComponentError::CoreModule);
    }
    if !wasmparser::Parser::is_component(bytes) {
        return Err(ComponentError::NotWasm);
    }
    Ok(caps::check(bytes)?)
}

fn compile_here(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, ComponentError> {
    engine.precompile_component(bytes).map_err(|error| {
        if needs_async(bytes) {
            return ComponentError::Async;
        }
        ComponentError::of_loading(&error)
    })
}

fn compatibility_of(engine: &Engine) -> String {
    compatibility_within(engine, &caps::ALL)
}

fn compatibility_within(engine: &Engine, bounds: &[u64]) -> String {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    bounds.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests;
