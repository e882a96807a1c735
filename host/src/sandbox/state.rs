//! What one store carries: a small context for each capability, and nothing shared with another.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::capability::denied::Denials;
use super::capability::files::FileWatch;
use super::capability::http::DenyHttp;
use super::capability::speech::Speech;
use super::limiter::Meter;

/// The data of a store.
pub(crate) struct HostState {
    pub(super) table: ResourceTable,
    pub(super) wasi: WasiCtx,
    pub(super) http: WasiHttpCtx,
    pub(super) http_hooks: DenyHttp,
    pub(super) meter: Meter,
    pub(super) files: FileWatch,
    pub(super) denials: Denials,
    pub(super) speech: Speech,
    pub(super) random_max: u64,
    pub(super) missing_env: Arc<[String]>,
}

impl std::fmt::Debug for HostState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostState").field("meter", &self.meter).finish_non_exhaustive()
    }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for HostState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.http_hooks }
    }
}
