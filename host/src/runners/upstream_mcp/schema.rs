//! A server's schemas: bounded, made self-contained and compiled.
//!
//! Fetches nothing. What a schema says is the server's claim of what it takes; belljar only keeps a
//! call away from it that doesn't fit.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};

/// Most bytes of one schema as JSON.
const SCHEMA_MAX_LEN: usize = 256 << 10;
/// Levels of a schema.
const DEPTH_MAX: usize = 32;
/// Schemas in one schema, each counted as often as something refers to it: what checking a value
/// may cost.
const PARTS_MAX: u64 = 20_000;
/// Most bytes of one compiled pattern.
const PATTERN_COMPILED_BYTES: usize = 1 << 20;
/// Failures that are listed of one value.
const FAILURES_MAX: usize = 20;

/// Keywords whose value is a table of schemas.
const TABLES: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is data.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords that point elsewhere in ways that aren't followed here.
const UNFOLLOWED: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$anchor"];

/// A compiled schema.
pub(super) struct Schema(Validator);

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it can't be kept, in words that follow "its schema".
    pub(super) fn compile(schema: &Map<String, Value>) -> Result<Self, String> {
        let root = Value::Object(schema.clone());
        if root.to_string().len() > SCHEMA_MAX_LEN {
            return Err(format!("has more than {SCHEMA_MAX_LEN} bytes"));
        }
        let mut walk =
            Walk { root: &root, open: BTreeSet::new(), costs: BTreeMap::new(), cut: Vec::new() };
        if walk.schema(&root, "", 0)? > PARTS_MAX {
            return Err(format!(
                "has more than {PARTS_MAX} parts, those it refers to counted again"
            ));
        }
        let cut = walk.cut;
        let mut checked = root.clone();
        for pointer in cut {
            if let Some(Value::Object(part)) = checked.pointer_mut(&pointer) {
                part.remove("$ref");
            }
        }
        // The `regex` engine takes linear time; patterns that need another one don't compile.
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_COMPILED_BYTES)
            .dfa_size_limit(PATTERN_COMPILED_BYTES);
        jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(&checked)
            .map(Self)
            .map_err(|error| format!("can't be kept: {}", error.masked()))
    }

    /// What is wrong with a value, each with its path.
    pub(super) fn failures(&self, value: &Value) -> Vec<ArgumentFailure> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        let errors = self.0.iter_errors(value).take(FAILURES_MAX);
        let failure = |error: jsonschema::ValidationError<'_>| {
            ArgumentFailure::new(error.instance_path().to_string(), error.masked().to_string())
        };
        errors.map(failure).collect()
    }
}

impl ArgumentCheck for Schema {
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

/// Looks at every part of a schema once.
struct Walk<'a> {
    root: &'a Value,
    /// Schemas that are being looked at: one that is referred to from inside itself would be
    /// checked without end, or twice as often at each level.
    open: BTreeSet<String>,
    costs: BTreeMap<String, u64>,
    /// Where such references stand. Below them arguments go unchecked to the server.
    cut: Vec<String>,
}

impl Walk<'_> {
    /// How many schemas a part is.
    fn schema(&mut self, part: &Value, pointer: &str, depth: usize) -> Result<u64, String> {
        if let Some(cost) = self.costs.get(pointer) {
            return Ok(*cost);
        }
        if depth > DEPTH_MAX {
            return Err(format!("is nested more than {DEPTH_MAX} levels deep"));
        }
        let Value::Object(keywords) = part else { return Ok(1) };
        self.open.insert(pointer.to_owned());
        let mut cost = 1_u64;
        for (keyword, value) in keywords {
            cost = cost.saturating_add(self.keyword(keyword, value, pointer, depth)?);
        }
        self.open.remove(pointer);
        self.costs.insert(pointer.to_owned(), cost);
        Ok(cost)
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        pointer: &str,
        depth: usize,
    ) -> Result<u64, String> {
        let below = format!("{pointer}/{}", escaped(keyword));
        match (keyword, value) {
            ("$ref", Value::String(target)) => self.reference(target, pointer, depth),
            ("$id", Value::String(_)) if !pointer.is_empty() => {
                Err("holds another schema with a name of its own (`$id`)".to_owned())
            }
            (keyword, Value::String(_)) if UNFOLLOWED.contains(&keyword) => {
                Err(format!("uses `{keyword}`, which isn't followed"))
            }
            (keyword, _) if DATA.contains(&keyword) => Ok(0),
            (keyword, Value::Object(table)) if TABLES.contains(&keyword) => {
                let each = table.iter().map(|(name, value)| (escaped(name), value));
                self.each(each, &below, depth)
            }
            (_, Value::Array(items)) => {
                let each = items.iter().enumerate().map(|(at, value)| (at.to_string(), value));
                self.each(each, &below, depth)
            }
            (_, Value::Object(_)) => self.schema(value, &below, depth + 1),
            _ => Ok(0),
        }
    }

    fn each<'v>(
        &mut self,
        parts: impl Iterator<Item = (String, &'v Value)>,
        pointer: &str,
        depth: usize,
    ) -> Result<u64, String> {
        let mut cost = 0_u64;
        for (name, part) in parts {
            cost =
                cost.saturating_add(self.schema(part, &format!("{pointer}/{name}"), depth + 1)?);
        }
        Ok(cost)
    }

    fn reference(&mut self, target: &str, from: &str, depth: usize) -> Result<u64, String> {
        let local = target.strip_prefix('#').filter(|it| it.is_empty() || it.starts_with('/'));
        let Some(pointer) = local.filter(|it| !it.contains('%')) else {
            return Err("refers to what isn't in it, and nothing is fetched".to_owned());
        };
        if self.open.contains(pointer) {
            self.cut.push(from.to_owned());
            return Ok(0);
        }
        let root = self.root;
        let Some(part) = root.pointer(pointer) else {
            return Err("refers to a part that it hasn't".to_owned());
        };
        self.schema(part, pointer, depth + 1)
    }
}

/// A name in a JSON pointer (RFC 6901, section 3).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
