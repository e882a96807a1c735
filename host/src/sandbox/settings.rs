//! How much of a machine the sandbox of one host takes: calls at once, and instances made ahead.
//!
//! Limits of a single call are in `contract`.

/// Calls at once in a host, where nothing else is said.
pub const HOST_CALLS: u32 = 64;
/// Calls at once of one plugin, where nothing else is said.
pub const PLUGIN_CALLS: u32 = 16;
/// Most calls at once: each may hold some ten mappings, of which Linux gives a process 65,530
/// (`vm.max_map_count`).
pub const CALLS_MAX: u32 = 2048;
/// Instances that are made ahead of their calls, in a host, where nothing else is said.
pub const READY_INSTANCES: u32 = 8;
/// Most instances that are made ahead.
pub const READY_MAX: u32 = 64;

/// What the pool of a host is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Calls at once in this host: 1 to [`CALLS_MAX`].
    pub calls: u32,
    /// Calls at once of one plugin: 1 to [`CALLS_MAX`].
    pub plugin_calls: u32,
    /// Instances of plugins that are called often, made ahead of their calls: up to [`READY_MAX`];
    /// 0 makes none.
    pub ready_instances: u32,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self { calls: HOST_CALLS, plugin_calls: PLUGIN_CALLS, ready_instances: READY_INSTANCES }
    }
}

impl SandboxSettings {
    /// The same within its bounds: what is beyond one becomes the bound.
    pub(super) fn bounded(self) -> Self {
        Self {
            calls: self.calls.clamp(1, CALLS_MAX),
            plugin_calls: self.plugin_calls.clamp(1, CALLS_MAX),
            ready_instances: self.ready_instances.min(READY_MAX),
        }
    }
}
