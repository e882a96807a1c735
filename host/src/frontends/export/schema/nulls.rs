//! Whether a schema takes null, and the same schema without it. Changes nothing else.

use serde_json::{Map, Value};

/// How many references are followed; a longer chain counts as one that doesn't take null.
const REFS_MAX: usize = 8;

/// Whether `schema` takes null, by all that it says. `root` is where its references lead.
pub(super) fn admits(root: &Value, schema: &Value, followed: usize) -> bool {
    let Some(object) = schema.as_object() else { return schema == &Value::Bool(true) };
    let holds = |keyword: &str, said: &Value| match (keyword, said) {
        ("type", Value::String(one)) => one == "null",
        ("type" | "enum", Value::Array(many)) => {
            many.iter().any(|it| it.is_null() || (keyword == "type" && it == "null"))
        }
        ("const", said) => said.is_null(),
        ("anyOf" | "oneOf", Value::Array(cases)) => {
            cases.iter().any(|case| admits(root, case, followed))
        }
        ("allOf", Value::Array(parts)) => parts.iter().all(|part| admits(root, part, followed)),
        ("$ref", Value::String(to)) => {
            let target = to.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            followed < REFS_MAX && target.is_some_and(|it| admits(root, it, followed + 1))
        }
        // What else may forbid null isn't looked into: then it is the tool's to say so.
        ("not" | "if", _) => false,
        _ => true,
    };
    object.iter().all(|(keyword, said)| holds(keyword, said))
}

/// `schema`, a rewritten one, without null: for a name that may as well be left out.
pub(super) fn without(mut schema: Value) -> Value {
    let Some(object) = schema.as_object_mut() else { return schema };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|it| it != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|it| !it.is_null());
    }
    if let Some(Value::Array(cases)) = object.get_mut("anyOf") {
        cases.retain(|case| case.get("type").is_none_or(|it| it != "null"));
        if let [Value::Object(only)] = cases.as_slice() {
            let only = only.clone();
            return merged(object, only);
        }
    }
    schema
}

/// The one case that is left, under the description of the whole.
fn merged(whole: &Map<String, Value>, case: Map<String, Value>) -> Value {
    let joins = whole.iter().filter(|(key, _)| *key != "anyOf");
    if case.contains_key("$ref") || joins.clone().any(|(key, _)| key != "description") {
        return Value::Object(whole.clone());
    }
    let mut one = case;
    for (key, outer) in joins {
        let both = match (outer, one.get(key)) {
            (Value::String(outer), Some(Value::String(inner))) => {
                Value::String(format!("{outer}\n\n{inner}"))
            }
            _ => outer.clone(),
        };
        one.insert(key.clone(), both);
    }
    Value::Object(one)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_admitted_only_where_all_that_is_said_admits_it() {
        let root =
            json!({"$defs": {"n": {"type": ["string", "null"]}, "loop": {"$ref": "#/$defs/loop"}}});
        for yes in [
            json!(true),
            json!({}),
            json!({"type": "null"}),
            json!({"type": ["integer", "null"], "minimum": 1}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"anyOf": [{"type": "object"}, {"type": "null"}]}),
            json!({"$ref": "#/$defs/n"}),
        ] {
            assert!(admits(&root, &yes, 0), "{yes}");
        }
        for no in [
            json!(false),
            json!({"type": "string"}),
            json!({"type": ["string", "null"], "enum": ["a"]}),
            json!({"type": ["string", "null"], "not": {"type": "null"}}),
            json!({"anyOf": [{"type": "object"}]}),
            json!({"allOf": [{}, {"const": 1}]}),
            json!({"$ref": "#/$defs/loop"}),
            json!({"$ref": "#/$defs/none"}),
        ] {
            assert!(!admits(&root, &no, 0), "{no}");
        }
    }

    #[test]
    fn without_null_a_union_of_one_is_that_one() {
        let cases = [
            (
                json!({"type": ["string", "null"], "enum": ["a", null]}),
                json!({"type": "string", "enum": ["a"]}),
            ),
            (
                json!({"type": ["string", "integer", "null"]}),
                json!({"type": ["string", "integer"]}),
            ),
            (
                json!({"anyOf": [{"type": "object", "description": "b"}, {"type": "null"}], "description": "a"}),
                json!({"type": "object", "description": "a\n\nb"}),
            ),
            (
                json!({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "description": "a"}),
                json!({"anyOf": [{"$ref": "#/$defs/a"}], "description": "a"}),
            ),
            (json!({"type": "string"}), json!({"type": "string"})),
        ];
        for (with, expected) in cases {
            assert_eq!(without(with), expected);
        }
    }
}
