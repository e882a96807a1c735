//! Events as they happen, server-sent: a client that comes back goes on where it was.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::Response;
use axum::routing::get;
use futures_util::stream::unfold;

use super::{WATCHERS, route};
use crate::config::Role;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::{RequestPlace, Route};
use crate::frontends::http::connection::ConnectionPlace;
use crate::frontends::http::hub::Stream;
use crate::frontends::http::problem::Problem;
use crate::frontends::http::tokens::{STREAMS_OF_ONE, Speaker};

/// A comment goes out where nothing else did for so long, so that both ends see whether the other is
/// still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> [Route; 1] {
    [route(Method::GET, "/v1/events", WATCHERS, get(watch))]
}

async fn watch(
    State(shared): State<Arc<Shared>>,
    Extension(speaker): Extension<Arc<Speaker>>,
    Extension(place): Extension<RequestPlace>,
    connection: Option<Extension<ConnectionPlace>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let caller = match speaker.is_any(&[Role::Operator]) {
        true => None,
        false => speaker.calls_for()?.context().caller.as_deref(),
    };
    let after = last_seen(&headers)?;
    let own = Arc::clone(&speaker.streams).try_acquire_owned().map_err(|_full| {
        Problem::too_many(format!("{STREAMS_OF_ONE} streams of events of this token are open"))
    })?;
    let stream = shared.hub.watch(caller, after)?;
    // From here on request and connection have their place among the streams.
    place.give_back();
    if let Some(Extension(connection)) = connection {
        connection.give_back();
    }
    let begun = ((stream, own), shared, true);
    let pieces = unfold(begun, |((mut stream, own), shared, is_first)| async move {
        let piece = next(&mut stream, &shared, is_first).await?;
        Some((Ok::<_, Infallible>(piece), ((stream, own), shared, false)))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(response)
}

/// The number of the last event that the client saw.
fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(said) = headers.get("last-event-id").filter(|it| !it.is_empty()) else {
        return Ok(None);
    };
    let number = said.to_str().ok().and_then(|it| it.parse().ok());
    let wrong = || Problem::bad_request("`Last-Event-ID` is not the number of an event");
    number.map(Some).ok_or_else(wrong)
}

async fn next(stream: &mut Stream, shared: &Shared, is_first: bool) -> Option<Bytes> {
    if is_first {
        // So that the client has the head at once.
        return Some(Bytes::from_static(b": belljar\n\n"));
    }
    loop {
        let piece = stream.watcher.piece(shared.hub.redactor());
        if !piece.is_empty() {
            return Some(Bytes::from(piece));
        }
        tokio::select! {
            biased;
            () = stream.closing.cancelled() => return None,
            () = stream.watcher.changed() => {}
            () = tokio::time::sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b":\n\n")),
        }
    }
}
