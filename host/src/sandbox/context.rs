//! The WASI context of a store, made when its guest first asks for anything of it: most calls never
//! do, and making one costs a dozen allocations and random seeds.
//!
//! Grants nothing that isn't among what it is given.

use std::sync::Arc;
use std::time::Instant;

use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use super::capability::clocks::{CoarseMonotonic, CoarseWall};
use super::command::Process;
use super::stdio::Printed;
use super::store::Access;
use crate::contract::arguments::CheckedArguments;

/// What a context is made of.
pub(super) struct Given {
    /// When the call had its permit: the guest's clock begins there.
    pub(super) began: Instant,
    pub(super) stdout: Printed,
    pub(super) stderr: Printed,
    pub(super) access: Arc<Access>,
    /// What a command reads of its arguments; `None`: it is none.
    pub(super) command: Option<Arc<CheckedArguments>>,
}

/// A context that is there once it is needed.
pub(super) struct Context {
    given: Given,
    made: Option<WasiCtx>,
}

impl Context {
    pub(super) fn new(given: Given) -> Self {
        Self { given, made: None }
    }

    pub(super) fn get(&mut self) -> &mut WasiCtx {
        let given = &self.given;
        self.made.get_or_insert_with(|| make(given))
    }
}

fn make(given: &Given) -> WasiCtx {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdout(given.stdout.clone())
        .stderr(given.stderr.clone())
        .wall_clock(CoarseWall)
        .monotonic_clock(CoarseMonotonic::starting(given.began));
    for (name, value) in given.access.env.iter() {
        wasi.env(name, value);
    }
    if let Some(arguments) = &given.command {
        let process = Process::new(arguments.value());
        wasi.args(&process.argv).stdin(process.stdin);
    }
    let mut wasi = wasi.build();
    given.access.folders.give(&mut wasi);
    wasi
}
