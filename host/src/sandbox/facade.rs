//! The sandbox as the rest of the host sees it.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;

use wasmtime::component::{Component, Linker};

use super::call::{self, SandboxedTool};
use super::capability::files::{FolderError, Folders};
use super::capability::link;
use super::compiled::{Code, Compiled, ComponentError};
use super::compiling::{CompileIn, Compiling};
use super::engine::{EngineError, SandboxEngine};
use super::permits::Permits;
use super::profile::{FRAMES_MAX, Profile};
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
    compiling: Compiling,
    linker: Linker<HostState>,
    permits: Permits,
    reaper: Reaper,
    profile: Option<Profile>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("engine", &self.0.engine).finish_non_exhaustive()
    }
}

/// Why a tool's grants can't be opened.
pub type OpenError = FolderError;

impl Sandbox {
    /// Starts the engine, and compiles plugins in this process.
    ///
    /// # Errors
    /// Where wasm can't run on this machine.
    pub fn try_new() -> Result<Self, EngineError> {
        Self::compiling_in(CompileIn::ThisProcess, None)
    }

    /// Starts the engine. With a `profile`, all that runs is sampled into it.
    ///
    /// # Errors
    /// Where wasm can't run on this machine.
    pub fn compiling_in(place: CompileIn, profile: Option<Profile>) -> Result<Self, EngineError> {
        let engine = SandboxEngine::try_new(profile.as_ref().map(|_| FRAMES_MAX))?;
        let compiling = Compiling::try_new(place)?;
        let linker = link::linker(engine.wasmtime()).map_err(EngineError::from)?;
        let (permits, reaper) = (Permits::default(), Reaper::default());
        Ok(Self(Arc::new(Shared { engine, compiling, linker, permits, reaper, profile })))
    }

    /// The settings of the engine here, with a compiler: for measuring what is spent on top of them.
    pub fn engine_config() -> wasmtime::Config {
        super::engine::whole_config()
    }

    /// Checks, compiles and links a plugin. Takes seconds for a large one: not for an async thread.
    ///
    /// # Errors
    /// Bytes that are no component this engine takes.
    pub fn compile(&self, bytes: &[u8]) -> Result<Compiled, ComponentError> {
        self.load(Code::Bytes(&self.code_of(bytes)?))
    }

    /// Checks and compiles a plugin, without linking it.
    ///
    /// # Errors
    /// Bytes that are no component this engine takes.
    pub(crate) fn code_of(&self, bytes: &[u8]) -> Result<Vec<u8>, ComponentError> {
        self.0.compiling.compile(bytes)
    }

    /// Links code that [`Self::code_of`] made.
    ///
    /// # Errors
    /// Code of another version, machine or setting; the caller compiles again.
    #[expect(unsafe_code, reason = "loading our own compiled code has no safe form in wasmtime")]
    pub(crate) fn load(&self, code: Code<'_>) -> Result<Compiled, ComponentError> {
        let engine = self.0.engine.wasmtime();
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: arbitrary bytes here would be arbitrary native code. A `Code` is made in two
        // places. `code_of` above, by `compile` and `registry::load`: what this build's compiler
        // answered just now, over a pipe of our own. `registry::code_store`: a file of this user,
        // in a folder that nobody else can open, whose keyed MAC it checked through the descriptor
        // that is handed over; the path below names that descriptor's file and no other. Entries
        // are replaced by rename and never written in place, so the mapping doesn't change; whoever
        // could change it all the same is this user, who can run code anyway.
        let component = unsafe {
            match &code {
                Code::Bytes(bytes) => Component::deserialize(engine, bytes),
                Code::File(file) => Component::deserialize_file(engine, path(file)),
            }
        };
        let component = component.map_err(|error| ComponentError::Invalid(format!("{error:#}")))?;
        Compiled::link(&self.0.engine, &self.0.linker, &component, code.file())
    }

    /// What compiled code depends on besides the plugin's bytes: 16 hex digits.
    pub fn compatibility(&self) -> &str {
        self.0.compiling.compatibility()
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

    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.0.profile.as_ref()
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.0.permits
    }

    pub(crate) fn reaper(&self) -> &Reaper {
        &self.0.reaper
    }
}
