//! The wasmtime engines: what a plugin may be made of, and what all stores share.
//!
//! Every switch here is a decision of `reference` facts, named beside it. Makes no store and knows
//! no tool. Two engines differ in the sizes of their pools alone (`pool`), so the same compiled code
//! runs in both.

use std::num::NonZeroUsize;
use std::sync::Arc;

use wasmtime::{Config, Engine, InstanceAllocationStrategy};

use super::pool::{Class, pool};
use super::settings::SandboxSettings;
use super::ticker::Ticker;

/// Stack of the guest. JS and Python engines recurse deeper than the 512 KiB default allows.
const WASM_STACK_BYTES: usize = 1 << 20;
/// Stack of the fiber: what is above the guest's part is for host functions, whose overflow would
/// abort the process.
const FIBER_STACK_BYTES: usize = 3 << 20;

/// Why no engine could be made.
#[derive(Debug, thiserror::Error)]
#[error("the wasm engine can't start on this machine: {0:#}")]
pub struct EngineError(#[from] pub(super) wasmtime::Error);

/// What the engines of one host are made with.
#[derive(Debug, Clone)]
pub(crate) struct EngineParts {
    pub(crate) settings: SandboxSettings,
    pub(crate) ticker: Arc<Ticker>,
    /// How many frames a backtrace has, where not wasmtime's own number.
    pub(crate) frames: Option<NonZeroUsize>,
}

/// An engine whose stores tick.
#[derive(Clone, Debug)]
pub(crate) struct SandboxEngine {
    engine: Engine,
    pooled: bool,
}

impl SandboxEngine {
    /// Makes the engine, with the pooling allocator where the address space allows it.
    ///
    /// # Errors
    /// Where neither allocator starts.
    pub(crate) fn try_new(class: Class, parts: &EngineParts) -> Result<Self, EngineError> {
        let with = |pooled| {
            let mut config = config(pooled);
            if parts.frames.is_some() {
                config.wasm_backtrace_max_frames(parts.frames);
            }
            Engine::new(&config)
        };
        let (engine, pooled) = match with(Some((class, parts.settings))) {
            Ok(engine) => (engine, true),
            Err(error) => {
                tracing::warn!("no memory pool, so calls will be slower: {error:#}");
                (with(None).map_err(EngineError)?, false)
            }
        };
        parts.ticker.add(engine.weak());
        Ok(Self { engine, pooled })
    }

    /// The wasmtime engine.
    pub(crate) fn wasmtime(&self) -> &Engine {
        &self.engine
    }

    /// Whether stores come from the pool.
    pub(crate) fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Pool slots in use right now: component instances, or `None` without a pool.
    pub(crate) fn instances_in_use(&self) -> Option<u64> {
        self.engine.pooling_allocator_metrics().map(|metrics| metrics.component_instances())
    }
}

/// What every engine that runs plugins is made with: it can't compile, so that no bytes of a plugin
/// reach a compiler in the process that serves.
/// `pooled`: the pool that its stores come from; `None`: from none.
pub(super) fn config(pooled: Option<(Class, SandboxSettings)>) -> Config {
    let mut config = shared_config();
    config.enable_compiler(false);
    config.allocation_strategy(match pooled {
        Some((class, settings)) => InstanceAllocationStrategy::Pooling(pool(class, settings)),
        None => InstanceAllocationStrategy::OnDemand,
    });
    config
}

/// What an engine that only compiles is made with. A pool couldn't start under a bound on address
/// space, and code is the same with and without one.
pub(crate) fn compiling_config() -> Config {
    let mut config = shared_config();
    with_compiler(&mut config);
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    config
}

/// What an engine that both compiles and runs is made with: for measuring against it.
pub(crate) fn whole_config(class: Class, settings: SandboxSettings) -> Config {
    let mut config = shared_config();
    with_compiler(&mut config);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(class, settings)));
    config
}

fn with_compiler(config: &mut Config) {
    config
        .strategy(wasmtime::Strategy::Cranelift)
        .cranelift_opt_level(wasmtime::OptLevel::Speed)
        // So that the same arguments give the same bits on every machine.
        .cranelift_nan_canonicalization(true);
}

/// What code and the engine that runs it must agree about.
fn shared_config() -> Config {
    let mut config = Config::new();
    config
        // Both bounds on every call: fuel is a deterministic budget, epochs are the wall clock.
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(FIBER_STACK_BYTES)
        // Unwind tables would be registered for each plugin and aren't needed for wasm backtraces.
        .native_unwind_info(false)
        // DWARF is written by the plugin's author; parsing it is surface without a use here.
        .wasm_backtrace_details(wasmtime::WasmBacktraceDetails::Disable);
    refuse_surface(&mut config);
    config
}

/// Turns off the proposals that most advisories of 2026 sit in and that stock Rust, JS and Python
/// components don't use.
fn refuse_surface(config: &mut Config) {
    config
        .concurrency_support(false)
        .gc_support(false)
        .wasm_function_references(false)
        .wasm_exceptions(false)
        .wasm_threads(false)
        .shared_memory(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_custom_page_sizes(false)
        .wasm_stack_switching(false)
        .wasm_wide_arithmetic(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(class: Class) -> SandboxEngine {
        let (settings, ticker) = (SandboxSettings::default(), Arc::new(Ticker::start()));
        SandboxEngine::try_new(class, &EngineParts { settings, ticker, frames: None }).unwrap()
    }

    #[test]
    fn both_allocators_start_here() {
        for class in [Class::Lean, Class::Heavy] {
            assert!(started(class).is_pooled(), "{class:?}");
        }
        Engine::new(&config(None)).unwrap();
    }

    #[test]
    fn the_engine_that_runs_plugins_cannot_compile() {
        let component = wat::parse_str("(component)").unwrap();
        let refused = started(Class::Lean).wasmtime().precompile_component(&component);
        assert!(refused.is_err());
        Engine::new(&compiling_config()).unwrap().precompile_component(&component).unwrap();
    }
}
