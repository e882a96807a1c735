//! One HTTP POST by WASI.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, Method, OutgoingRequest, Scheme};

/// Sends an empty POST and says the status of the answer.
pub(crate) fn post(authority: &str, path: &str) -> Result<String, String> {
    let request = OutgoingRequest::new(Fields::new());
    let set = request
        .set_method(&Method::Post)
        .and_then(|()| request.set_scheme(Some(&Scheme::Http)))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some(path)));
    set.map_err(|()| format!("`{authority}` and `{path}` make no request"))?;
    let sent = outgoing_handler::handle(request, None).map_err(|code| code.to_string())?;
    sent.subscribe().block();
    match sent.get() {
        Some(Ok(Ok(answer))) => Ok(format!("answered with status {}", answer.status())),
        Some(Ok(Err(code))) => Err(code.to_string()),
        Some(Err(())) | None => Err("the answer was taken already".to_owned()),
    }
}
