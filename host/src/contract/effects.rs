//! What a tool can do to the world, and how that is known.
//!
//! Data only; `registry::effects` derives it.

use serde::{Deserialize, Serialize};

/// How a hint is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The sandbox makes it so. Policy may rely on this alone.
    Proven,
    /// The plugin says so and the host cannot enforce it.
    Claimed,
    /// Nothing is known: the cautious value.
    Assumed,
}

/// A hint with its basis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Whether it holds.
    pub value: bool,
    /// How that is known.
    pub basis: Basis,
}

impl Effect {
    /// A value that the sandbox makes so.
    pub const fn proven(value: bool) -> Self {
        Self { value, basis: Basis::Proven }
    }

    /// A value that only the plugin vouches for.
    pub const fn claimed(value: bool) -> Self {
        Self { value, basis: Basis::Claimed }
    }

    /// A cautious value.
    pub const fn assumed(value: bool) -> Self {
        Self { value, basis: Basis::Assumed }
    }

    /// Whether it holds, and provably.
    pub fn is_proven(self) -> bool {
        self.value && self.basis == Basis::Proven
    }
}

/// The effects of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effects {
    /// Changes nothing outside itself: writes no file and reaches nobody.
    pub read_only: Effect,
    /// Has no writable directory.
    pub cannot_write_files: Effect,
    /// Has no way to anything outside its own grants on this machine: no http, no sockets.
    pub closed_world: Effect,
    /// The same arguments always give the same answer.
    pub deterministic: Effect,
    /// May destroy what is there. False for a read-only tool.
    pub destructive: Effect,
    /// A second identical call changes nothing more.
    pub idempotent: Effect,
}
