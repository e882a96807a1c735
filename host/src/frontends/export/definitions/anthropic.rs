//! Anthropic's definitions.
//!
//! Facts: the Python package `anthropic` 2.14 (`ToolParam`, and `lib/_parse/_transform.py` for what
//! strict takes), and Anthropic's guide to structured outputs for the bounds of a request.

use serde_json::{Map, Value};

use super::super::schema::{Optional, Strictness, Subset, Tally, Treatment};
use super::Definition;

/// Formats of strings that strict knows.
const FORMATS: &[&str] =
    &["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"];
const STRICT_TOOLS_MAX: usize = 20;
const OPTIONAL_MAX: usize = 24;
const UNIONS_MAX: usize = 16;

/// Any schema, for a tool that isn't strict.
pub(super) const OPEN: Subset = Subset {
    keyword: |_, _| Treatment::Keep,
    plain: false,
    constants: true,
    plain_names: true,
    strictness: None,
};

/// What strict takes.
pub(super) const STRICT: Subset = Subset {
    keyword: strict_keyword,
    plain: true,
    constants: true,
    plain_names: true,
    strictness: Some(Strictness { optional: Optional::Absent, recursion: false }),
};

fn strict_keyword(keyword: &str, value: &Value) -> Treatment {
    let is_simple = |it: &Value| !it.is_object() && !it.is_array();
    let keeps = match keyword {
        "title" => true,
        "enum" => value.as_array().is_some_and(|values| values.iter().all(is_simple)),
        "const" => is_simple(value),
        "format" => value.as_str().is_some_and(|it| FORMATS.contains(&it)),
        "minItems" => value.as_u64().is_some_and(|it| it <= 1),
        _ => false,
    };
    if keeps { Treatment::Keep } else { Treatment::Note }
}

/// What the strict tools of one request hold together.
#[derive(Debug, Default)]
pub(super) struct Room {
    tools: usize,
    optional: usize,
    unions: usize,
}

impl Room {
    /// Takes room for one more, or says what it has no room for and takes none.
    pub(super) fn take(&mut self, tally: &Tally) -> Result<(), String> {
        let all = Self {
            tools: self.tools + 1,
            optional: self.optional + tally.optional,
            unions: self.unions + tally.unions,
        };
        for (what, is, most) in [
            ("strict tools", all.tools, STRICT_TOOLS_MAX),
            ("optional names", all.optional, OPTIONAL_MAX),
            ("unions", all.unions, UNIONS_MAX),
        ] {
            if is > most {
                return Err(format!(
                    "would make {is} {what} in the request with those before it, and Anthropic \
                     takes {most}; export fewer tools to have it strict"
                ));
            }
        }
        *self = all;
        Ok(())
    }
}

/// A definition for Messages.
pub(super) fn define(tool: &Definition<'_>) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), tool.name.into());
    out.insert("description".to_owned(), tool.description.into());
    out.insert("input_schema".to_owned(), tool.schema.clone());
    if tool.strict {
        out.insert("strict".to_owned(), true.into());
    }
    Value::Object(out)
}
