//! Why a request isn't answered as it was asked: one problem document (RFC 9457) for all of them.
//!
//! Says nothing of this machine: no path, no type of ours.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use crate::contract::arguments::ArgumentsError;
use crate::contract::escape::clipped_line;
use crate::gate::approval::ApprovalError;
use crate::storage::StorageError;

/// The media type of such a document.
pub(super) const PROBLEM_JSON: &str = "application/problem+json";
/// Longest sentence in one, in bytes; texts of requests are repeated in it.
const DETAIL_MAX_LEN: usize = 600;

/// One such answer.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    more: Map<String, Value>,
}

impl Problem {
    /// `detail` is one sentence; what would act or hide in it is shown by its number.
    pub(super) fn new(status: StatusCode, detail: impl AsRef<str>) -> Self {
        let detail = clipped_line(detail.as_ref(), DETAIL_MAX_LEN);
        Self { status, detail, more: Map::new() }
    }

    pub(super) fn bad_request(detail: impl AsRef<str>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn forbidden(detail: impl AsRef<str>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub(super) fn not_found(detail: impl AsRef<str>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn too_many(detail: impl AsRef<str>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail)
    }

    pub(super) fn unavailable(detail: impl AsRef<str>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// For what is nobody's fault who asks.
    pub(super) fn fault() -> Self {
        let detail = "the host failed at this request; its log says more";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// The same with a member of its own.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    /// The document itself.
    pub(super) fn document(self) -> Value {
        let mut members = Map::new();
        members.insert("type".into(), "about:blank".into());
        let title = self.status.canonical_reason().unwrap_or("Error");
        members.insert("title".into(), title.into());
        members.insert("status".into(), self.status.as_u16().into());
        members.insert("detail".into(), self.detail.into());
        members.extend(self.more);
        Value::Object(members)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, self.document().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let is_for_now =
            matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if is_for_now {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// What is wrong with a text that should be one JSON value.
pub(super) fn unreadable(error: &ArgumentsError) -> Problem {
    Problem::bad_request(match error {
        ArgumentsError::TooDeep { path, position, max_depth } => format!(
            "the body is nested too deep at {position}, at `{path}`: expected at most {max_depth} \
             levels"
        ),
        ArgumentsError::Truncated(position) => {
            format!("the body stops at {position}: expected the rest of the JSON object")
        }
        ArgumentsError::Trailing(position) => {
            format!("the body goes on after its end, at {position}: expected one JSON object")
        }
        ArgumentsError::DuplicateKey { path, position } => {
            format!("the body names `{path}` twice, again at {position}: expected each key once")
        }
        ArgumentsError::Syntax { reason, position, .. } => {
            format!("the body is not JSON: {reason} at {position}")
        }
        other => format!("the body can't be read: {other}"),
    })
}

impl From<StorageError> for Problem {
    fn from(error: StorageError) -> Self {
        let status = match error {
            StorageError::NotFound(_) => StatusCode::NOT_FOUND,
            StorageError::AlreadyDecided { .. }
            | StorageError::Used(_)
            | StorageError::Expired(_)
            | StorageError::Withdrawn { .. } => StatusCode::CONFLICT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.without_path())
    }
}

impl From<ApprovalError> for Problem {
    fn from(error: ApprovalError) -> Self {
        let status = match error {
            ApprovalError::Storage(error) => return error.into(),
            ApprovalError::SelfApproval(_) => StatusCode::FORBIDDEN,
            ApprovalError::NoRandom(_) | ApprovalError::Unrecorded(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Self::new(status, error.without_path())
    }
}
