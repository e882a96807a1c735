//! Each rule of a subset on the smallest schema that meets it.

use serde_json::{Value, json};

use super::*;

const LOOSE: Subset = Subset {
    keyword: |_, _| Treatment::Keep,
    plain: false,
    constants: true,
    plain_names: true,
    strictness: None,
};
const LISTED: Subset =
    Subset { keyword: few, plain: true, constants: false, plain_names: false, ..LOOSE };
const NULLS: Subset = Subset {
    keyword: few,
    plain: true,
    strictness: Some(Strictness { optional: Optional::Null, recursion: true }),
    ..LOOSE
};
const ABSENT: Subset = Subset {
    strictness: Some(Strictness { optional: Optional::Absent, recursion: false }),
    ..NULLS
};

fn few(keyword: &str, _: &Value) -> Treatment {
    match keyword {
        "title" | "enum" | "const" | "minimum" => Treatment::Keep,
        _ => Treatment::Note,
    }
}

/// An object whose one required name `a` has this schema.
fn holding(schema: Value) -> Value {
    let mut whole = json!({
        "type": "object", "properties": {}, "required": ["a"], "additionalProperties": false,
    });
    whole["properties"]["a"] = schema;
    whole
}

/// What becomes of the schema of `a`, and what is said of it.
fn becomes(schema: Value, subset: &Subset) -> (Value, Vec<String>) {
    let written = rewritten(&holding(schema), subset).unwrap();
    let said = written.changes.iter().map(|it| format!("{} {}", it.path, it.what)).collect();
    (written.schema["properties"]["a"].clone(), said)
}

#[track_caller]
fn refused(schema: &Value, subset: &Subset, path: &str, why: &str) {
    let unfit = rewritten(schema, subset).unwrap_err();
    assert!(unfit.path == path && unfit.why.contains(why), "{schema}: {unfit:?}");
}

#[test]
fn t42_js12_a_root_that_providers_refuse_is_unfit() {
    for subset in [&LOOSE, &LISTED, &NULLS, &ABSENT] {
        for root in [json!(true), json!([]), json!({}), json!({"type": ["object", "null"]})] {
            refused(&root, subset, "", "");
        }
        refused(&json!({"type": "object", "anyOf": []}), subset, "", "`anyOf` at its root");
        refused(&json!({"type": "object", "$ref": "#"}), subset, "", "`$ref` at its root");
        assert!(rewritten(&json!({"type": "object"}), subset).is_ok());
    }
}

#[test]
fn a_loose_subset_keeps_all_but_what_says_nothing() {
    let whole = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "a": {"oneOf": [{"const": "x"}, {"type": ["string", "null"], "minLength": 2}]},
            "t": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
            "m": {"type": "object", "additionalProperties": {"not": {"type": "null"}}},
            "l": {"type": "array"},
        },
        "required": ["a"],
    });
    let before = whole.clone();
    let written = rewritten(&whole, &LOOSE).unwrap();
    let mut expected = before.clone();
    expected.as_object_mut().unwrap().shift_remove("$schema");
    expected["properties"]["l"]["items"] = json!({});
    assert_eq!(written.schema, expected);
    assert_eq!((written.changes, whole), (Vec::new(), before));
}

#[test]
fn t42_what_is_no_schema_is_unfit_in_every_subset() {
    for subset in [&LOOSE, &LISTED, &NULLS, &ABSENT] {
        refused(&holding(json!(1)), subset, "/properties/a", "no schema");
        refused(&holding(json!({"type": "text"})), subset, "/properties/a", "`type`");
        refused(&holding(json!({"type": []})), subset, "/properties/a", "`type`");
        refused(
            &holding(json!({"type": "object", "properties": []})),
            subset,
            "/properties/a",
            "`properties`",
        );
        refused(
            &holding(json!({"type": "array", "items": [{}]})),
            subset,
            "/properties/a",
            "`items`",
        );
        refused(&holding(json!({"anyOf": {}})), subset, "/properties/a", "`anyOf`");
    }
}

#[test]
fn t42_names_that_a_provider_refuses_are_unfit() {
    for name in ["$top", "a b", "ä", &"x".repeat(65), ""] {
        let schema =
            json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        let unfit = rewritten(&schema, &LOOSE).unwrap_err();
        assert_eq!(unfit.path, format!("/properties/{name}"));
        assert!(rewritten(&schema, &LISTED).is_ok());
    }
}

