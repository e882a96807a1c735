//! The tolerant way to vet a schema: what a model needn't take as it stands.
//!
//! References into the schema are followed, and cut where they lead in a circle. Fetches and
//! compiles nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{EXPANDED_MAX, SCHEMA_BYTES, Vetted, count, pattern_weight};

/// Levels of a schema.
const DEPTH_MAX: usize = 32;

/// Keywords whose value is a table of schemas.
const TABLES: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is data.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords that point elsewhere in ways that aren't followed here.
const UNFOLLOWED: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$anchor"];

/// Vets a schema; the reason where it can't be used, as a fragment.
pub(in crate::runners) fn vet_tolerantly(schema: &Map<String, Value>) -> Result<Vetted, String> {
    let root = Value::Object(schema.clone());
    let bytes = root.to_string().len();
    if bytes > SCHEMA_BYTES {
        return Err(format!("has {bytes} bytes; at most {SCHEMA_BYTES} are taken"));
    }
    let mut walk =
        Walk { root: &root, open: BTreeSet::new(), costs: BTreeMap::new(), cut: Vec::new() };
    let expanded = walk.schema(&root, "", 0)?;
    if expanded > EXPANDED_MAX {
        return Err(format!(
            "has {expanded} parts with its references followed; at most {EXPANDED_MAX} are taken"
        ));
    }
    let cut = walk.cut;
    let mut checked = root;
    for pointer in cut {
        if let Some(Value::Object(part)) = checked.pointer_mut(&pointer) {
            part.remove("$ref");
        }
    }
    match checked {
        Value::Object(schema) => Ok(Vetted { schema, expanded }),
        _ => Err("is no object".to_owned()),
    }
}

/// Looks at every part of a schema once.
struct Walk<'a> {
    root: &'a Value,
    /// Schemas that are being looked at: one that is referred to from inside itself would be
    /// checked without end, or twice as often at each level.
    open: BTreeSet<String>,
    costs: BTreeMap<String, usize>,
    /// Where such references stand. Below them arguments go unchecked to the server.
    cut: Vec<String>,
}

impl Walk<'_> {
    /// How many schemas a part is.
    fn schema(&mut self, part: &Value, pointer: &str, depth: usize) -> Result<usize, String> {
        if let Some(cost) = self.costs.get(pointer) {
            return Ok(*cost);
        }
        if depth > DEPTH_MAX {
            return Err(format!("is nested more than {DEPTH_MAX} levels deep"));
        }
        let Value::Object(keywords) = part else { return Ok(1) };
        self.open.insert(pointer.to_owned());
        let mut cost = 1_usize;
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
    ) -> Result<usize, String> {
        let below = format!("{pointer}/{}", escaped(keyword));
        match (keyword, value) {
            ("$ref", Value::String(target)) => self.reference(target, pointer, depth),
            ("$id", Value::String(_)) if !pointer.is_empty() => {
                Err("holds another schema with a name of its own (`$id`)".to_owned())
            }
            (keyword, Value::String(_)) if UNFOLLOWED.contains(&keyword) => {
                Err(format!("uses `{keyword}`, which isn't followed"))
            }
            ("pattern", Value::String(pattern)) => pattern_weight(pattern),
            (keyword, _) if DATA.contains(&keyword) => Ok(count(value, EXPANDED_MAX + 1)),
            (keyword, Value::Object(table)) if TABLES.contains(&keyword) => {
                let mut cost = 0_usize;
                if keyword == "patternProperties" {
                    for pattern in table.keys() {
                        cost += pattern_weight(pattern)?;
                    }
                }
                let each = table.iter().map(|(name, value)| (escaped(name), value));
                Ok(cost.saturating_add(self.each(each, &below, depth)?))
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
    ) -> Result<usize, String> {
        let mut cost = 0_usize;
        for (name, part) in parts {
            cost =
                cost.saturating_add(self.schema(part, &format!("{pointer}/{name}"), depth + 1)?);
        }
        Ok(cost)
    }

    fn reference(&mut self, target: &str, from: &str, depth: usize) -> Result<usize, String> {
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
