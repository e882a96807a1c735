//! From what an operator says to a connection that MCP is spoken over.
//!
//! Declares no capability, so that a server may ask for nothing; knows no tool.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationCreateRequestMethod, ErrorData, Implementation, ListRootsRequestMethod,
    ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RequestContext, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpError,
};
use rmcp::{ClientHandler, RoleClient};

use super::child;
use super::error::UpstreamError;
use super::lines::Lines;
use super::link::{Link, Watched};
use super::spec::{HttpSpec, UpstreamServer, Way};
use crate::contract::escape::clipped_line;
use crate::events::Redactor;

/// Longest word of a failure that is shown, in bytes.
const REASON_MAX_LEN: usize = 500;

/// Answers a server that asks: with no.
#[derive(Debug, Clone)]
pub(super) struct Refusing;

impl ClientHandler for Refusing {
    #[expect(deprecated, reason = "a server of the old era may still ask, and must be refused")]
    fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<rmcp::model::ListRootsResult, ErrorData>> + Send + '_ {
        std::future::ready(Err(ErrorData::method_not_found::<ListRootsRequestMethod>()))
    }

    fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ElicitResult, ErrorData>> + Send + '_ {
        std::future::ready(Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>()))
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("belljar", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }
}

/// What became of a message that couldn't be handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsent {
    /// It never reached the server.
    Certainly,
    /// It may have.
    Perhaps,
    /// It did, and the answer is longer than this many bytes.
    Overlong(usize),
    /// It did, and the answer is no message of the protocol.
    Unreadable,
}

/// Reads an error of one kind of transport.
pub(super) type Classify = fn(&(dyn Error + Send + Sync + 'static)) -> Unsent;

/// A server that can be spoken to.
pub(super) struct Connection {
    pub(super) running: RunningService<RoleClient, Refusing>,
    pub(super) link: Arc<Link>,
    pub(super) classify: Classify,
}

/// Words of a failure, without secrets, as one short line.
pub(super) fn words(error: &dyn std::fmt::Display, redactor: &Redactor) -> String {
    clipped_line(&redactor.text(&error.to_string()), REASON_MAX_LEN)
}

/// Connects, in either era of the protocol.
pub(super) async fn connect(
    server: &UpstreamServer,
    redactor: &Redactor,
) -> Result<Connection, UpstreamError> {
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    let link = Arc::new(Link::default());
    match &server.way {
        Err(why) => Err(UpstreamError::Unusable(why.clone())),
        Ok(Way::Child(spec)) => {
            let (process, streams) = child::start(&server.name, spec, redactor)?;
            let lines = Lines::new(process, streams, server.message_max(), Arc::clone(&link));
            let running = speak(lines, auto, &link).await;
            let running = running.map_err(|error| {
                // A child that ended says why better than the protocol does.
                let error = words(&error, redactor);
                UpstreamError::Handshake(match link.gone.is_cancelled() {
                    true => format!("{} ({error})", link.why()),
                    false => error,
                })
            })?;
            Ok(Connection { running, link, classify: |_| Unsent::Perhaps })
        }
        Ok(Way::Http(spec)) => {
            let config = http_config(server, spec)?;
            let transport = StreamableHttpClientTransport::from_config(config.clone());
            let classify = classify_of(&transport);
            let mut running = speak(transport, auto, &link).await;
            if running.is_err() {
                // Some servers of the old era answer the first question with a bare http error.
                let again = StreamableHttpClientTransport::from_config(config);
                running = speak(again, ClientLifecycleMode::Initialize, &link).await;
            }
            let running =
                running.map_err(|error| UpstreamError::Handshake(words(&error, redactor)))?;
            Ok(Connection { running, link, classify })
        }
    }
}

async fn speak<T: Transport<RoleClient> + 'static>(
    transport: T,
    how: ClientLifecycleMode,
    link: &Arc<Link>,
) -> Result<RunningService<RoleClient, Refusing>, ClientInitializeError> {
    let watched = Watched::new(transport, Arc::clone(link));
    serve_client_with_lifecycle(Refusing, watched, how).await
}

fn http_config(
    server: &UpstreamServer,
    spec: &HttpSpec,
) -> Result<StreamableHttpClientTransportConfig, UpstreamError> {
    let mut headers = HashMap::new();
    for (name, value) in &spec.headers {
        let wrong = |what| UpstreamError::Unusable(format!("the header `{name}` {what}"));
        let key: HeaderName = name.parse().map_err(|_error| wrong("has no possible name"))?;
        let mut value = HeaderValue::from_str(value.expose())
            .map_err(|_error| wrong("has a value that no header can have"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(spec.url.as_str());
    config.custom_headers = headers;
    config.max_concurrent_requests = server.concurrency.saturating_add(4);
    config.max_json_response_size = server.message_max();
    config.max_sse_event_size = server.message_max();
    Ok(config)
}

/// Reads errors of this client, whose own error type has no name here.
fn classify_of<C: StreamableHttpClient>(_: &StreamableHttpClientTransport<C>) -> Classify {
    |error| match error.downcast_ref::<StreamableHttpError<C::Error>>() {
        Some(StreamableHttpError::ResponseBodyTooLarge { max_size }) => Unsent::Overlong(*max_size),
        Some(StreamableHttpError::UnexpectedContentType(_)) => Unsent::Unreadable,
        // The same error with an http status is a server that may not have been reached at all.
        Some(StreamableHttpError::UnexpectedServerResponse(why)) if !why.starts_with("HTTP ") => {
            Unsent::Unreadable
        }
        // The client's own error is no source of the other's.
        Some(StreamableHttpError::Client(error)) if never_connected(error) => Unsent::Certainly,
        _ => Unsent::Perhaps,
    }
}

/// Whether the other side refused the connection, somewhere down the error's causes.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}
