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
/// Largest memory that a lean component may begin with, in bytes. What begins with more mostly uses a
/// good part of it in each call, so fewer of those run at once.
const LEAN_IMAGE_MAX: u64 = 4 << 20;

/// Elements of a table: as many as the limit on them allows by default, else the slot and not the limit
/// would stop a table that grows.
const TABLE_ELEMENTS: usize = 100_000;
/// Dirty bytes of a memory that stay between calls. With none a call of JavaScript took 586 µs and
/// with 1 MiB 262; with 4 or 16 MiB no less (measured in a bare loop, other builds running).
const MEMORY_KEPT: usize = 2 << 20;
/// Dirty bytes of a table that stay between calls.
const TABLE_KEPT: usize = 64 << 10;

/// What one component may bring.
struct Sizes {
    memories: u32,
    tables: u32,
    core_instances: u32,
    instance_bytes: usize,
}

/// A Rust component with WASI brings one memory, three core modules and two tables.
const LEAN: Sizes = Sizes { memories: 1, tables: 2, core_instances: 16, instance_bytes: 1 << 20 };

/// componentize-py links about thirty modules around one memory. Its instance is larger than the
/// 1 MiB default.
const HEAVY: Sizes = Sizes { memories: 8, tables: 16, core_instances: 64, instance_bytes: 8 << 20 };

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
        .table_elements(TABLE_ELEMENTS)
        .linear_memory_keep_resident(MEMORY_KEPT)
        .table_keep_resident(TABLE_KEPT)
        .async_stack_keep_resident(STACK_KEPT)
        // Linux 6.7 and later tell which pages are dirty, so that only those are reset.
        .pagemap_scan(Enabled::Auto);
    pool
}