#[test]
fn js13_only_references_within_the_schema_stay() {
    for subset in [&LOOSE, &LISTED, &NULLS, &ABSENT] {
        let there = "/properties/a";
        refused(
            &holding(json!({"$ref": "https://x.example/s"})),
            subset,
            there,
            "isn't in the schema",
        );
        refused(&holding(json!({"$ref": "#/$defs/none"})), subset, there, "isn't there");
        refused(&holding(json!({"$dynamicRef": "#x"})), subset, there, "`$dynamicRef`");
        refused(&holding(json!({"type": "string", "$id": "x"})), subset, there, "`$id`");
    }
    let node = json!({"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}});
    let mut looped = holding(json!({"$ref": "#/$defs/n", "description": "first"}));
    looped["$defs"] = json!({"n": node});
    assert_eq!(rewritten(&looped, &LOOSE).unwrap().schema, looped);
    let strict = rewritten(&looped, &NULLS).unwrap();
    assert_eq!(strict.schema["properties"]["a"], json!({"$ref": "#/$defs/n"}));
    assert_eq!(strict.schema["$defs"]["n"]["required"], json!(["next"]));
    assert!(strict.changes[0].what.contains("`description` can't stand beside `$ref`"));
    refused(&looped, &ABSENT, "", "refers to itself");
    refused(&holding(json!({"$ref": "#"})), &NULLS, "/properties/a", "strict takes");
    // A constant that looks like a reference is none, and an argument may be called `$ref`.
    assert!(rewritten(&holding(json!({"enum": [{"$ref": "x"}]})), &LOOSE).is_ok());
}

#[test]
fn t45_references_to_each_other_cost_what_they_are_long() {
    let both = |n: usize| json!({"anyOf": [{"$ref": format!("#/$defs/d{n}")}, {"$ref": format!("#/$defs/d{n}")}]});
    let mut schema = holding(json!({"$ref": "#/$defs/d0"}));
    let defs: serde_json::Map<String, Value> = (0..1_000)
        .map(|n| (format!("d{n}"), if n == 999 { json!({"type": "string"}) } else { both(n + 1) }))
        .collect();
    schema["$defs"] = Value::Object(defs);
    for subset in [&LOOSE, &LISTED, &NULLS, &ABSENT] {
        let written = rewritten(&schema, subset).unwrap();
        assert!(written.schema.to_string().len() <= schema.to_string().len());
    }
}

#[test]
fn t45_a_schema_beyond_the_bounds_is_unfit() {
    let deep = (0..100)
        .fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let wide = json!({"enum": vec!["x"; 30_000]});
    for subset in [&LOOSE, &LISTED, &NULLS, &ABSENT] {
        refused(&holding(deep.clone()), subset, "", "deeper");
        refused(&holding(wide.clone()), subset, "", "more than");
    }
}

#[test]
fn what_a_subset_cant_say_moves_into_the_description() {
    let (schema, said) = becomes(
        json!({"type": "string", "description": "A name.", "minLength": 1, "pattern": "^a"}),
        &NULLS,
    );
    assert_eq!(
        schema,
        json!({"type": "string", "description": "A name.\n\n{minLength: 1, pattern: \"^a\"}"})
    );
    assert_eq!(said, ["/properties/a `minLength`, `pattern` moved into the description"]);
    let (schema, said) = becomes(json!({"type": "integer", "minimum": 1, "default": null}), &NULLS);
    assert_eq!(schema, json!({"type": "integer", "minimum": 1}));
    assert_eq!(said, [""; 0]);
}

#[test]
fn a_note_is_bounded() {
    let long = "x".repeat(10_000);
    let (schema, _) = becomes(json!({"type": "string", "pattern": long}), &NULLS);
    assert!(schema["description"].as_str().unwrap().len() < 400);
    let many: serde_json::Map<_, _> =
        (0..100).map(|n| (format!("x-{n}"), "y".repeat(200).into())).collect();
    let mut schema = json!({"type": "string"});
    schema.as_object_mut().unwrap().extend(many);
    assert!(becomes(schema, &NULLS).0["description"].as_str().unwrap().len() < 2_100);
}

#[test]
fn unions_and_tuples_become_what_is_known() {
    let (schema, said) = becomes(json!({"oneOf": [{"const": "x"}, {"type": "null"}]}), &NULLS);
    assert_eq!(schema, json!({"anyOf": [{"const": "x"}, {"type": "null"}]}));
    assert_eq!(said, ["/properties/a `oneOf` became `anyOf`"]);
    let pair = json!({
        "type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false,
    });
    let (schema, _) = becomes(pair.clone(), &NULLS);
    assert_eq!(schema["items"], json!({"anyOf": [{"type": "string"}, {"type": "number"}]}));
    assert!(schema["description"].as_str().unwrap().contains("prefixItems"), "{schema}");
    assert_eq!(becomes(pair, &LISTED).0["items"], schema["items"]);
    let goes_on =
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}});
    assert_eq!(becomes(goes_on.clone(), &LISTED).0["items"], json!({}));
    refused(&holding(goes_on), &NULLS, "/properties/a", "goes on");
}

