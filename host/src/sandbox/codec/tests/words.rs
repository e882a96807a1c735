//! Words: where descriptions land, what `@schema` narrows, what doesn't fit.

use serde_json::{Value, json};

use super::super::limits::PATTERN_BYTES;
use super::*;

fn narrowed(types: &[(&str, &str)], signature: &str, items: &[(&str, Value)]) -> FunctionPlan {
    let items: Vec<_> = items.iter().map(|(path, schema)| (*path, "", schema.clone())).collect();
    FunctionPlan::new(&function(types, signature), &words(&items), false).unwrap()
}

#[test]
fn descriptions_stand_at_the_outermost_type_of_their_path() {
    let types = [
        ("e", r#"(enum "low" "high")"#),
        ("v", r#"(variant (case "none") (case "some-e" $e))"#),
        ("o", r#"(record (field "a-b" (option (list $v))) (field "c" (tuple u8 (option $e))))"#),
    ];
    let said = words(&[
        ("param/o/a-b", "choices", Value::Null),
        ("param/o/a-b/none", "nothing", Value::Null),
        ("param/o/a-b/some-e", "something", Value::Null),
        ("param/o/c/1", "how much", Value::Null),
        ("param/o/c/1/high", "a lot", Value::Null),
        ("result/ok", "  ", Value::Null),
        ("result/ok/a-b", "given back", Value::Null),
    ]);
    let ty = function(&types, r#"(param "o" $o) (result (result $o (error string)))"#);
    let plan = FunctionPlan::new(&ty, &said, false).unwrap();
    let input = &plan.input_schema()["properties"];
    assert_eq!(input["a_b"]["description"], "choices");
    let items = &input["a_b"]["items"];
    assert_eq!(items.get("description"), None);
    assert_eq!(items["oneOf"][0]["description"], "nothing");
    assert_eq!(items["oneOf"][1]["properties"]["some-e"]["description"], "something");
    let second = &input["c"]["prefixItems"][1];
    assert_eq!(second["description"], "how much\n`high`: a lot");
    assert_eq!(second["enum"], json!(["low", "high", null]));
    let output = plan.output_schema().unwrap();
    assert_eq!(output.get("description"), None);
    assert_eq!(output["properties"]["a_b"]["description"], "given back");
}

#[test]
fn keywords_narrow_the_schema_and_the_arguments_alike() {
    let plan = narrowed(
        &[],
        r#"(param "n" (option u32)) (param "s" (list string)) (param "m" (list (option f64)))"#,
        &[
            ("param/n", json!({"minimum": 1, "maximum": 2000, "default": 7.0})),
            ("param/s", json!({"minItems": 1, "maxLength": 3, "pattern": "^[a-z]*$"})),
            ("param/m", json!({"maximum": 0.5, "examples": [[0.25, null]]})),
        ],
    );
    assert!(plan.findings().is_empty(), "{:?}", plan.findings());
    let properties = &plan.input_schema()["properties"];
    assert_eq!(
        properties["n"],
        json!({"type": ["integer", "null"], "minimum": 1, "maximum": 2000, "default": 7})
    );
    assert_eq!(properties["s"]["minItems"], 1);
    assert_eq!(properties["s"]["items"]["maxLength"], 3);
    assert_eq!(properties["m"]["items"]["maximum"], 0.5);
    assert_eq!(properties["m"]["examples"], json!([[0.25, null]]));

    let good = json!({"n": 2000, "s": ["abc"], "m": [null, 0.5]});
    assert_eq!(check(&plan, good.clone()), Ok(good));
    // None is no value that could be too small.
    assert!(check(&plan, json!({"n": null, "s": [""], "m": []})).is_ok());
    let bad = json!({"n": 0, "s": ["abc", "A", "abcd"], "m": [0.5, 0.6]});
    let failures = check(&plan, bad).unwrap_err();
    let paths: Vec<_> = failures.iter().map(|failure| failure.path.as_str()).collect();
    assert_eq!(paths, ["/n", "/s/1", "/s/2", "/m/1"]);
    assert!(refusal(&plan, json!({"s": [], "m": []})).starts_with("/s: "));
}

#[test]
fn fields_below_the_root_are_narrowed_too() {
    let types = [("o", r#"(record (field "h" string))"#)];
    let plan = narrowed(
        &types,
        r#"(param "os" (list $o)) (param "x" u8)"#,
        &[("param/os/h", json!({"pattern": "^[0-9a-f]{4}$"}))],
    );
    let message = refusal(&plan, json!({"os": [{"h": "00ff"}, {"h": "00FF"}], "x": 1}));
    assert!(message.starts_with("/os/1/h: "), "{message}");
}

#[test]
fn keywords_never_widen() {
    let plan = narrowed(
        &[],
        r#"(param "a" u8) (param "b" s8)"#,
        &[
            ("param/a", json!({"minimum": -5, "maximum": 1000})),
            ("param/b", json!({"minimum": -5.5, "maximum": 1000})),
        ],
    );
    let properties = &plan.input_schema()["properties"];
    assert_eq!(properties["a"], json!({"type": "integer", "minimum": 0, "maximum": 255}));
    assert_eq!(properties["b"], json!({"type": "integer", "minimum": -5.5, "maximum": 127}));
    assert!(check(&plan, json!({"a": 256, "b": 0})).is_err());
    assert!(check(&plan, json!({"a": 255, "b": -6})).is_err());
}

#[test]
fn what_does_not_fit_is_reported_and_left_out() {
    let bad = [
        ("u8", json!({"maxLength": 3})),
        ("string", json!({"minimum": 3})),
        ("(list u8)", json!({"minLength": 3})),
        ("(option (option u8))", json!({"minimum": 3})),
        ("string", json!({"pattern": "(a"})),
        // Backreferences and look-around take more than linear time.
        ("string", json!({"pattern": "(a)\\1"})),
        ("string", json!({"pattern": "a(?=b)"})),
        ("string", json!({"pattern": "a{20000}"})),
        ("string", json!({"pattern": "a".repeat(PATTERN_BYTES + 1)})),
        ("u8", json!({"minimum": "1"})),
        ("u8", json!({"$ref": "https://example.invalid/"})),
        ("u8", json!({"default": 256})),
        ("u8", json!({"examples": [1, "a"]})),
        ("u8", json!({"examples": 1})),
    ];
    for (ty, keywords) in bad {
        let signature = format!(r#"(param "x" {ty}) (param "y" u8)"#);
        let bare = plan(&[], &signature);
        let plan = narrowed(&[], &signature, &[("param/x", keywords.clone())]);
        assert_eq!(plan.findings().len(), 1, "{keywords}");
        assert!(plan.findings()[0].starts_with("`param/x`: "), "{:?}", plan.findings());
        assert_eq!(plan.input_schema(), bare.input_schema(), "{keywords}");
    }
}

#[test]
fn a_default_that_its_own_bounds_refuse_is_reported() {
    let keywords = json!({"minimum": 10, "default": 5});
    let plan = narrowed(&[], r#"(param "x" u8) (param "y" u8)"#, &[("param/x", keywords)]);
    assert_eq!(plan.findings().len(), 1);
    assert_eq!(plan.input_schema()["properties"]["x"].get("default"), None);
    assert_eq!(plan.input_schema()["properties"]["x"]["minimum"], 10);
}

#[test]
fn what_a_tool_returns_is_described_and_not_narrowed() {
    let plan = narrowed(&[], "(result u8)", &[("result", json!({"maximum": 5}))]);
    assert_eq!(plan.output_schema().unwrap()["properties"]["result"]["maximum"], 255);
    assert_eq!(returned(&plan, Val::U8(200)).value, Some(json!(200)));
}
