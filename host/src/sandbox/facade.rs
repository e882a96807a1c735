//! The sandbox as the rest of the host sees it.

use std::sync::Arc;

use wasmtime::component::{Component, Linker};

use super::call::{self, SandboxedTool};
use super::capability::files::{FolderError, Folders};
use super::capability::link;
use super::compiled::{self, Compiled, ComponentError};
use super::engine::{EngineError, SandboxEngine};
use super::permits::Permits;
use super::reaper::Reaper;
use super::state::HostState;
use super::store::Access;
use crate::contract::attempt::{Attempt, AttemptEnd};
use crate::contract::grants::Grants;

/// One engine with everything that its calls share. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Shared>);

struct Shared {
    engine: SandboxEngine,
    linker: Linker<HostState>,
    permits: Permits,
    reaper: Reaper,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("engine", &self.0.engine).finish_non_exhaustive()
    }
}

/// Why a tool's grants can't be opened.
pub type OpenError = FolderError;

impl Sandbox {
    /// Starts the engine.
    ///
    /// # Errors
    /// Where wasm can't run on this machine.
    pub fn try_new() -> Result<Self, EngineError> {
        let engine = SandboxEngine::try_new()?;
        let linker = link::linker(engine.wasmtime()).map_err(EngineError::from)?;
        let (permits, reaper) = (Permits::default(), Reaper::default());
        Ok(Self(Arc::new(Shared { engine, linker, permits, reaper })))
    }

    /// The settings every engine here is made with: for measuring what is spent on top of them.
    pub fn engine_config() -> wasmtime::Config {
        super::engine::config(true)
    }

    /// Checks, compiles and links a plugin. Takes seconds for a large one: not for an async thread.
    ///
    /// # Errors
    /// Bytes that are no component this engine takes.
    pub fn compile(&self, bytes: &[u8]) -> Result<Compiled, ComponentError> {
        let component = compiled::compile(&self.0.engine, bytes)?;
        Compiled::link(&self.0.engine, &self.0.linker, &component)
    }

    /// Links code that [`Compiled::serialize`] wrote on this machine.
    ///
    /// # Errors
    /// Code of another version, machine or setting; the caller compiles again.
    #[expect(unsafe_code, reason = "loading our own compiled code has no safe form in wasmtime")]
    pub(crate) fn load(&self, code: &[u8]) -> Result<Compiled, ComponentError> {
        let invalid = |error: wasmtime::Error| ComponentError::Invalid(format!("{error:#}"));
        // SAFETY: arbitrary bytes here would be arbitrary native code. `registry::code_store` is
        // the one caller; it hands over only what this engine wrote itself, from a folder that
        // belongs to this user and that nobody else can open (mode 0700, checked at each use).
        let component = unsafe { Component::deserialize(self.0.engine.wasmtime(), code) };
        Compiled::link(&self.0.engine, &self.0.linker, &component.map_err(invalid)?)
    }

    /// What compiled code depends on besides the plugin's bytes.
    pub fn compatibility(&self) -> String {
        self.0.engine.compatibility()
    }

    /// Opens what a plugin was granted; its tools share what was opened.
    ///
    /// # Errors
    /// A folder that is missing or not ours to open.
    pub fn open(&self, grants: &Grants) -> Result<Access, OpenError> {
        let env = grants.env().iter().map(|env| (env.name.clone(), env.value.clone())).collect();
        Ok(Access { folders: Folders::open(grants)?, env, ..Access::default() })
    }

    /// Runs one attempt. Safe to drop at any await.
    pub async fn run(&self, tool: &SandboxedTool, attempt: Attempt) -> AttemptEnd {
        call::run(self, tool, attempt).await
    }

    /// Calls that hold a sandbox now.
    pub fn calls_in_use(&self) -> usize {
        self.0.permits.in_use()
    }

    /// Pool slots in use now; `None` without a pool.
    pub fn instances_in_use(&self) -> Option<u64> {
        self.0.engine.instances_in_use()
    }

    /// Whether stores come from the pool.
    pub fn is_pooled(&self) -> bool {
        self.0.engine.is_pooled()
    }

    /// Calls past their end that a file operation still blocks.
    pub fn blocked_calls(&self) -> usize {
        self.0.reaper.blocked()
    }

    pub(crate) fn engine(&self) -> &SandboxEngine {
        &self.0.engine
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.0.permits
    }

    pub(crate) fn reaper(&self) -> &Reaper {
        &self.0.reaper
    }
}
