//! The sandbox as the rest of the host sees it.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wasmtime::component::{Component, Linker};

use super::call::{self, SandboxedTool};
use super::capability::files::{FolderError, Folders};
use super::capability::link;
use super::compiled::{Code, Compiled, ComponentError};
use super::compiling::{CompileIn, Compiling};
use super::engine::{EngineError, EngineParts, SandboxEngine};
use super::no_exec::map_or_load;
use super::permits::Permits;
use super::pool::Class;
use super::profile::{FRAMES_MAX, Profile};
use super::ready::ReadyPool;
use super::reaper::Reaper;
use super::room::short_of;
use super::settings::SandboxSettings;
use super::state::HostState;
use super::store::Access;
use super::ticker::Ticker;
use crate::contract::attempt::{Attempt, AttemptEnd};
use crate::contract::grants::Grants;

/// The engines with everything that their calls share. Cheap to clone.
#[derive(Clone)]
pub struct Sandbox(Arc<Shared>);

struct Shared {
    parts: EngineParts,
    lean: Home,
    /// Made with the first plugin that needs it.
    heavy: OnceLock<Home>,
    making_heavy: Mutex<()>,
    compiling: Compiling,
    permits: Permits,
    ready: ReadyPool,
    reaper: Reaper,
    profile: Option<Profile>,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("settings", &self.0.parts.settings).finish_non_exhaustive()
    }
}

/// An engine and what its components are linked with.
struct Home {
    engine: SandboxEngine,
    linker: Linker<HostState>,
}

impl Home {
    fn try_new(class: Class, parts: &EngineParts) -> Result<Self, EngineError> {
        let engine = SandboxEngine::try_new(class, parts)?;
        let linker = link::linker(engine.wasmtime()).map_err(EngineError::from)?;
        Ok(Self { engine, linker })
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
        Self::with(CompileIn::ThisProcess, SandboxSettings::default(), None)
    }

    /// Starts the engine. With a `profile`, all that runs is sampled into it.
    ///
    /// # Errors
    /// Where wasm can't run on this machine.
    pub fn with(
        place: CompileIn,
        settings: SandboxSettings,
        profile: Option<Profile>,
    ) -> Result<Self, EngineError> {
        let settings = settings.bounded();
        let ticker = Arc::new(Ticker::start());
        let frames = profile.as_ref().map(|_| FRAMES_MAX);
        let parts = EngineParts { settings, ticker: Arc::clone(&ticker), frames };
        let permits = Permits::new(settings);
        // An instance made ahead would have its start in nobody's profile.
        let ready = if profile.is_some() { 0 } else { settings.ready_instances };
        Ok(Self(Arc::new(Shared {
            lean: Home::try_new(Class::Lean, &parts)?,
            heavy: OnceLock::new(),
            making_heavy: Mutex::default(),
            compiling: Compiling::try_new(place)?,
            ready: ReadyPool::new(ready, permits.clone(), ticker),
            permits,
            reaper: Reaper::default(),
            profile,
            parts,
        })))
    }

    /// The settings of the engine that small components run in, with a compiler: for measuring what
    /// is spent on top of them.
    pub fn engine_config() -> wasmtime::Config {
        super::engine::whole_config(Class::Lean, SandboxSettings::default())
    }

    /// The like for large components.
    pub fn heavy_engine_config() -> wasmtime::Config {
        super::engine::whole_config(Class::Heavy, SandboxSettings::default())
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
    pub(crate) fn load(&self, code: Code<'_>) -> Result<Compiled, ComponentError> {
        let (home, component) = self.placed(&code)?;
        let permits = self.0.permits.for_plugin(Class::of(&component) == Class::Heavy);
        Compiled::link(&home.engine, &home.linker, &component, permits, code.file())
    }

    /// The component in the engine of its class.
    fn placed(&self, code: &Code<'_>) -> Result<(&Home, Component), ComponentError> {
        let failed = |error: wasmtime::Error| ComponentError::of_loading(&error);
        match Self::component_in(&self.0.lean, code) {
            Ok(component) if Class::of(&component) == Class::Lean => {
                return Ok((&self.0.lean, component));
            }
            // The heavy engine would take more.
            Err(error) if short_of(&error).is_some() => return Err(failed(error)),
            // Without a pool there are no slots that it could be too large for.
            other if !self.0.lean.engine.is_pooled() => {
                return other.map(|component| (&self.0.lean, component)).map_err(failed);
            }
            _ => {}
        }
        let heavy = self.heavy()?;
        Ok((heavy, Self::component_in(heavy, code).map_err(failed)?))
    }

    /// The engine of large components.
    fn heavy(&self) -> Result<&Home, ComponentError> {
        let _turn = self.0.making_heavy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(heavy) = self.0.heavy.get() {
            return Ok(heavy);
        }
        let made = Home::try_new(Class::Heavy, &self.0.parts).map_err(|error| {
            match short_of(&error.0) {
                Some(why) => ComponentError::NoRoom(why),
                None => error.into(),
            }
        })?;
        Ok(self.0.heavy.get_or_init(|| made))
    }

    #[expect(unsafe_code, reason = "loading our own compiled code has no safe form in wasmtime")]
    fn component_in(home: &Home, code: &Code<'_>) -> wasmtime::Result<Component> {
        let engine = home.engine.wasmtime();
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: arbitrary bytes here would be arbitrary native code. A `Code` is made in two
        // places. `code_of` above, by `compile` and `registry::load`: what this build's compiler
        // answered just now, over a pipe of our own. `registry::code_store`: a file of this user,
        // in a folder that nobody else can open, whose keyed MAC it checked through the descriptor
        // that is handed over; the path below names that descriptor's file and no other, and what is
        // read where it can't be mapped is read by that descriptor. Entries are replaced by rename
        // and never written in place, so the mapping doesn't change; whoever could change it all the
        // same is this user, who can run code anyway.
        unsafe {
            match code {
                Code::Bytes(bytes) => Component::deserialize(engine, bytes),
                Code::File(file) => map_or_load(
                    file,
                    |file| Component::deserialize_file(engine, path(file)),
                    |bytes| Component::deserialize(engine, bytes),
                ),
            }
        }
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

    /// Pool slots in use now by calls; `None` without a pool.
    pub fn instances_in_use(&self) -> Option<u64> {
        let heavy = self.0.heavy.get().and_then(|heavy| heavy.engine.instances_in_use());
        let all = self.0.lean.engine.instances_in_use()? + heavy.unwrap_or(0);
        Some(all.saturating_sub(self.instances_ready() as u64))
    }

    /// Instances that were made ahead of calls, or are being made.
    pub fn instances_ready(&self) -> usize {
        self.0.ready.held()
    }

    /// Whether stores come from the pool.
    pub fn is_pooled(&self) -> bool {
        let heavy = self.0.heavy.get().is_none_or(|heavy| heavy.engine.is_pooled());
        self.0.lean.engine.is_pooled() && heavy
    }

    /// Calls past their end that a file operation still blocks.
    pub fn blocked_calls(&self) -> usize {
        self.0.reaper.blocked()
    }

    pub(crate) fn ticker(&self) -> &Arc<Ticker> {
        &self.0.parts.ticker
    }

    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.0.profile.as_ref()
    }

    pub(crate) fn permits(&self) -> &Permits {
        &self.0.permits
    }

    pub(crate) fn ready(&self) -> &ReadyPool {
        &self.0.ready
    }

    pub(crate) fn reaper(&self) -> &Reaper {
        &self.0.reaper
    }
}
