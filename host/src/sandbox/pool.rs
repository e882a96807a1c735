//! The pools that stores come from, by what a component needs: most are small and many, a JavaScript
//! or Python one is large.
//!
//! Knows sizes alone.

use wasmtime::component::Component;
use wasmtime::{Enabled, PoolingAllocationConfig};

use super::permits::HEAVY_CALLS;
use super::settings::SandboxSettings;

/// What kind of slots a component needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// One memory, a few small tables: what Rust, C and Go make.
    Lean,
    /// Many modules, large tables, a large image: what holds an engine of its own.
    Heavy,
}

/// Slots beyond those of calls and of instances made ahead, for stores that are being torn down.
const SPARE_SLOTS: u32 = 8;
/// wasm's page, in bytes.
const PAGE_BYTES: u64 = 64 << 10;
/// Largest memory that a lean component may begin with, in bytes. Above it the image is worth what
/// the heavy pool keeps of it.
const LEAN_IMAGE_MAX: u64 = 4 << 20;

/// What one component may bring, and what a slot keeps between calls.
struct Sizes {
    memories: u32,
    tables: u32,
    core_instances: u32,
    instance_bytes: usize,
    table_elements: usize,
    memory_kept: usize,
    table_kept: usize,
}

/// A Rust component with WASI brings one memory, three core modules and two tables. Tables may grow as
/// far as the limit on them allows by default, else the slot and not the limit would stop them.
const LEAN: Sizes = Sizes {
    memories: 1,
    tables: 2,
    core_instances: 16,
    instance_bytes: 1 << 20,
    table_elements: 100_000,
    memory_kept: 2 << 20,
    table_kept: 64 << 10,
};

/// componentize-py links about thirty modules around one memory. Its instance is larger than the
/// 1 MiB default.
const HEAVY: Sizes = Sizes {
    memories: 8,
    tables: 16,
    core_instances: 64,
    instance_bytes: 8 << 20,
    table_elements: 100_000,
    memory_kept: 2 << 20,
    table_kept: 64 << 10,
};

/// Dirty bytes of a stack that stay between calls.
const STACK_KEPT: usize = 64 << 10;

impl Class {
    /// The class of a component that fits lean slots, by how large its memory begins.
    pub(crate) fn of(component: &Component) -> Self {
        // A component that brings core modules of others can't say what it needs.
        let Some(needs) = component.resources_required() else { return Self::Heavy };
        let bytes = needs.max_initial_memory_size.unwrap_or(0).saturating_mul(PAGE_BYTES);
        if bytes > LEAN_IMAGE_MAX { Self::Heavy } else { Self::Lean }
    }

    fn sizes(self) -> &'static Sizes {
        match self {
            Self::Lean => &LEAN,
            Self::Heavy => &HEAVY,
        }
    }

    /// Stores of this class at once. A call whose store still waits for a blocked file keeps its
    /// permit, so permits and instances made ahead are all there is.
    pub(crate) fn slots(self, settings: SandboxSettings) -> u32 {
        let calls = match self {
            Self::Lean => settings.calls,
            Self::Heavy => settings.calls.min(HEAVY_CALLS),
        };
        calls + settings.ready_instances + SPARE_SLOTS
    }
}

/// The pool of one class.
pub(super) fn pool(class: Class, settings: SandboxSettings) -> PoolingAllocationConfig {
    let (sizes, slots) = (class.sizes(), class.slots(settings));
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots * sizes.core_instances)
        .total_memories(slots * sizes.memories)
        .total_tables(slots * sizes.tables)
        .total_stacks(slots)
        .total_gc_heaps(0)
        .max_core_instances_per_component(sizes.core_instances)
        .max_memories_per_component(sizes.memories)
        .max_tables_per_component(sizes.tables)
        .max_memories_per_module(sizes.memories)
        .max_tables_per_module(sizes.tables)
        .max_component_instance_size(sizes.instance_bytes)
        .max_core_instance_size(sizes.instance_bytes)
        .table_elements(sizes.table_elements)
        .linear_memory_keep_resident(sizes.memory_kept)
        .table_keep_resident(sizes.table_kept)
        .async_stack_keep_resident(STACK_KEPT)
        // Linux 6.7 and later tell which pages are dirty, so that only those are reset.
        .pagemap_scan(Enabled::Auto);
    pool
}
