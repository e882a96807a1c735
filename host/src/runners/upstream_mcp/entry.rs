//! From one entry of a server's list to a tool, or what keeps it from being one.
//!
//! Looks at shapes alone, which the protocol sets; whether a tool can be offered is decided later.

use rmcp::model::Tool;
use serde::Deserialize as _;
use serde_json::Value;

use super::describe::Odd;

/// Says in a schema that an argument goes into a header of http as well (2026-07-28, SEP-2243).
const HEADER_KEY: &str = "\"x-mcp-header\":";

/// A member of an object: its name, how it is known, and what is said where it isn't that.
type Member = (&'static str, fn(&Value) -> bool, &'static str);

/// What a tool must have.
const NEEDED: &[Member] =
    &[("name", Value::is_string, "is no text"), ("inputSchema", Value::is_object, "is no object")];
/// What it may have.
const OPTIONAL: &[Member] = &[
    ("title", Value::is_string, "is no text"),
    ("description", Value::is_string, "is no text"),
    ("outputSchema", Value::is_object, "is no object"),
    ("annotations", Value::is_object, "is no object"),
    ("icons", Value::is_array, "is no list"),
    ("_meta", Value::is_object, "is no object"),
];
/// What its `annotations` may have.
const CLAIMS: &[Member] = &[
    ("title", Value::is_string, "is no text"),
    ("readOnlyHint", Value::is_boolean, "is neither true nor false"),
    ("destructiveHint", Value::is_boolean, "is neither true nor false"),
    ("idempotentHint", Value::is_boolean, "is neither true nor false"),
    ("openWorldHint", Value::is_boolean, "is neither true nor false"),
];

/// Reads an entry. `place`: where it stands in the whole list, from 1. `to_headers`: whether calls
/// have to repeat arguments in headers, which the transport knows how to do only for the tools of a
/// list that it could read itself.
pub(super) fn read(entry: &Value, place: usize, to_headers: bool) -> Result<Tool, Odd> {
    let left_out =
        |why: String| Odd { tool: named(entry, place), finding: format!("it is left out: {why}") };
    if let Some(flaw) = flaw(entry) {
        return Err(left_out(flaw));
    }
    if to_headers && entry.get("inputSchema").is_some_and(names_a_header) {
        let why = "it wants arguments in headers, and the list that it is in is malformed";
        return Err(left_out(why.to_owned()));
    }
    // The protocol's own type has the last word: it looks into icons too.
    Tool::deserialize(entry)
        .map_err(|_error| left_out("a part of it isn't as the protocol has it".to_owned()))
}

/// Its name, or else its place, in letters that no tool's name can have here.
fn named(entry: &Value, place: usize) -> String {
    match entry.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("#{place}"),
    }
}

/// What is wrong with it, as a fragment.
fn flaw(entry: &Value) -> Option<String> {
    if !entry.is_object() {
        return Some("it is no object".to_owned());
    }
    for (member, ..) in NEEDED {
        if entry.get(member).is_none() {
            return Some(format!("it has no `{member}`"));
        }
    }
    for (member, fits, wrong) in NEEDED {
        if entry.get(member).is_some_and(|it| !fits(it)) {
            return Some(format!("its `{member}` {wrong}"));
        }
    }
    let misfit = |of: &Value, (member, fits, _): &Member| {
        of.get(member).is_some_and(|it| !it.is_null() && !fits(it))
    };
    if let Some((member, _, wrong)) = OPTIONAL.iter().find(|it| misfit(entry, it)) {
        return Some(format!("its `{member}` {wrong}"));
    }
    let claims = entry.get("annotations")?;
    let (member, _, wrong) = CLAIMS.iter().find(|it| misfit(claims, it))?;
    Some(format!("its `annotations.{member}` {wrong}"))
}

/// Whether the key stands anywhere in it. As JSON, a text can't hold it: its quotes are escaped.
fn names_a_header(schema: &Value) -> bool {
    schema.to_string().contains(HEADER_KEY)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(entry: &Value) -> (String, String) {
        let odd = read(entry, 7, false).unwrap_err();
        let why = odd.finding.strip_prefix("it is left out: ").unwrap().to_owned();
        (odd.tool, why)
    }

    fn with(member: &str, value: Value) -> Value {
        let mut tool = json!({"name": "a", "inputSchema": {"type": "object"}});
        tool.as_object_mut().unwrap().insert(member.to_owned(), value);
        tool
    }

    #[test]
    fn t42_what_is_malformed_is_told_by_its_name_or_its_place_and_the_reason() {
        for (entry, tool, why) in [
            (json!({"name": "a"}), "a", "it has no `inputSchema`"),
            (with("inputSchema", json!([])), "a", "its `inputSchema` is no object"),
            (with("inputSchema", Value::Null), "a", "its `inputSchema` is no object"),
            (with("title", json!(5)), "a", "its `title` is no text"),
            (with("description", json!([])), "a", "its `description` is no text"),
            (with("outputSchema", json!(true)), "a", "its `outputSchema` is no object"),
            (with("annotations", json!("safe")), "a", "its `annotations` is no object"),
            (
                with("annotations", json!({"readOnlyHint": "yes"})),
                "a",
                "its `annotations.readOnlyHint` is neither true nor false",
            ),
            (with("annotations", json!({"title": 5})), "a", "its `annotations.title` is no text"),
            (with("icons", json!({})), "a", "its `icons` is no list"),
            (with("icons", json!([5])), "a", "a part of it isn't as the protocol has it"),
            (with("_meta", json!([])), "a", "its `_meta` is no object"),
            (with("name", json!(5)), "#7", "its `name` is no text"),
            (json!({"inputSchema": {}}), "#7", "it has no `name`"),
            (Value::Null, "#7", "it is no object"),
            (json!("a"), "#7", "it is no object"),
            // A reader of structures would take the parts by their places.
            (json!(["a", null, null, {}, null, null, null, null]), "#7", "it is no object"),
        ] {
            assert_eq!(told(&entry), (tool.to_owned(), why.to_owned()), "{entry}");
        }
    }

    #[test]
    fn what_is_absent_null_or_unknown_is_no_flaw() {
        for entry in [
            with("title", Value::Null),
            with("outputSchema", Value::Null),
            with("annotations", json!({"readOnlyHint": null, "else": 5})),
            with("icons", json!([{"src": "data:,"}])),
            with("execution", json!({"taskSupport": "optional"})),
        ] {
            assert_eq!(read(&entry, 1, true).unwrap().name, "a", "{entry}");
        }
    }

    #[test]
    fn a_tool_that_wants_headers_is_left_out_where_they_cannot_be_sent() {
        let schema = |words: Value| with("inputSchema", json!({"properties": {"b": words}}));
        let wants = schema(json!({"type": "string", "x-mcp-header": "B"}));
        assert!(read(&wants, 1, false).is_ok());
        let odd = read(&wants, 1, true).unwrap_err();
        assert!(odd.tool == "a" && odd.finding.contains("in headers"), "{odd:?}");
        let speaks_of_it = schema(json!({"description": "\"x-mcp-header\":"}));
        assert!(read(&speaks_of_it, 1, true).is_ok());
    }
}
