//! The part of a schema that speaks of an object's names.
//!
//! Where a provider keeps the model to the schema, objects are closed, and a name that may be left
//! out must be one that the host takes in the form in which the provider leaves it out.

use serde_json::{Map, Value};

use super::nulls;
use super::rewrite::{Rewriter, quoted};
use super::subset::{Optional, Strictness};
use super::{Unfit, step};

/// Longest name that Anthropic and Gemini take for an argument.
const NAME_MAX_LEN: usize = 64;

impl Rewriter<'_> {
    /// Adds to `out` what `object` says of names; its `properties` are there already.
    pub(super) fn objects(
        &mut self,
        object: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), Unfit> {
        self.names(object)?;
        match &self.subset.strictness {
            Some(strictness) if is_object(object) => self.closed(strictness, object, out),
            _ => self.open(object, out),
        }
    }

    fn names(&self, object: &Map<String, Value>) -> Result<(), Unfit> {
        let Some(Value::Object(named)) = object.get("properties") else { return Ok(()) };
        let plain = |name: &String| {
            (1..=NAME_MAX_LEN).contains(&name.len())
                && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it))
        };
        match named.keys().find(|name| self.subset.plain_names && !plain(name)) {
            Some(name) => Err(Unfit {
                path: step(&step(&self.path, "properties"), name),
                why: format!(
                    "has a name that isn't 1 to {NAME_MAX_LEN} of letters, digits, `_`, `.` and `-`"
                ),
            }),
            None => Ok(()),
        }
    }

    fn open(
        &mut self,
        object: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), Unfit> {
        for keyword in ["required", "additionalProperties", "patternProperties"] {
            let Some(value) = object.get(keyword) else { continue };
            let written = match (keyword, value) {
                ("required", Value::Array(names)) if self.subset.plain => {
                    let known = |it: &&Value| has(out, it.as_str().unwrap_or_default());
                    let kept: Vec<Value> = names.iter().filter(known).cloned().collect();
                    if kept.len() < names.len() {
                        self.change("`required` names what isn't described, which is left out");
                    }
                    Value::Array(kept)
                }
                ("required", Value::Array(_)) => value.clone(),
                ("required", _) => return Err(self.unfit("has a `required` that is no list")),
                ("additionalProperties", Value::Bool(_)) => value.clone(),
                ("additionalProperties", _) => self.within(keyword, |this| this.schema(value))?,
                _ if self.subset.plain => {
                    self.change("`patternProperties` is left out");
                    continue;
                }
                _ => value.clone(),
            };
            out.insert(keyword.to_owned(), written);
        }
        Ok(())
    }

    fn closed(
        &mut self,
        strictness: &Strictness,
        object: &Map<String, Value>,
        out: &mut Map<String, Value>,
    ) -> Result<(), Unfit> {
        let others = object.get("additionalProperties");
        let has_names = matches!(out.get("properties"), Some(Value::Object(it)) if !it.is_empty());
        let may_be_empty = self.path.is_empty() || others == Some(&Value::Bool(false));
        if object.contains_key("patternProperties")
            || !matches!(others, None | Some(Value::Bool(_)))
            || !has_names && !may_be_empty
        {
            return Err(self.unfit("is an object with names of the model's choice"));
        }
        if others != Some(&Value::Bool(false)) {
            self.change("names that aren't described can't be given");
        }
        let required = object.get("required").and_then(Value::as_array);
        let required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
        let properties = object.get("properties").and_then(Value::as_object);
        let mut all = Vec::new();
        for (name, canonical) in properties.into_iter().flatten() {
            let needed = required(name);
            match strictness.optional {
                Optional::Null if !needed && !nulls::admits(self.root, canonical, 0) => {
                    let path = step(&step(&self.path, "properties"), name);
                    let why = "may be left out and takes no null, which strict would make of it";
                    return Err(Unfit { path, why: why.to_owned() });
                }
                Optional::Absent if !needed => {
                    if let Some(Value::Object(written)) = out.get_mut("properties")
                        && let Some(schema) = written.get_mut(name)
                    {
                        *schema = nulls::without(schema.take());
                    }
                    continue;
                }
                _ => all.push(Value::from(name.as_str())),
            }
        }
        out.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        out.insert("required".to_owned(), Value::Array(all));
        out.insert("additionalProperties".to_owned(), Value::Bool(false));
        self.unknown_required(object, out);
        Ok(())
    }

    fn unknown_required(&mut self, object: &Map<String, Value>, out: &Map<String, Value>) {
        let names = object.get("required").and_then(Value::as_array).into_iter().flatten();
        let unknown = names.filter_map(Value::as_str).filter(|name| !has(out, name));
        let unknown = quoted(unknown);
        if !unknown.is_empty() {
            self.change(format!("{unknown} is required and not described, so it is left out"));
        }
    }
}

fn has(out: &Map<String, Value>, name: &str) -> bool {
    out.get("properties").is_some_and(|it| it.get(name).is_some())
}

fn is_object(object: &Map<String, Value>) -> bool {
    let is_so = |it: &Value| it == "object";
    match object.get("type") {
        Some(Value::Array(many)) => many.iter().any(is_so),
        Some(one) => is_so(one),
        None => object.contains_key("properties"),
    }
}
