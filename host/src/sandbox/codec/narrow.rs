//! What an author's `@schema` adds to one parameter or field: keywords that narrow its type.
//!
//! A keyword applies to the outermost type below the field that it fits, through options and lists:
//! `minItems` of a `list<string>` to the list, `maxLength` to each string. One that fits nowhere, or
//! can't be kept, is reported and left out. Must not widen a type, fetch anything, or backtrack.

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Number, Value};

use super::check::Checker;
use super::limits::{FAILURES, PATTERN_BYTES, PATTERN_COMPILED_BYTES};
use super::shape::Shape;

/// Narrowing keywords of one field, compiled.
pub(super) struct Narrow {
    /// The keywords as a schema of their own, lists as `items`.
    keywords: Map<String, Value>,
    /// `default` and `examples`, which bind nobody.
    annotations: Map<String, Value>,
    validator: Option<Validator>,
}

impl PartialEq for Narrow {
    fn eq(&self, other: &Self) -> bool {
        self.keywords == other.keywords && self.annotations == other.annotations
    }
}

impl fmt::Debug for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keywords, annotations, validator: _ } = self;
        write!(f, "Narrow({keywords:?}, {annotations:?})")
    }
}

impl Narrow {
    /// Fits keywords to a type; also says what was left out and why.
    pub(super) fn new(shape: &Shape, claims: &Map<String, Value>) -> (Option<Self>, Vec<String>) {
        let (mut keywords, mut findings) = (Map::new(), Vec::new());
        for (keyword, value) in claims.iter().filter(|(keyword, _)| !is_annotation(keyword)) {
            match levels(shape, keyword) {
                Some(_) if !is_well_formed(keyword, value) => {
                    findings.push(format!("`{keyword}` has a value that it can't have"));
                }
                Some(levels) => put(&mut keywords, levels, keyword, value),
                None => findings.push(format!("`{keyword}` doesn't fit the type")),
            }
        }
        let validator = compile(&keywords).unwrap_or_else(|reason| {
            findings.push(format!("the schema can't be kept: {reason}"));
            keywords.clear();
            None
        });
        let mut narrow = Self { keywords, annotations: Map::new(), validator };
        narrow.annotate(shape, claims, &mut findings);
        let says_nothing = narrow.keywords.is_empty() && narrow.annotations.is_empty();
        ((!says_nothing).then_some(narrow), findings)
    }

    fn annotate(&mut self, shape: &Shape, claims: &Map<String, Value>, findings: &mut Vec<String>) {
        for (keyword, value) in claims.iter().filter(|(keyword, _)| is_annotation(keyword)) {
            let values = match (keyword.as_str(), value) {
                ("default", value) => vec![value.clone()],
                (_, Value::Array(values)) => values.clone(),
                _ => Vec::new(),
            };
            let checked: Option<Vec<Value>> = values
                .into_iter()
                .map(|value| Checker::check_alone(shape, value).filter(|it| self.allows(it)))
                .collect();
            match checked {
                Some(mut values) if keyword == "default" => {
                    self.annotations.extend(values.pop().map(|value| (keyword.clone(), value)));
                }
                Some(values) if !values.is_empty() => {
                    self.annotations.insert(keyword.clone(), Value::Array(values));
                }
                _ => findings.push(format!("`{keyword}` holds what would be refused")),
            }
        }
    }

    fn allows(&self, value: &Value) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_valid(value))
    }

    /// What the keywords refuse in a value that has the right type: the pointer below it, and why.
    pub(super) fn check(&self, value: &Value) -> Vec<(String, String)> {
        let Some(validator) = self.validator.as_ref().filter(|it| !it.is_valid(value)) else {
            return Vec::new();
        };
        let errors = validator.iter_errors(value).take(FAILURES + 1);
        errors
            .map(|error| (error.instance_path().to_string(), error.masked().to_string()))
            .collect()
    }

    /// Adds the keywords to a field's schema; bounds of the type that are tighter stay.
    pub(super) fn tighten(&self, schema: &mut Map<String, Value>) {
        merge(schema, &self.keywords);
        schema.extend(self.annotations.clone());
    }
}

fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "default" | "examples")
}

/// How many lists down the type is that `keyword` fits, if there is one.
fn levels(mut shape: &Shape, keyword: &str) -> Option<usize> {
    let mut levels = 0;
    loop {
        let fits = match shape {
            Shape::Int(_) | Shape::F32 | Shape::F64 => matches!(keyword, "minimum" | "maximum"),
            Shape::String => matches!(keyword, "minLength" | "maxLength" | "pattern" | "format"),
            Shape::List(_) | Shape::Flags(_) => matches!(keyword, "minItems" | "maxItems"),
            _ => false,
        };
        if fits {
            return Some(levels);
        }
        shape = match shape {
            // `{"some": …}` is not what the author had in mind.
            Shape::Option(inner) if !matches!(**inner, Shape::Option(_)) => inner,
            Shape::List(inner) => {
                levels += 1;
                inner
            }
            _ => return None,
        };
    }
}

fn is_well_formed(keyword: &str, value: &Value) -> bool {
    match keyword {
        "minimum" | "maximum" => value.is_number(),
        "pattern" => value.as_str().is_some_and(|text| text.len() <= PATTERN_BYTES),
        "format" => value.is_string(),
        _ => value.is_u64(),
    }
}

/// Puts a keyword into the schema of the elements, so many lists down.
fn put(schema: &mut Map<String, Value>, levels: usize, keyword: &str, value: &Value) {
    let Some(levels) = levels.checked_sub(1) else {
        schema.insert(keyword.to_owned(), value.clone());
        return;
    };
    let items = schema.entry("items").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(items) = items {
        put(items, levels, keyword, value);
    }
}

fn compile(keywords: &Map<String, Value>) -> Result<Option<Validator>, String> {
    if keywords.is_empty() {
        return Ok(None);
    }
    // The `regex` engine takes linear time; patterns that need another one don't compile.
    let patterns = PatternOptions::regex()
        .size_limit(PATTERN_COMPILED_BYTES)
        .dfa_size_limit(PATTERN_COMPILED_BYTES);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(patterns)
        .build(&Value::Object(keywords.clone()))
        .map(Some)
        .map_err(|error| error.masked().to_string())
}

fn merge(schema: &mut Map<String, Value>, keywords: &Map<String, Value>) {
    // A nullable type that isn't simple is `anyOf` it and null.
    let nullable = schema.get_mut("anyOf").and_then(|any| any.get_mut(0)).is_some();
    if nullable {
        let inner = schema.get_mut("anyOf").and_then(|any| any.get_mut(0));
        if let Some(Value::Object(inner)) = inner {
            merge(inner, keywords);
        }
        return;
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), schema.get_mut(keyword), value) {
            ("items", Some(Value::Object(items)), Value::Object(keywords)) => {
                merge(items, keywords);
            }
            ("minimum", Some(Value::Number(own)), Value::Number(claimed)) => {
                if exceeds(claimed, own) {
                    *own = claimed.clone();
                }
            }
            ("maximum", Some(Value::Number(own)), Value::Number(claimed)) => {
                if exceeds(own, claimed) {
                    *own = claimed.clone();
                }
            }
            _ => {
                schema.insert(keyword.clone(), value.clone());
            }
        }
    }
}

fn exceeds(left: &Number, right: &Number) -> bool {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left > right,
        _ => left.as_f64() > right.as_f64(),
    }
}
