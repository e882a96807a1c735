//! Reads what a request says: its body, its query and the names in its path, each strictly.
//!
//! Repairs nothing: what isn't as described is refused in one sentence.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::Shared;
use super::problem::{Problem, unreadable};
use crate::contract::arguments::parse_value;
use crate::contract::unfit::unfit;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A body: one JSON object in which every member is known.
#[derive(Debug)]
pub(super) struct Strict<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Strict<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be `application/json`",
            ));
        }
        let max = shared.body_max;
        let whole = whole(request, max);
        let bytes = tokio::time::timeout(BODY_TIME, whole).await.map_err(|_late| {
            Problem::new(StatusCode::REQUEST_TIMEOUT, "the body didn't arrive within 30 s")
        })??;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            Problem::bad_request(format!("the body is not UTF-8 at byte {}", error.valid_up_to()))
        })?;
        let value = parse_value(text, usize::MAX).map_err(|error| unreadable(&error))?;
        // See `Object`; this way costs nothing.
        if !value.is_object() {
            return Err(Problem::bad_request("the body must be a JSON object"));
        }
        let read = serde_path_to_error::deserialize(value).map_err(|error| {
            let why = unfit(&error.path().to_string(), &error.inner().to_string());
            Problem::bad_request(format!("the body is not as described: {why}"))
        });
        Ok(Self(read?))
    }
}

/// A JSON object inside a body: serde alone would read the members from an array, too, by their
/// places.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// Takes an object and nothing else.
struct Members<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members))
    }
}

/// The body, of which no more is read than is accepted.
async fn whole(request: Request, max: usize) -> Result<Vec<u8>, Problem> {
    let too_long = || {
        let detail = format!("the body is longer than {max} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    let said = request.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    let said: usize = said.unwrap_or(0);
    if said > max {
        return Err(too_long());
    }
    let (mut bytes, mut pieces) =
        (Vec::with_capacity(said), request.into_body().into_data_stream());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_broken| Problem::bad_request("the body broke off"))?;
        if bytes.len() + piece.len() > max {
            return Err(too_long());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut said = headers.get_all(CONTENT_TYPE).iter();
    let one = said.next().filter(|_| said.next().is_none());
    let essence = one.and_then(|it| it.to_str().ok()).and_then(|it| it.split(';').next());
    essence.is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json"))
}

/// What stands behind the `?`.
#[derive(Debug)]
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Shared>> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Shared>) -> Result<Self, Problem> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        let Query(read) = read.map_err(|error| {
            use std::error::Error as _;
            let said = error.source().map(ToString::to_string).unwrap_or_default();
            // What is wrong with one parameter comes behind its name.
            let (name, said) = match said.split_once(": ") {
                Some((name, said)) if !name.contains(' ') => (name, said),
                _ => ("", said.as_str()),
            };
            let why = unfit(name, said);
            Problem::bad_request(format!("the query is not as described: {why}"))
        })?;
        Ok(Self(read))
    }
}

/// Names in the path.
#[derive(Debug)]
pub(super) struct Named<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Shared>> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<Shared>) -> Result<Self, Problem> {
        let read: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        // What can't be such a name names nothing.
        let nothing = |_rejected| Problem::not_found("there is nothing of that name here");
        read.map(|Path(read)| Self(read)).map_err(nothing)
    }
}

/// An optional member that may be absent and not null.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A JSON answer.
pub(super) fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(text) => (status, [(CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            tracing::error!("an answer has no JSON: {error}");
            Problem::fault().into_response()
        }
    }
}
