//! The strict way to vet a schema: only what every model and validator takes.
//!
//! Refuses circles of references. Fetches nothing and follows no reference that could lead in a circle. Compiles nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{EXPANDED_MAX, SCHEMA_BYTES, Vetted, pattern_weight};
use crate::contract::escape::clipped_line;

/// Values inside each other.
const DEPTH: usize = 64;
/// Longest word of a schema that a reason repeats, in bytes.
const SHOWN: usize = 80;
/// Dialects whose keywords mean here what they mean there.
const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-07/schema#",
];

/// Vets a schema; the reason where it can't be used, as a fragment.
pub(in crate::runners) fn vet(schema: Value) -> Result<Vetted, String> {
    let Value::Object(mut schema) = schema else { return Err("is no object".to_owned()) };
    if let Some(dialect) = schema.remove("$schema")
        && !dialect.as_str().is_some_and(|it| DIALECTS.contains(&it))
    {
        return Err("is of a dialect that isn't known here".to_owned());
    }
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("must have `\"type\": \"object\"` at its root".to_owned());
    }
    for keyword in ["allOf", "anyOf", "oneOf", "$ref"] {
        if schema.contains_key(keyword) {
            return Err(format!("has `{keyword}` at its root, which models don't take"));
        }
    }
    let root = Value::Object(schema);
    let bytes = root.to_string().len();
    if bytes > SCHEMA_BYTES {
        return Err(format!("has {bytes} bytes; at most {SCHEMA_BYTES} are taken"));
    }
    let mut seen = Seen::default();
    seen.schema(&root, 0)?;
    let expanded = seen.expand()?;
    match root {
        Value::Object(schema) => Ok(Vetted { schema, expanded }),
        _ => Err("is no object".to_owned()),
    }
}

/// How many values there are, and who refers to what.
#[derive(Default)]
struct Seen {
    /// The definition that is being walked; `None`: the root.
    within: Option<String>,
    parts: BTreeMap<Option<String>, Part>,
}

#[derive(Default)]
struct Part {
    values: usize,
    refers_to: Vec<String>,
}

impl Seen {
    fn part(&mut self) -> &mut Part {
        self.parts.entry(self.within.clone()).or_default()
    }