#[test]
fn constants_become_enums_and_null_a_case_where_only_these_are_known() {
    assert_eq!(
        becomes(json!({"type": "string", "const": "x"}), &LISTED).0,
        json!({"type": "string", "enum": ["x"]})
    );
    assert_eq!(
        becomes(
            json!({"type": ["string", "null"], "enum": ["x", null], "description": "d"}),
            &LISTED
        )
        .0,
        json!({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}], "description": "d"})
    );
}

#[test]
fn one_schema_in_an_all_of_is_that_schema() {
    let one = json!({"description": "d", "allOf": [{"type": "string"}]});
    assert_eq!(becomes(one, &NULLS).0, json!({"description": "d", "type": "string"}));
    let two = json!({"allOf": [{"type": "string"}, {"const": "x"}]});
    refused(&holding(two.clone()), &NULLS, "/properties/a", "`allOf`");
    assert!(becomes(two, &LISTED).1[0].contains("`allOf` moved"));
}

#[test]
fn strict_objects_are_closed_and_open_ones_are_unfit() {
    for subset in [&NULLS, &ABSENT] {
        for open in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"b": {"type": "null"}}, "patternProperties": {}}),
        ] {
            refused(&holding(open), subset, "/properties/a", "of the model's choice");
        }
        let loose =
            json!({"type": "object", "properties": {"b": {"type": "null"}}, "required": ["b"]});
        let (schema, said) = becomes(loose, subset);
        assert_eq!(schema["additionalProperties"], json!(false));
        assert!(said[0].contains("can't be given"), "{said:?}");
        assert_eq!(
            rewritten(&json!({"type": "object"}), subset).unwrap().schema,
            json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
        );
        refused(&holding(json!({})), subset, "/properties/a", "any value");
        refused(&holding(json!(true)), subset, "/properties/a", "any value");
        refused(&holding(json!({"type": "array"})), subset, "/properties/a", "array of any");
    }
}

#[test]
fn strict_optional_names_are_null_or_absent_as_the_host_takes_them() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}},
        "required": ["a"],
        "additionalProperties": false,
    });
    let nulls = rewritten(&schema, &NULLS).unwrap().schema;
    assert_eq!(nulls["required"], json!(["a", "b"]));
    assert_eq!(nulls["properties"]["b"]["type"], json!(["integer", "null"]));
    let absent = rewritten(&schema, &ABSENT).unwrap();
    assert_eq!(absent.schema["required"], json!(["a"]));
    assert_eq!(absent.schema["properties"]["b"]["type"], json!("integer"));
    assert_eq!((absent.tally.optional, absent.tally.unions), (1, 0));
    let no_null = json!({"type": "object", "properties": {"b": {"type": "integer"}}});
    refused(&no_null.clone(), &NULLS, "/properties/b", "takes no null");
    assert!(rewritten(&no_null, &ABSENT).is_ok());
}

#[test]
fn what_is_required_and_not_described_is_left_out_where_providers_refuse_it() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a", "b"]});
    for subset in [&LISTED, &NULLS, &ABSENT] {
        let written = rewritten(&schema, subset).unwrap();
        assert_eq!(written.schema["required"], json!(["a"]));
        assert!(written.changes.iter().any(|it| it.what.contains("left out")));
    }
    assert_eq!(rewritten(&schema, &LOOSE).unwrap().schema["required"], json!(["a", "b"]));
}
