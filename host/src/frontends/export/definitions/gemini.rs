//! Gemini's definitions, by `parametersJsonSchema`.
//!
//! Facts: the Python package `google-genai` 3.6 (`FunctionDeclaration`), and the keywords that
//! Gemini's reference lists for a JSON Schema. It has no strict definitions: a request's mode
//! `VALIDATED` is the like of it, so both ways of exporting give the same.

use serde_json::{Value, json};

use super::super::schema::{Subset, Treatment};
use super::Definition;

/// The keywords that Gemini lists.
pub(super) const LISTED: Subset =
    Subset { keyword, plain: true, constants: false, plain_names: true, strictness: None };

/// What the program must say in its request, where strict was asked for.
pub(super) const STRICT_NOTE: &str = "Gemini has no strict definitions; set the mode `VALIDATED` in the request's \
     `toolConfig.functionCallingConfig`";

fn keyword(keyword: &str, value: &Value) -> Treatment {
    let is_simple = |it: &Value| it.is_string() || it.is_number() || it.is_null();
    let keeps = match keyword {
        "title" | "format" | "minItems" | "maxItems" | "minimum" | "maximum" => true,
        "enum" => value.as_array().is_some_and(|values| values.iter().all(is_simple)),
        _ => false,
    };
    if keeps { Treatment::Keep } else { Treatment::Note }
}

/// One function's declaration.
pub(super) fn define(tool: &Definition<'_>) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": tool.schema,
    })
}

/// The one tool that holds all declarations; none where there are none.
pub(super) fn wrapped(declarations: &[Value]) -> Value {
    if declarations.is_empty() {
        return json!([]);
    }
    json!([{ "functionDeclarations": declarations }])
}
