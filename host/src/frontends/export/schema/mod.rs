//! From a tool's canonical schema to one that a provider takes.
//!
//! Knows kinds of subsets, not providers. Follows no reference but to see that it leads somewhere
//! in the same schema, so that a schema costs what it is long.

mod bounds;
mod nulls;
mod objects;
mod refs;
mod rewrite;
mod subset;
mod tally;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(super) use rewrite::{Change, Rewritten};
pub(super) use subset::{Optional, Strictness, Subset, Treatment};
pub(super) use tally::Tally;

/// Why a schema can't be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit {
    /// Where, as a JSON pointer into the canonical schema.
    pub(super) path: String,
    /// What stands there, as the end of a sentence that begins with the schema.
    pub(super) why: String,
}

impl Unfit {
    fn root(why: impl Into<String>) -> Self {
        Self { path: String::new(), why: why.into() }
    }
}

/// Says `schema` in `subset`. `schema` itself stays as it is.
///
/// # Errors
/// What the subset can't say and no description makes up for, or a schema beyond the bounds.
pub(super) fn rewritten(schema: &Value, subset: &Subset) -> Result<Rewritten, Unfit> {
    bounds::hold(schema)?;
    root(schema)?;
    refs::hold(schema, subset)?;
    rewrite::rewrite(schema, subset)
}

/// Providers take a plain object at the root and refuse the request otherwise.
fn root(schema: &Value) -> Result<(), Unfit> {
    const COMBINING: &[&str] =
        &["$ref", "allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf", "then"];
    let object = schema.as_object().ok_or_else(|| Unfit::root("is no object"))?;
    if object.get("type").and_then(Value::as_str) != Some("object") {
        return Err(Unfit::root("doesn't say `\"type\": \"object\"` at its root"));
    }
    match COMBINING.iter().find(|keyword| object.contains_key(**keyword)) {
        Some(keyword) => Err(Unfit::root(format!("has `{keyword}` at its root"))),
        None => Ok(()),
    }
}

/// One step of a JSON pointer.
fn step(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