    fn count(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!("is deeper than {DEPTH} values inside each other"));
        }
        self.part().values += 1;
        Ok(())
    }

    fn pattern(&mut self, text: &str) -> Result<(), String> {
        self.part().values += pattern_weight(text)?;
        Ok(())
    }

    fn schema(&mut self, schema: &Value, depth: usize) -> Result<(), String> {
        self.count(depth)?;
        let Value::Object(keywords) = schema else { return Ok(()) };
        for (keyword, value) in keywords {
            self.keyword(keyword, value, depth + 1)?;
        }
        Ok(())
    }

    fn keyword(&mut self, keyword: &str, value: &Value, depth: usize) -> Result<(), String> {
        match keyword {
            "$ref" => self.reference(value),
            "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef"
            | "$recursiveAnchor" | "$vocabulary" | "$schema" => {
                Err(format!("has `{keyword}` inside, which isn't taken"))
            }
            "$defs" | "definitions" if depth == 1 => self.definitions(keyword, value, depth),
            "$defs" | "definitions" => Err(format!("has `{keyword}` below its root")),
            "properties" | "patternProperties" | "dependentSchemas" => {
                self.named(keyword, value, depth)
            }
            "allOf"
            | "anyOf"
            | "oneOf"
            | "prefixItems"
            | "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => match value {
                Value::Array(all) => all.iter().try_for_each(|one| self.schema(one, depth + 1)),
                one => self.schema(one, depth),
            },
            "pattern" => self.pattern(value.as_str().unwrap_or_default()),
            _ => self.plain(value, depth),
        }
    }

    fn named(&mut self, keyword: &str, value: &Value, depth: usize) -> Result<(), String> {
        let Value::Object(named) = value else { return Ok(()) };
        for (name, schema) in named {
            if keyword == "patternProperties" {
                self.pattern(name)?;
            }
            self.schema(schema, depth + 1)?;
        }
        Ok(())
    }

    fn definitions(&mut self, keyword: &str, value: &Value, depth: usize) -> Result<(), String> {
        let Value::Object(named) = value else { return Ok(()) };
        for (name, schema) in named {
            self.within = Some(format!("#/{keyword}/{name}"));
            self.schema(schema, depth + 1)?;
        }
        self.within = None;
        Ok(())
    }

    /// Only definitions at the root can be referred to: what else a pointer leads to may not have
    /// been looked at as a schema.
    fn reference(&mut self, value: &Value) -> Result<(), String> {
        let target = value.as_str().unwrap_or_default();
        let name = ["#/$defs/", "#/definitions/"].iter().find_map(|it| target.strip_prefix(it));
        match name {
            Some(name) if !name.contains(['/', '~', '%']) && !name.is_empty() => {
                self.part().refers_to.push(target.to_owned());
                Ok(())
            }
            _ => Err(format!(
                "refers to `{}`; only `#/$defs/NAME` can be referred to",
                clipped_line(target, SHOWN)
            )),
        }
    }

    /// What is no schema: a default, an enum, a keyword of somebody's own.
    fn plain(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.count(depth)?;
        match value {
            Value::Array(all) => all.iter().try_for_each(|one| self.plain(one, depth + 1)),
            Value::Object(all) => all.values().try_for_each(|one| self.plain(one, depth + 1)),
            _ => Ok(()),
        }
    }

    /// The values of the whole, each definition counted wherever it is referred to.
    fn expand(&self) -> Result<usize, String> {
        let mut sizes = BTreeMap::new();
        let mut whole = self.size(&None, &mut sizes, &mut BTreeSet::new())?;
        for name in self.parts.keys().filter(|name| name.is_some()) {
            whole = whole.max(self.size(name, &mut sizes, &mut BTreeSet::new())?);
        }
        if whole > EXPANDED_MAX {
            return Err(format!(
                "has {whole} values with its references followed; at most {EXPANDED_MAX} are taken"
            ));
        }
        Ok(whole)
    }

    fn size<'a>(
        &'a self,
        name: &'a Option<String>,
        sizes: &mut BTreeMap<&'a Option<String>, usize>,
        open: &mut BTreeSet<&'a Option<String>>,
    ) -> Result<usize, String> {
        if let Some(size) = sizes.get(name) {
            return Ok(*size);
        }
        let shown = clipped_line(name.as_deref().unwrap_or("#"), SHOWN);
        let Some(part) = self.parts.get(name) else {
            return Err(format!("refers to `{shown}`, which isn't there"));
        };
        // Each level of a chain of references is a level of this recursion, too.
        if !open.insert(name) || open.len() > DEPTH {
            return Err(format!("refers to `{shown}` in a circle, or through too many others"));
        }
        let mut size = part.values;
        for target in &part.refers_to {
            let found = self.parts.keys().find(|name| name.as_ref() == Some(target));
            let Some(target) = found else {
                let shown = clipped_line(target, SHOWN);
                return Err(format!("refers to `{shown}`, which isn't there"));
            };
            size = size.saturating_add(self.size(target, sizes, open)?);
        }
        open.remove(name);
        sizes.insert(name, size);
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn with(name: &str, value: Value) -> Value {
        let mut schema = json!({"type": "object"});
        schema[name] = value;
        schema
    }

    #[test]
    fn an_ordinary_schema_passes_and_loses_its_dialect_alone() {
        let schema = json!({
            "$schema": DIALECTS[2], "type": "object", "required": ["$id"],
            "properties": {"$id": {"$ref": "#/$defs/id"}, "n": {"enum": [{"$ref": "x"}, 1]}},
            "$defs": {"id": {"type": "string", "pattern": "^a+$"}},
        });
        let vetted = vet(schema.clone()).unwrap();
        let mut expected = schema;
        expected.as_object_mut().unwrap().remove("$schema");
        assert_eq!(Value::Object(vetted.schema), expected);
    }

    #[test]
    fn t42_what_no_provider_or_validator_should_see_is_refused_with_the_reason() {
        let deep = (0..DEPTH).fold(json!({}), |inner, _| json!({"not": inner}));
        for (schema, reason) in [
            (json!([]), "no object"),
            (json!({"type": "string"}), "at its root"),
            (with("oneOf", json!([])), "`oneOf` at its root"),
            (with("$schema", json!("https://elsewhere.example/s")), "dialect"),
            (with("not", json!({"$id": "https://x.example"})), "`$id` inside"),
            (with("not", json!({"$ref": "https://x.example/s"})), "only `#/$defs/NAME`"),
            (with("not", json!({"$ref": "file:///etc/passwd"})), "only `#/$defs/NAME`"),
            (with("not", json!({"$ref": "#"})), "only `#/$defs/NAME`"),
            (with("not", json!({"$ref": "#/$defs/a/b"})), "only `#/$defs/NAME`"),
            (with("not", json!({"$ref": "#/$defs/a"})), "isn't there"),
            (with("not", json!({"$defs": {}})), "below its root"),
            (with("properties", json!({"p": {"pattern": "a".repeat(1025)}})), "pattern of 1025"),
            (with("patternProperties", json!({("a".repeat(1025)): true})), "pattern of 1025"),
            (with("description", json!("d".repeat(SCHEMA_BYTES))), "bytes"),
            (with("not", deep), "deeper than"),
            (with("enum", json!(vec![0; EXPANDED_MAX])), "values with its references"),
            (with("allOf", json!([])), "`allOf` at its root"),
            (with("not", json!({"allOf": vec![json!({"pattern": "a"}); 32]})), "values with its"),
        ] {
            let shown: String = schema.to_string().chars().take(80).collect();
            let refused = vet(schema).unwrap_err();
            assert!(refused.contains(reason), "{shown}: {refused}");
        }
    }

    #[test]
    fn t45_references_that_fan_out_or_go_in_a_circle_are_refused_at_once() {
        let twice = |of: &str| json!({"allOf": [{"$ref": of}, {"$ref": of}]});
        let mut defs = Map::new();
        for level in 0..30 {
            defs.insert(format!("d{level}"), twice(&format!("#/$defs/d{}", level + 1)));
        }
        defs.insert("d30".to_owned(), json!({"type": "string"}));
        let fan = json!({"type": "object", "not": {"$ref": "#/$defs/d0"}, "$defs": defs});
        assert!(vet(fan).unwrap_err().contains("references followed"));
        let circle = json!({"type": "object", "$defs": {"a": twice("#/$defs/a")}});
        assert!(vet(circle).unwrap_err().contains("in a circle"));
    }
}
