//! `/v1/client`: one WebSocket for each client that runs tools of its own.
//!
//! Only carries messages, and closes with a code and a reason what breaks the protocol. Who connects
//! was found out before: without an [`Access`] among the request's extensions nobody does.

mod carry;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, State, WebSocketUpgrade};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::carry::carry;
use super::admit::RequestPlace;
use crate::contract::client::CLIENT_PROTOCOL;
use crate::engine::ports::{ClientError, ClientGateway};
use crate::frontends::access::Access;

/// Bytes of one message: the 16 MiB that a result may have, as base64, and room beside it.
const MESSAGE_MAX: usize = 24 << 20;

/// How patient a connection is.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Until it has registered.
    register: Duration,
    /// Between pings of the host.
    ping: Duration,
    /// Until silence means that nobody is there.
    silence: Duration,
    /// For one message to leave.
    send: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            register: Duration::from_secs(10),
            ping: Duration::from_secs(30),
            silence: Duration::from_secs(75),
            send: Duration::from_secs(10),
        }
    }
}

#[derive(Clone)]
struct Door {
    gateway: Arc<dyn ClientGateway>,
    closing: CancellationToken,
    patience: Patience,
}

/// The route. Connections outlive their request, so `closing` ends them where the server ends.
pub fn routes(gateway: Arc<dyn ClientGateway>, closing: CancellationToken) -> Router {
    routes_with(gateway, closing, Patience::default())
}

fn routes_with(
    gateway: Arc<dyn ClientGateway>,
    closing: CancellationToken,
    patience: Patience,
) -> Router {
    let door = Door { gateway, closing, patience };
    Router::new().route("/v1/client", any(upgrade)).with_state(door)
}

async fn upgrade(
    State(door): State<Door>,
    access: Option<Extension<Arc<Access>>>,
    place: Option<Extension<RequestPlace>>,
    socket: WebSocketUpgrade,
) -> Response {
    let Some(Extension(access)) = access else {
        return problem(StatusCode::UNAUTHORIZED, "who connects isn't known");
    };
    let socket = socket
        .protocols([CLIENT_PROTOCOL])
        .max_message_size(MESSAGE_MAX)
        .max_frame_size(MESSAGE_MAX);
    if socket.selected_protocol().is_none() {
        let why = format!("expected the WebSocket subprotocol `{CLIENT_PROTOCOL}`");
        return problem(StatusCode::BAD_REQUEST, &why);
    }
    match door.gateway.connect(access.context()) {
        Ok(connected) => {
            socket.on_upgrade(async move |socket| {
                carry(socket, connected, door.closing, door.patience).await;
                // The request isn't through before its connection is.
                drop(place);
            })
        }
        Err(error) => {
            let status = match error {
                ClientError::Nameless => StatusCode::FORBIDDEN,
                ClientError::TooManyOfCaller(_) => StatusCode::TOO_MANY_REQUESTS,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            };
            problem(status, &error.to_string())
        }
    }
}

/// RFC 9457.
fn problem(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({ "title": title, "status": status.as_u16(), "detail": detail });
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    (status, kind, body.to_string()).into_response()
}
