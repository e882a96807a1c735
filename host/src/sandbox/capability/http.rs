//! `wasi:http`: linked for every plugin, and every request denied.
//!
//! No request leaves this host until http grants exist; the send has no code path to a socket.

use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::{RequestOptions, WasiBody, WasiHttpHooks};

use super::denied::Denials;

type Sent =
    Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

/// Denies each request and notes where it was going.
#[derive(Debug)]
pub(crate) struct DenyHttp {
    pub(crate) denials: Denials,
}

impl WasiHttpHooks for DenyHttp {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _body_sent: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let host = request.uri().host().unwrap_or("no host").to_owned();
        // Method and host only: a path or query may carry what the guest meant to leak.
        self.denials.note("http", &format!("to send {} to `{host}`", request.method()), None);
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}
