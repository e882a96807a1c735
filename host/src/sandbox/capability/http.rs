//! `wasi:http`: linked for every plugin, and every request denied.
//!
//! No request leaves this host until http grants exist; the send has no code path to a socket. What
//! a guest can build without sending is held by the host, so each part of it is bounded here.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::{
    HostOutgoingRequest, Method, OutgoingRequest, Scheme,
};
use wasmtime_wasi_http::{RequestOptions, WasiBody, WasiHttpHooks, WasiHttpView as _};

use super::denied::Denials;
use crate::sandbox::state::HostState;

/// The instance that wasmtime-wasi-http 48 defines. A hostile guest notices when it is another.
const TYPES: &str = "wasi:http/types@0.2.12";
/// Longest method and scheme, in bytes. The longest registered method has 17.
const WORD_MAX_LEN: usize = 64;
/// Longest authority, in bytes: a DNS name has at most 253, user information is refused anyway.
const AUTHORITY_MAX_LEN: usize = 512;
/// Longest path with query, in bytes: what RFC 9110 asks of everybody.
const PATH_MAX_LEN: usize = 8000;
/// Bytes of a body that are held before a request is sent. Attack: 4096 requests of 2 MiB each.
const BODY_CHUNK_LEN: usize = 4096;

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

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK_LEN
    }
}

type Answer = wasmtime::Result<(Result<(), ()>,)>;
type Request = Resource<OutgoingRequest>;

/// Puts bounds before the setters of a request: wasmtime-wasi-http keeps whatever is well-formed,
/// and a guest may hold thousands of requests.
///
/// # Errors
/// Where the interface isn't the one that is bounded here: a fault of this crate.
pub(crate) fn bound_requests(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        |mut store: StoreContextMut<'_, HostState>,
         (request, method): (Request, Method)|
         -> Answer {
            let long = matches!(&method, Method::Other(word) if word.len() > WORD_MAX_LEN);
            bounded(long, || store.data_mut().http().set_method(request, method))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-scheme",
        |mut store: StoreContextMut<'_, HostState>,
         (request, scheme): (Request, Option<Scheme>)|
         -> Answer {
            let long = matches!(&scheme, Some(Scheme::Other(word)) if word.len() > WORD_MAX_LEN);
            bounded(long, || store.data_mut().http().set_scheme(request, scheme))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        |mut store: StoreContextMut<'_, HostState>,
         (request, authority): (Request, Option<String>)|
         -> Answer {
            let long = authority.as_ref().is_some_and(|text| text.len() > AUTHORITY_MAX_LEN);
            bounded(long, || store.data_mut().http().set_authority(request, authority))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        |mut store: StoreContextMut<'_, HostState>,
         (request, path): (Request, Option<String>)|
         -> Answer {
            let long = path.as_ref().is_some_and(|text| text.len() > PATH_MAX_LEN);
            bounded(long, || store.data_mut().http().set_path_with_query(request, path))
        },
    )
}

/// A value that is too long is refused as one that is malformed.
fn bounded(long: bool, set: impl FnOnce() -> wasmtime::Result<Result<(), ()>>) -> Answer {
    if long { Ok((Err(()),)) } else { Ok((set()?,)) }
}
