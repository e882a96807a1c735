//! What calls left beside their text, as bytes.
//!
//! The media type is a tool's claim, so that nothing here may be shown by a browser as a page.

use std::sync::Arc;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use axum::routing::get;

use super::{CALLERS, route};
use crate::contract::ids::CallId;
use crate::contract::normalise::result_uri;
use crate::frontends::access::Access;
use crate::frontends::http::Shared;
use crate::frontends::http::admit::Route;
use crate::frontends::http::body::Named;
use crate::frontends::http::problem::Problem;

const UNKNOWN_TYPE: HeaderValue = HeaderValue::from_static("application/octet-stream");

pub(super) fn routes() -> [Route; 1] {
    [route(Method::GET, "/v1/results/{call}/{number}", CALLERS, get(show))]
}

async fn show(
    State(shared): State<Arc<Shared>>,
    Extension(access): Extension<Arc<Access>>,
    Named((call, number)): Named<(String, usize)>,
) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("no call of this caller left that, or it is gone by now");
    let call: CallId = call.parse().map_err(|_not_an_id| nothing())?;
    let uri = result_uri(&call, number);
    let found = shared.host.attachment(access.context(), &uri).ok_or_else(nothing)?;
    let claimed = found.mime_type.as_deref().and_then(|it| HeaderValue::from_str(it).ok());
    let mut response = Response::new(Body::from(Bytes::from_owner(Held(found))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, claimed.unwrap_or(UNKNOWN_TYPE));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers
        .insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    Ok(response)
}

/// The bytes as they are kept, without a copy.
struct Held(Arc<crate::contract::result::Attachment>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}
