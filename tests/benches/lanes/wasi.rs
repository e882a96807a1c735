//! The WASI context of the bare lanes: what the sandbox gives each call, without the sandbox.
//!
//! Denies nothing by itself and counts nothing: what a tool may use is the host's to say.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use wasmtime::StoreLimits;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

/// Bytes of a stream that are kept, and that may be written at once.
const KEPT: usize = 32 << 10;
const WRITE_PERMIT: usize = 64 << 10;
/// As the sandbox has it.
const HTTP_FIELDS_MAX: usize = 16 << 10;

/// The data of a bare store.
pub(crate) struct State {
    table: ResourceTable,
    /// Made when the guest first asks for it, as in the sandbox.
    wasi: Option<WasiCtx>,
    http: WasiHttpCtx,
    hooks: NoHttp,
    pub(crate) limits: StoreLimits,
}

impl State {
    /// Of one call.
    pub(crate) fn new() -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(4096);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HTTP_FIELDS_MAX);
        Self { table, wasi: None, http, hooks: NoHttp, limits: StoreLimits::default() }
    }
}

fn context() -> WasiCtx {
    WasiCtx::builder()
        .stdout(Printed::default())
        .stderr(Printed::default())
        .wall_clock(Coarse(Instant::now()))
        .monotonic_clock(Coarse(Instant::now()))
        .build()
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: self.wasi.get_or_insert_with(context), table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: &mut self.hooks }
    }
}

/// JavaScript's runtime imports http, and no lane sends anything.
struct NoHttp;

type Sent =
    Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for NoHttp {
    fn send_request(
        &mut self,
        _request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _body_sent: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}

/// Both clocks, to the millisecond.
struct Coarse(Instant);

impl HostWallClock for Coarse {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Duration::from_secs(since.as_secs()) + Duration::from_millis(since.subsec_millis().into())
    }
}

impl HostMonotonicClock for Coarse {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_mul(1_000_000)
    }
}

/// A stream that keeps the first bytes and never blocks.
#[derive(Debug, Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Printed {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Printed {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..room]);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_PERMIT)
    }
}
