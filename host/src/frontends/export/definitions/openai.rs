//! OpenAI's definitions, for Chat Completions and for Responses.
//!
//! Facts: the Python package `openai` 3.57 (`ChatCompletionFunctionToolParam`, `FunctionToolParam`)
//! and OpenAI's guide to structured outputs, from which the strict subset and its bounds are.

use serde_json::{Map, Value, json};

use super::super::schema::{Optional, Strictness, Subset, Tally, Treatment};
use super::Definition;

/// Longest description of a function, in characters: more is an error of the whole request.
pub(super) const DESCRIPTION_MAX_CHARS: usize = 1024;
/// Most tools in a request.
pub(super) const TOOLS_MAX: usize = 128;

const PROPERTIES_MAX: usize = 5_000;
const DEPTH_MAX: usize = 10;
const ENUM_VALUES_MAX: usize = 1_000;
const BYTES_MAX: usize = 120_000;
/// Formats of strings that strict knows.
const FORMATS: &[&str] =
    &["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"];

/// Any schema, for a tool that isn't strict.
pub(super) const OPEN: Subset = Subset {
    keyword: |_, _| Treatment::Keep,
    plain: false,
    constants: true,
    plain_names: false,
    strictness: None,
};

/// What strict takes.
pub(super) const STRICT: Subset = Subset {
    keyword: strict_keyword,
    plain: true,
    constants: true,
    plain_names: false,
    strictness: Some(Strictness { optional: Optional::Null, recursion: true }),
};

fn strict_keyword(keyword: &str, value: &Value) -> Treatment {
    match keyword {
        "title" | "enum" | "const" | "minItems" | "maxItems" | "minimum" | "maximum"
        | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Treatment::Keep,
        "format" if value.as_str().is_some_and(|it| FORMATS.contains(&it)) => Treatment::Keep,
        "pattern" if value.as_str().is_some_and(is_plain_pattern) => Treatment::Keep,
        _ => Treatment::Note,
    }
}

/// Whether every engine reads the pattern alike: no groups with a meaning, no classes by property,
/// no back references, no word boundaries.
fn is_plain_pattern(pattern: &str) -> bool {
    let odd = |pair: &[u8]| match pair {
        [b'(', b'?'] => true,
        [b'\\', next] => next.is_ascii_alphanumeric() && !b"dDsSwWnrt".contains(next),
        _ => false,
    };
    !pattern.replace(r"\\", "").as_bytes().windows(2).any(odd)
}

/// What strict bounds.
pub(super) fn fits(tally: &Tally) -> Result<(), String> {
    for (what, is, most) in [
        ("names", tally.properties, PROPERTIES_MAX),
        ("levels of objects and arrays", tally.depth, DEPTH_MAX),
        ("enum values", tally.enum_values, ENUM_VALUES_MAX),
        ("bytes of names and enum values", tally.bytes, BYTES_MAX),
    ] {
        if is > most {
            return Err(format!("has {is} {what}, and strict takes {most}"));
        }
    }
    Ok(())
}

/// A definition for Chat Completions.
pub(super) fn chat(tool: &Definition<'_>) -> Value {
    let mut function = Map::new();
    function.insert("name".to_owned(), tool.name.into());
    function.insert("description".to_owned(), tool.description.into());
    function.insert("parameters".to_owned(), tool.schema.clone());
    if tool.strict {
        function.insert("strict".to_owned(), true.into());
    }
    json!({"type": "function", "function": function})
}

/// A definition for Responses, where `strict` is on unless it is said not to be.
pub(super) fn responses(tool: &Definition<'_>) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": tool.strict,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_engines_read_differently_are_odd() {
        for plain in ["^[a-z]+$", r"\d{2}\.", "(a|b)", r"\\p"] {
            assert!(is_plain_pattern(plain), "{plain}");
        }
        for odd in ["(?=a)", r"\p{L}", r"(a)\1", r"\bword", "(?i)a"] {
            assert!(!is_plain_pattern(odd), "{odd}");
        }
    }
}
