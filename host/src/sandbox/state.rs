//! What one store carries: a small context for each capability, and nothing shared with another.
//!
//! A guest reaches the host through the doors here alone, and each notes that it was used.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::capability::denied::Denials;
use super::capability::http::DenyHttp;
use super::capability::speech::Speech;
use super::context::Context;
use super::limiter::Meter;
use super::store::Gathered;

/// The data of a store.
pub(crate) struct HostState {
    pub(super) table: ResourceTable,
    pub(super) context: Context,
    pub(super) http: WasiHttpCtx,
    pub(super) http_hooks: DenyHttp,
    pub(super) meter: Meter,
    pub(super) gathered: Arc<Gathered>,
    pub(super) speech: Speech,
    pub(super) random_max: u64,
    pub(super) missing_env: Arc<[String]>,
    /// Whether the guest has asked anything of the host.
    pub(super) asked: bool,
}

impl std::fmt::Debug for HostState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostState").field("meter", &self.meter).finish_non_exhaustive()
    }
}

impl HostState {
    /// The call is at its end: what it said is passed on and what it held open is closed, though
    /// the instance may be torn down later.
    pub(super) fn end(&mut self) {
        self.speech.end();
        self.table = ResourceTable::new();
    }

    /// The way to `belljar:tool`.
    pub(super) fn speech(&mut self) -> &mut Speech {
        self.asked = true;
        &mut self.speech
    }

    /// The way to what is denied wherever it is asked for.
    pub(super) fn denials_and_table(&mut self) -> (&Denials, &mut ResourceTable) {
        self.asked = true;
        (&self.gathered.denials, &mut self.table)
    }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.asked = true;
        WasiCtxView { ctx: self.context.get(), table: &mut self.table }
    }
}

impl WasiHttpView for HostState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.asked = true;
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.http_hooks }
    }
}
