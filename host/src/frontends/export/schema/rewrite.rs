//! Walks a schema once and writes it anew in a subset, noting every change.
//!
//! Whatever asserts something and can't stay moves into the description, so that the model is told;
//! the host still checks it. Objects are `objects`' part.

use serde_json::{Map, Value, json};

use super::subset::{Subset, Treatment};
use super::{Tally, Unfit, step};
use crate::contract::escape::cut;

/// Longest value that a description repeats, in bytes.
const NOTE_MAX_LEN: usize = 300;
/// Most that is added to one description, in bytes.
const NOTES_MAX_LEN: usize = 2_000;
/// What a schema may say of itself that says nothing of values.
const SAYS_NOTHING: &[&str] = &["$comment", "$id", "$schema", "$vocabulary"];
/// The types of JSON Schema.
const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// A change that loses something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Change {
    /// Where, as a JSON pointer into the canonical schema.
    pub(in super::super) path: String,
    /// What was changed.
    pub(in super::super) what: String,
}

/// A schema in a subset.
#[derive(Debug)]
pub(in super::super) struct Rewritten {
    /// The schema.
    pub(in super::super) schema: Value,
    /// What it doesn't say any more.
    pub(in super::super) changes: Vec<Change>,
    /// What it holds.
    pub(in super::super) tally: Tally,
}

/// Writes a schema, whose bounds and references have been checked.
pub(super) fn rewrite(schema: &Value, subset: &Subset) -> Result<Rewritten, Unfit> {
    let mut rewriter = Rewriter { subset, root: schema, path: String::new(), changes: Vec::new() };
    let schema = rewriter.schema(schema)?;
    let tally = Tally::of(&schema);
    Ok(Rewritten { schema, changes: rewriter.changes, tally })
}

pub(super) struct Rewriter<'a> {
    pub(super) subset: &'a Subset,
    /// Where references lead.
    pub(super) root: &'a Value,
    pub(super) path: String,
    changes: Vec<Change>,
}

/// What moves into the description of one schema.
type Notes = Vec<(String, String)>;

