//! Schemas of every kind of ill will.

use serde_json::json;

use super::super::SchemaCheck;
use super::*;
use crate::contract::arguments::ArgumentCheck as _;

fn compile(schema: Value) -> Result<SchemaCheck, String> {
    let Value::Object(schema) = schema else { panic!("no object") };
    SchemaCheck::new(&vet_tolerantly(&schema)?)
}

#[track_caller]
fn refused(schema: Value, why: &str) {
    let reason = compile(schema).err().expect("it was accepted");
    assert!(reason.contains(why), "{reason}");
}

#[test]
fn arguments_are_checked_and_each_failure_has_its_path() {
    let schema = compile(json!({
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/small"}, "s": {"type": "string", "pattern": "^a+$"}},
        "required": ["n"],
        "additionalProperties": false,
        "$defs": {"small": {"type": "integer", "maximum": 9}},
    }))
    .unwrap();
    let check = |json: Value| schema.check(json.as_object().unwrap().clone());
    assert!(check(json!({"n": 3, "s": "aa"})).is_ok());
    let failures = check(json!({"n": 30, "s": "b"})).unwrap_err();
    let mut paths: Vec<_> = failures.iter().map(|it| it.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/n", "/s"]);
    assert!(check(json!({})).is_err() && check(json!({"n": 1, "x": 1})).is_err());
}

#[test]
fn nothing_is_fetched_or_followed_elsewhere() {
    for target in ["https://evil.test/s.json", "file:///etc/passwd", "other.json", "#name", "//x"] {
        refused(json!({"properties": {"a": {"$ref": target}}}), "nothing is fetched");
    }
    refused(json!({"$ref": "#/$defs/none"}), "hasn't");
    refused(json!({"$dynamicRef": "#x"}), "$dynamicRef");
    refused(json!({"properties": {"a": {"$id": "https://x.test/"}}}), "$id");
    // Data and names may be spelt so.
    let named = json!({"properties": {"$ref": {"type": "string"}, "enum": {"type": "string"}},
        "default": {"$ref": "https://x.test"}});
    assert!(compile(named).is_ok());
    // A property of such a name is looked into all the same.
    refused(json!({"properties": {"default": {"$ref": "https://x.test"}}}), "nothing is fetched");
}

#[test]
fn js13_a_schema_that_holds_itself_ends_and_is_checked_above_that() {
    for circle in [
        json!({"type": "object", "$ref": "#"}),
        json!({"type": "object", "allOf": [{"$ref": "#"}]}),
        json!({"type": "object", "$ref": "#/$defs/a",
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
    ] {
        let schema = compile(circle.clone()).unwrap();
        let mut deep = json!({});
        for _ in 0..60 {
            deep = json!({ "x": deep });
        }
        assert!(schema.failures(&deep).is_empty(), "{circle}");
        assert!(!schema.failures(&json!(1)).is_empty(), "{circle}");
    }
}

#[test]
fn what_would_be_checked_too_often_is_refused() {
    let mut defs = Map::new();
    for level in 0..14 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), json!({"allOf": [next, next, next, next]}));
    }
    defs.insert("d14".to_owned(), json!({}));
    refused(json!({"$ref": "#/$defs/d0", "$defs": defs}), "parts");
}

#[test]
fn size_and_depth_are_bounded() {
    refused(json!({"description": "x".repeat(SCHEMA_BYTES)}), "bytes");
    let mut deep = json!({});
    for _ in 0..=DEPTH_MAX {
        deep = json!({ "not": deep });
    }
    refused(deep, "levels deep");
    refused(
        json!({"properties": {"a": {"type": "string", "pattern": "(a+)+\\1"}}}),
        "is no schema",
    );
    refused(json!({"enum": vec![0; EXPANDED_MAX]}), "parts");
    let long = "a".repeat(1025);
    refused(json!({"properties": {"p": {"pattern": long.clone()}}}), "pattern of 1025");
    refused(json!({"patternProperties": {(long): true}}), "pattern of 1025");
    refused(json!({"type": "strange"}), "is no schema");
}
