//! Counts what providers bound. Judges nothing.

use serde_json::Value;

/// What a rewritten schema holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Tally {
    /// Names of all objects.
    pub(in super::super) properties: usize,
    /// Of these, names that may be left out.
    pub(in super::super) optional: usize,
    /// Schemas that are a union: `anyOf`, or more than one type.
    pub(in super::super) unions: usize,
    /// Values of all enums.
    pub(in super::super) enum_values: usize,
    /// Bytes of names, definitions' names, enum values and constants.
    pub(in super::super) bytes: usize,
    /// Objects and arrays inside each other.
    pub(in super::super) depth: usize,
}

impl Tally {
    /// Counts one schema, whose size has been checked.
    pub(in super::super) fn of(schema: &Value) -> Self {
        let mut tally = Self::default();
        tally.schema(schema, 0);
        tally
    }

    fn schema(&mut self, schema: &Value, depth: usize) {
        let Some(object) = schema.as_object() else { return };
        let holds = |key: &str| object.contains_key(key);
        let depth = depth + usize::from(holds("properties") || holds("items"));
        self.depth = self.depth.max(depth);
        let types = object.get("type").and_then(Value::as_array).map_or(0, Vec::len);
        self.unions += usize::from(types > 1 || holds("anyOf"));
        let required = object.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        for (key, value) in object {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    self.properties += properties.len();
                    self.optional += properties.len().saturating_sub(required);
                    self.named(properties, depth);
                }
                ("$defs" | "definitions", Value::Object(named)) => self.named(named, 0),
                ("anyOf", Value::Array(cases)) => {
                    cases.iter().for_each(|case| self.schema(case, depth));
                }
                ("items", items) => self.schema(items, depth),
                ("enum", Value::Array(values)) => {
                    self.enum_values += values.len();
                    self.bytes += values.iter().map(length).sum::<usize>();
                }
                ("const", value) => self.bytes += length(value),
                _ => {}
            }
        }
    }

    fn named(&mut self, schemas: &serde_json::Map<String, Value>, depth: usize) {
        for (name, schema) in schemas {
            self.bytes += name.len();
            self.schema(schema, depth);
        }
    }
}

fn length(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.to_string().len(), str::len)
}