impl Rewriter<'_> {
    pub(super) fn unfit(&self, why: impl Into<String>) -> Unfit {
        Unfit { path: self.path.clone(), why: why.into() }
    }

    pub(super) fn change(&mut self, what: impl Into<String>) {
        self.changes.push(Change { path: self.path.clone(), what: what.into() });
    }

    pub(super) fn within<R>(&mut self, name: &str, walk: impl FnOnce(&mut Self) -> R) -> R {
        let outer = step(&self.path, name);
        let outer = std::mem::replace(&mut self.path, outer);
        let result = walk(self);
        self.path = outer;
        result
    }

    pub(super) fn schema(&mut self, schema: &Value) -> Result<Value, Unfit> {
        match schema {
            Value::Object(object) => match self.flattened(object) {
                Some(flat) => self.object(&flat),
                None => self.object(object),
            },
            Value::Bool(_) if !self.subset.plain => Ok(schema.clone()),
            Value::Bool(true) if self.subset.strictness.is_none() => Ok(json!({})),
            Value::Bool(true) => Err(self.unfit("takes any value")),
            Value::Bool(false) => Err(self.unfit("takes no value")),
            _ => Err(self.unfit("is no schema")),
        }
    }

    /// The schema without an `allOf` of one, where its parts don't speak of the same.
    fn flattened(&self, object: &Map<String, Value>) -> Option<Map<String, Value>> {
        let parts = object.get("allOf").filter(|_| self.subset.plain)?;
        let [Value::Object(part)] = parts.as_array()?.as_slice() else { return None };
        let mut flat = object.clone();
        flat.shift_remove("allOf");
        let clashes = |key: &String| key != "description" && flat.contains_key(key);
        if part.keys().any(clashes) || part.contains_key("$ref") && !flat.is_empty() {
            return None;
        }
        for (key, value) in part {
            flat.entry(key.as_str()).or_insert_with(|| value.clone());
        }
        Some(flat)
    }

    fn object(&mut self, object: &Map<String, Value>) -> Result<Value, Unfit> {
        if self.subset.plain
            && let Some(to) = object.get("$ref")
        {
            return Ok(self.reference(to, object));
        }
        let (mut out, mut notes) = (Map::new(), Notes::new());
        for (keyword, value) in object {
            if !SAYS_NOTHING.contains(&keyword.as_str()) {
                self.keyword(object, (keyword, value), &mut out, &mut notes)?;
            }
        }
        self.objects(object, &mut out)?;
        self.complete(&mut out)?;
        self.describe(&mut out, &notes);
        Ok(if self.subset.constants { Value::Object(out) } else { null_apart(out) })
    }

    /// A reference that stands alone.
    fn reference(&mut self, to: &Value, object: &Map<String, Value>) -> Value {
        let lost =
            object.keys().filter(|key| *key != "$ref" && !SAYS_NOTHING.contains(&key.as_str()));
        let lost = quoted(lost.map(String::as_str));
        if !lost.is_empty() {
            self.change(format!("{lost} can't stand beside `$ref` and is left out"));
        }
        json!({ "$ref": to })
    }

    fn keyword(
        &mut self,
        object: &Map<String, Value>,
        (keyword, value): (&str, &Value),
        out: &mut Map<String, Value>,
        notes: &mut Notes,
    ) -> Result<(), Unfit> {
        let plain = self.subset.plain;
        let written = match (keyword, value) {
            ("type", _) => self.types(value)?,
            ("description", Value::String(_)) => value.clone(),
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                self.named(keyword, named)?
            }
            // `objects` decides them, knowing all of the object.
            ("required" | "additionalProperties" | "patternProperties", _) => return Ok(()),
            ("unevaluatedProperties", Value::Bool(false)) if plain => return Ok(()),
            ("default", Value::Null) if plain => return Ok(()),
            ("items", Value::Array(_)) => {
                return Err(self.unfit("has a list of schemas as `items`"));
            }
            ("items", _) if plain && object.contains_key("prefixItems") => return Ok(()),
            ("items", _) => self.within("items", |this| this.schema(value))?,
            ("prefixItems", Value::Array(places)) if plain => {
                return self.tuple(object, places, out, notes);
            }
            ("prefixItems" | "anyOf", Value::Array(cases)) => self.list(keyword, cases)?,
            ("oneOf", Value::Array(cases)) if plain && !object.contains_key("anyOf") => {
                let cases = self.list(keyword, cases)?;
                self.change("`oneOf` became `anyOf`");
                out.insert("anyOf".to_owned(), cases);
                return Ok(());
            }
            ("oneOf" | "allOf", Value::Array(cases)) if !plain => self.list(keyword, cases)?,
            ("properties" | "$defs" | "definitions" | "prefixItems" | "anyOf" | "oneOf", _) => {
                return Err(self.unfit(format!("has a `{keyword}` that can't be said")));
            }
            ("allOf", _) if self.subset.strictness.is_some() => {
                return Err(self.unfit("has an `allOf` that isn't one schema"));
            }
            ("const", Value::String(_) | Value::Number(_)) if !self.subset.constants => {
                out.insert("enum".to_owned(), json!([value]));
                return Ok(());
            }
            _ if !plain || (self.subset.keyword)(keyword, value) == Treatment::Keep => {
                value.clone()
            }
            _ => {
                notes.push((keyword.to_owned(), value.to_string()));
                return Ok(());
            }
        };
        out.insert(keyword.to_owned(), written);
        Ok(())
    }

    fn types(&self, value: &Value) -> Result<Value, Unfit> {
        let known = |it: &Value| it.as_str().is_some_and(|name| TYPES.contains(&name));
        let fits = match value {
            Value::Array(many) => !many.is_empty() && many.iter().all(known),
            one => known(one),
        };
        if fits { Ok(value.clone()) } else { Err(self.unfit("has a `type` that is none")) }
    }

    fn named(&mut self, keyword: &str, named: &Map<String, Value>) -> Result<Value, Unfit> {
        self.within(keyword, |this| {
            let mut out = Map::new();
            for (name, schema) in named {
                let written = this.within(name, |this| this.schema(schema))?;
                out.insert(name.clone(), written);
            }
            Ok(Value::Object(out))
        })
    }

    fn list(&mut self, keyword: &str, cases: &[Value]) -> Result<Value, Unfit> {
        self.within(keyword, |this| {
            let cases = cases.iter().enumerate();
            let written: Result<Vec<_>, _> = cases
                .map(|(at, it)| this.within(&at.to_string(), |this| this.schema(it)))
                .collect();
            written.map(Value::Array)
        })
    }

    /// A tuple as a list of any of its places: their order can only be told.
    fn tuple(
        &mut self,
        object: &Map<String, Value>,
        places: &[Value],
        out: &mut Map<String, Value>,
        notes: &mut Notes,
    ) -> Result<(), Unfit> {
        notes.push(("prefixItems".to_owned(), Value::Array(places.to_vec()).to_string()));
        if !matches!(object.get("items"), None | Some(Value::Bool(false))) || places.is_empty() {
            let strict = self.subset.strictness.is_some();
            return if strict { Err(self.unfit("is a tuple that goes on")) } else { Ok(()) };
        }
        let Value::Array(written) = self.list("prefixItems", places)? else { return Ok(()) };
        let mut any: Vec<Value> = Vec::new();
        for place in written {
            if !any.contains(&place) {
                any.push(place);
            }
        }
        let items = match any.as_slice() {
            [one] => one.clone(),
            _ => json!({ "anyOf": any }),
        };
        out.insert("items".to_owned(), items);
        Ok(())
    }

    /// What every provider asks of a schema beside its keywords.
    fn complete(&self, out: &mut Map<String, Value>) -> Result<(), Unfit> {
        let is_array = out.get("type").is_some_and(|it| {
            it == "array" || it.as_array().is_some_and(|many| many.iter().any(|one| one == "array"))
        });
        let has_items = out.contains_key("items") || out.contains_key("prefixItems");
        let strict = self.subset.strictness.is_some();
        if is_array && !has_items {
            if strict {
                return Err(self.unfit("is an array of any values"));
            }
            // OpenAI and Gemini refuse an array that says nothing of its items.
            out.insert("items".to_owned(), json!({}));
        }
        let says_what = ["type", "anyOf", "enum", "const"].iter().any(|it| out.contains_key(*it));
        if strict && !says_what { Err(self.unfit("takes any value")) } else { Ok(()) }
    }

    fn describe(&mut self, out: &mut Map<String, Value>, notes: &Notes) {
        if notes.is_empty() {
            return;
        }
        let moved = quoted(notes.iter().map(|(keyword, _)| keyword.as_str()));
        self.change(format!("{moved} moved into the description"));
        let shown = |(keyword, value): &(String, String)| {
            let kept = cut(value, NOTE_MAX_LEN);
            format!("{keyword}: {kept}{}", if kept.len() < value.len() { "…" } else { "" })
        };
        let notes = notes.iter().map(shown).collect::<Vec<_>>().join(", ");
        let note = format!("{{{}}}", cut(&notes, NOTES_MAX_LEN));
        let described = match out.get("description").and_then(Value::as_str) {
            Some(text) if !text.is_empty() => format!("{text}\n\n{note}"),
            _ => note,
        };
        out.insert("description".to_owned(), described.into());
    }
}

/// Null out of an `enum`, as a case of its own.
fn null_apart(mut out: Map<String, Value>) -> Value {
    let Some(Value::Array(values)) = out.get_mut("enum") else { return Value::Object(out) };
    let before = values.len();
    values.retain(|it| !it.is_null());
    if values.len() == before {
        return Value::Object(out);
    }
    let description = out.shift_remove("description");
    let one = super::nulls::without(Value::Object(out));
    let mut both = Map::new();
    both.insert("anyOf".to_owned(), json!([one, {"type": "null"}]));
    both.extend(description.map(|it| ("description".to_owned(), it)));
    Value::Object(both)
}

pub(super) fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
