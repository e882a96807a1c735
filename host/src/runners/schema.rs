//! Schemas of tools from elsewhere: vetted, compiled, and held against arguments and answers.
//!
//! Knows neither clients nor MCP servers. Fetches nothing; patterns take linear time, and work has a bound whatever schema and value are.

mod strict;
#[cfg(feature = "mcp")]
mod tolerant;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::contract::arguments::{ArgumentCheck, ArgumentFailure, joined};

pub(super) use strict::vet;
#[cfg(feature = "mcp")]
pub(super) use tolerant::vet_tolerantly;

/// Bytes of one schema as compact JSON: more would fill a model's window.
const SCHEMA_BYTES: usize = 64 << 10;
/// Values of a schema, references followed (T45): each is looked at for every value of a call.
pub(super) const EXPANDED_MAX: usize = 4096;
/// What a pattern counts for among a schema's values: compiled it takes as much room as many.
const PATTERN_WEIGHT: usize = 128;
/// Bytes of one pattern.
const PATTERN_BYTES: usize = 1024;
/// Failures that are listed one by one.
const FAILURES: usize = 20;
/// Compiled bytes of one pattern.
const PATTERN_COMPILED_BYTES: usize = 256 << 10;
/// Values of a schema times values that are held against it: about a second's work at most.
const WORK_MAX: usize = 20_000_000;

/// A schema that may be compiled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Vetted {
    pub(super) schema: Map<String, Value>,
    /// Its values, references followed.
    pub(super) expanded: usize,
}

/// A schema that is ready to be held against values.
pub(super) struct SchemaCheck {
    validator: Validator,
    expanded: usize,
}

impl SchemaCheck {
    /// Compiles a schema; the reason where it is none, as a fragment.
    pub(super) fn new(vetted: &Vetted) -> Result<Self, String> {
        // The `regex` engine takes linear time; patterns that need another one don't compile.
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_COMPILED_BYTES)
            .dfa_size_limit(PATTERN_COMPILED_BYTES);
        let validator = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(patterns)
            .build(&Value::Object(vetted.schema.clone()))
            .map_err(|error| format!("is no schema: {}", error.masked()))?;
        Ok(Self { validator, expanded: vetted.expanded })
    }

    /// What is wrong with a value, each with its path.
    fn failures(&self, value: &Value) -> Vec<ArgumentFailure> {
        let values = count(value, WORK_MAX);
        if values.saturating_mul(self.expanded) > WORK_MAX {
            let why = format!("{values} values are too many for a schema of {}", self.expanded);
            return vec![ArgumentFailure::new("", why)];
        }
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let errors = self.validator.iter_errors(value).take(FAILURES + 1);
        errors
            .map(|error| {
                ArgumentFailure::new(error.instance_path().to_string(), error.masked().to_string())
            })
            .collect()
    }

    /// What keeps an answer from fitting, in one line.
    pub(super) fn misfit(&self, answer: &Value) -> Option<String> {
        let failures = self.failures(answer);
        (!failures.is_empty()).then(|| joined(&failures))
    }
}

impl ArgumentCheck for SchemaCheck {
    fn check(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        let arguments = Value::Object(arguments);
        let failures = self.failures(&arguments);
        match arguments {
            Value::Object(arguments) if failures.is_empty() => Ok(arguments),
            _ => Err(failures),
        }
    }
}

/// What a pattern adds to the values of its schema; the reason where it is too long.
fn pattern_weight(text: &str) -> Result<usize, String> {
    match text.len() {
        len if len > PATTERN_BYTES => {
            Err(format!("has a pattern of {len} bytes; at most {PATTERN_BYTES} are taken"))
        }
        _ => Ok(PATTERN_WEIGHT),
    }
}

/// Values inside each other, counted no further than `max`.
fn count(value: &Value, max: usize) -> usize {
    let mut counted = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        counted += 1;
        if counted >= max {
            break;
        }
        match value {
            Value::Array(all) => open.extend(all),
            Value::Object(all) => open.extend(all.values()),
            _ => {}
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: Value, arguments: Value) -> Result<Map<String, Value>, String> {
        let check = SchemaCheck::new(&vet(schema)?)?;
        let Value::Object(arguments) = arguments else { panic!("an object") };
        check.check(arguments).map_err(|failures| joined(&failures))
    }

    #[test]
    fn arguments_that_fit_pass_as_they_are_and_others_are_named_by_path() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}},
            "required": ["n"], "additionalProperties": false});
        assert_eq!(check(schema.clone(), json!({"n": 1})).unwrap()["n"], 1);
        let why = check(schema.clone(), json!({"n": "x"})).unwrap_err();
        assert!(why.starts_with("`/n`: "), "{why}");
        assert!(!why.contains('x'), "a value of the caller is not repeated: {why}");
        assert!(check(schema, json!({})).unwrap_err().contains("required"));
    }

    #[test]
    fn a_pattern_that_needs_backtracking_is_refused() {
        let schema = json!({"type": "object", "properties": {"p": {"pattern": "(a)\\1"}}});
        assert!(check(schema, json!({})).unwrap_err().contains("is no schema"));
    }

    #[test]
    fn t45_work_is_bounded_whatever_the_schema_and_the_value_are() {
        let all = vec![json!({"type": "integer"}); 1000];
        let schema = json!({"type": "object",
            "properties": {"l": {"items": {"allOf": all}}}});
        let few = json!({"l": vec![0; 100]});
        assert!(check(schema.clone(), few).is_ok());
        let many = json!({"l": vec![0; 100_000]});
        let why = check(schema, many).unwrap_err();
        assert!(why.contains("too many for a schema"), "{why}");
    }
}
