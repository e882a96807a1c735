//! The one wasmtime engine: what a plugin may be made of, and what all stores share.
//!
//! Every switch here is a decision of `reference` facts, named beside it. Makes no store and knows
//! no tool.

use std::num::NonZeroUsize;
use std::sync::Arc;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::ticker::Ticker;

/// Slots of the pool. A call whose store still waits for a blocked file keeps its permit, so permits
/// are all there is; a few more are for stores that are being torn down.
pub(crate) const POOL_SLOTS: u32 = super::permits::HOST_CALLS + 8;
/// Memories one component may bring; a Rust or JS component brings one, a linked Python one too.
const MEMORIES_PER_COMPONENT: u32 = 8;
/// Tables one component may bring.
const TABLES_PER_COMPONENT: u32 = 16;
/// Core instances one component may bring: componentize-py links about thirty modules.
const CORE_INSTANCES_PER_COMPONENT: u32 = 64;
/// Stack of the guest. JS and Python engines recurse deeper than the 512 KiB default allows.
const WASM_STACK_BYTES: usize = 1 << 20;
/// Stack of the fiber: what is above the guest's part is for host functions, whose overflow would
/// abort the process.
const FIBER_STACK_BYTES: usize = 3 << 20;
/// Dirty bytes a memory slot may keep between calls; `PAGEMAP_SCAN` resets only what was touched.
const MEMORY_KEPT_BYTES: usize = 2 << 20;
/// The like for tables and stacks.
const TABLE_KEPT_BYTES: usize = 64 << 10;

/// Why no engine could be made.
#[derive(Debug, thiserror::Error)]
#[error("the wasm engine can't start on this machine: {0:#}")]
pub struct EngineError(#[from] wasmtime::Error);

/// The engine with its ticker.
#[derive(Clone, Debug)]
pub(crate) struct SandboxEngine {
    engine: Engine,
    ticker: Arc<Ticker>,
    pooled: bool,
}

impl SandboxEngine {
    /// Makes the engine, with the pooling allocator where the address space allows it. `frames`: how
    /// many a backtrace has, where not wasmtime's own number.
    ///
    /// # Errors
    /// Where neither allocator starts.
    pub(crate) fn try_new(frames: Option<NonZeroUsize>) -> Result<Self, EngineError> {
        let with = |pooled| {
            let mut config = config(pooled);
            if frames.is_some() {
                config.wasm_backtrace_max_frames(frames);
            }
            Engine::new(&config)
        };
        let (engine, pooled) = match with(true) {
            Ok(engine) => (engine, true),
            Err(error) => {
                tracing::warn!("no memory pool, so calls will be slower: {error:#}");
                (with(false).map_err(EngineError)?, false)
            }
        };
        let ticker = Arc::new(Ticker::start(engine.weak()));
        Ok(Self { engine, ticker, pooled })
    }

    /// The wasmtime engine.
    pub(crate) fn wasmtime(&self) -> &Engine {
        &self.engine
    }

    /// The ticker that interrupts running guests.
    pub(crate) fn ticker(&self) -> &Arc<Ticker> {
        &self.ticker
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
pub(crate) fn config(pooled: bool) -> Config {
    let mut config = shared_config();
    config.enable_compiler(false);
    config.allocation_strategy(if pooled {
        InstanceAllocationStrategy::Pooling(pool())
    } else {
        InstanceAllocationStrategy::OnDemand
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
pub(crate) fn whole_config() -> Config {
    let mut config = shared_config();
    with_compiler(&mut config);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
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

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(POOL_SLOTS)
        .total_core_instances(POOL_SLOTS * CORE_INSTANCES_PER_COMPONENT)
        .total_memories(POOL_SLOTS * MEMORIES_PER_COMPONENT)
        .total_tables(POOL_SLOTS * TABLES_PER_COMPONENT)
        .total_stacks(POOL_SLOTS)
        .total_gc_heaps(0)
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_memories_per_module(MEMORIES_PER_COMPONENT)
        .max_tables_per_module(TABLES_PER_COMPONENT)
        // A Python component's instance is larger than the 1 MiB default.
        .max_component_instance_size(8 << 20)
        .max_core_instance_size(8 << 20)
        .table_elements(100_000)
        .linear_memory_keep_resident(MEMORY_KEPT_BYTES)
        .table_keep_resident(TABLE_KEPT_BYTES)
        .async_stack_keep_resident(TABLE_KEPT_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_allocators_start_here() {
        assert!(SandboxEngine::try_new(None).unwrap().is_pooled());
        Engine::new(&config(false)).unwrap();
    }

    #[test]
    fn the_engine_that_runs_plugins_cannot_compile() {
        let engine = SandboxEngine::try_new(None).unwrap();
        let component = wat::parse_str("(component)").unwrap();
        let refused = engine.wasmtime().precompile_component(&component);
        assert!(refused.is_err());
        Engine::new(&compiling_config()).unwrap().precompile_component(&component).unwrap();
    }
}
