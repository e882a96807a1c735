//! The description of the API (OpenAPI 3.1): fragments that lie beside the routes, and what all of
//! them share.
//!
//! A test holds it against the routes. What each role may do is the routes' to say.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::HttpError;
use super::admit::{Needs, word};
use super::routes;

/// What the routes answer, by group.
const FRAGMENTS: [&str; 5] = [
    include_str!("openapi/calls.json"),
    include_str!("openapi/approvals.json"),
    include_str!("openapi/events.json"),
    include_str!("openapi/tools.json"),
    include_str!("openapi/schemas.json"),
];

/// What any of them can answer.
const ALL: [(u16, &str); 3] = [
    (400, "The request is wrong, in a way that `detail` says."),
    (403, "The header `Host` or `Origin` is not one of this server's, or the token lacks a role."),
    (500, "The host failed."),
];
/// What those can answer that need a token, or have one: any request can be the first on one
/// connection too many.
const WITH_TOKEN: [(u16, &str); 2] = [
    (401, "There is no token, or it is none that is known here."),
    (429, "Too much at once, by a bound that `detail` names."),
];
/// What those can answer that read a body.
const WITH_BODY: [(u16, &str); 4] = [
    (408, "The body didn't arrive in time."),
    (413, "The body is too long."),
    (415, "The body is not `application/json`."),
    (503, "The bodies of other requests take all the room that there is for them."),
];

/// The document.
pub(super) fn description() -> Result<Bytes, HttpError> {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for fragment in FRAGMENTS {
        let read: Value = serde_json::from_str(fragment)?;
        for (part, into) in [("paths", &mut paths), ("schemas", &mut schemas)] {
            into.extend(read.get(part).and_then(Value::as_object).cloned().unwrap_or_default());
        }
    }
    for route in routes::all() {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = paths.get_mut(route.path).and_then(|path| path.get_mut(&method));
        if let Some(operation) = operation.and_then(Value::as_object_mut) {
            complete(operation, route.needs);
        }
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Belljar",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs tools of AI agents, each call in a sandbox of its own.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    });
    Ok(Bytes::from(serde_json::to_vec(&document)?))
}

/// Adds what isn't the operation's own.
fn complete(operation: &mut Map<String, Value>, needs: Needs) {
    let takes_body = operation.contains_key("requestBody");
    let with_body = if takes_body { WITH_BODY.as_slice() } else { &[] };
    let answers = ALL.iter().chain(&WITH_TOKEN).chain(with_body);
    let mut responses = Map::new();
    for (status, words) in answers {
        responses.insert(status.to_string(), problem(words));
    }
    let own = operation.remove("responses");
    for (status, response) in own.as_ref().and_then(Value::as_object).into_iter().flatten() {
        // A string is the words of a problem.
        let response = response.as_str().map_or_else(|| response.clone(), problem);
        responses.insert(status.clone(), response);
    }
    operation.insert("responses".into(), responses.into());
    let (security, roles) = match needs {
        Needs::Nothing => {
            (json!([{}, {"token": []}]), "A client on this machine needs no token.".into())
        }
        Needs::Any(roles) => {
            let roles: Vec<_> = roles.iter().map(|role| format!("`{}`", word(*role))).collect();
            (json!([{"token": []}]), format!("Needs the role {}.", roles.join(" or ")))
        }
    };
    operation.insert("security".into(), security);
    let words = operation.get("description").and_then(Value::as_str).unwrap_or_default();
    operation.insert("description".into(), format!("{words} {roles}").trim().into());
}

fn problem(words: &str) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    json!({
        "description": words,
        "content": {"application/problem+json": {"schema": schema}},
    })
}

#[cfg(test)]
mod tests;
