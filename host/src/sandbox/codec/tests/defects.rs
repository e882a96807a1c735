//! Defects that other hosts of components were found with, one a test (WH-12, JS-07 to JS-12).

use serde_json::{Value, json};

use super::*;

#[test]
fn wh12_an_optional_parameter_is_not_required() {
    let plan = plan(&[], r#"(param "a" string) (param "b" (option string))"#);
    assert_eq!(plan.input_schema()["required"], json!(["a"]));
    let checked = object(check(&plan, json!({"a": "x"})).unwrap());
    let values = plan.to_vals(&checked).unwrap();
    assert_eq!(values, [Val::String("x".into()), Val::Option(None)]);
}

#[test]
fn wh12_an_unknown_flag_is_refused_and_not_dropped() {
    let plan = plan(&[("set", r#"(flags "read" "write")"#)], r#"(param "f" $set)"#);
    let message = refusal(&plan, json!({"f": ["read", "wriet"]}));
    assert_eq!(message, "/f/1: `wriet` is none of the valid values: `write`, `read`");
}

#[test]
fn wh12_an_option_inside_an_option_keeps_three_values_apart() {
    let plan = plan(&[], r#"(param "x" (option (option bool))) (param "y" u8)"#);
    let value = |given: Value| {
        let checked = object(check(&plan, given).unwrap());
        plan.to_vals(&checked).unwrap().swap_remove(0)
    };
    let some = |inner| Val::Option(Some(Box::new(Val::Option(inner))));
    assert_eq!(value(json!({"y": 0})), Val::Option(None));
    assert_eq!(value(json!({"y": 0, "x": null})), Val::Option(None));
    assert_eq!(value(json!({"y": 0, "x": {"some": null}})), some(None));
    let inner = Some(Box::new(Val::Bool(true)));
    assert_eq!(value(json!({"y": 0, "x": {"some": true}})), some(inner));
}

#[test]
fn wh12_a_single_is_not_widened() {
    let plan = plan(&[], "(result f32)");
    for (number, text) in [(0.1, "0.1"), (16_777_216.0, "16777216"), (1.5e-45, "1e-45")] {
        assert_eq!(returned(&plan, Val::Float32(number)).value.unwrap().to_string(), text);
    }
}

#[test]
fn wh12_what_is_not_finite_comes_out_as_null() {
    let (single, double) = (plan(&[], "(result f32)"), plan(&[], "(result f64)"));
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(returned(&single, Val::Float32(number)).value, Some(Value::Null));
        assert_eq!(returned(&double, Val::Float64(number.into())).value, Some(Value::Null));
    }
}

#[test]
fn wh12_a_large_integer_comes_out_as_its_decimal_string() {
    let (unsigned, signed) = (plan(&[], "(result u64)"), plan(&[], "(result s64)"));
    let rows = [
        (Val::U64(9_007_199_254_740_991), json!(9_007_199_254_740_991_u64)),
        (Val::U64(9_007_199_254_740_992), json!("9007199254740992")),
        (Val::U64(u64::MAX), json!("18446744073709551615")),
    ];
    for (value, json) in rows {
        assert_eq!(returned(&unsigned, value).value, Some(json));
    }
    let least = returned(&signed, Val::S64(i64::MIN)).value;
    assert_eq!(least, Some(json!("-9223372036854775808")));
    let edge = returned(&signed, Val::S64(-9_007_199_254_740_991)).value;
    assert_eq!(edge, Some(json!(-9_007_199_254_740_991_i64)));
}

#[test]
fn js07_json_in_a_string_is_read_where_the_type_takes_no_string_and_nowhere_else() {
    let types = [("o", r#"(record (field "x" u8))"#)];
    let plan =
        plan(&types, r#"(param "opts" $o) (param "ids" (list u16)) (param "content" string)"#);
    let given = json!({"opts": "{\"x\":1}", "ids": "[1,2]", "content": "{\"x\":1}"});
    let read = json!({"opts": {"x": 1}, "ids": [1, 2], "content": "{\"x\":1}"});
    assert_eq!(check(&plan, given), Ok(read.clone()));
    assert_eq!(check(&plan, read.clone()), Ok(read));
}

#[test]
fn js09_a_misspelt_argument_is_refused_with_the_valid_names_nearest_first() {
    let plan = plan(&[], r#"(param "path" string) (param "line-limit" (option u32))"#);
    let message = refusal(&plan, json!({"path": "a", "line_limitt": 5}));
    assert_eq!(message, ": unknown name `line_limitt`, expected one of `line_limit`, `path`");
}

#[test]
fn js02_both_spellings_of_one_name_are_a_duplicate_at_every_level() {
    let types = [("o", r#"(record (field "a-b" (option u8)))"#)];
    let plan = plan(&types, r#"(param "x-y" $o) (param "z" (option u8))"#);
    let twice = json!({"x-y": {"a-b": 1, "a_b": 1}});
    assert!(refusal(&plan, twice).starts_with("/x_y: `a_b` is given twice"));
    let twice = json!({"x-y": {}, "x_y": {}});
    assert!(refusal(&plan, twice).starts_with(": `x_y` is given twice"));
}

#[test]
fn js10_the_text_null_is_a_string() {
    let plan = plan(&[], r#"(param "x" (option string)) (param "y" u8)"#);
    let checked = check(&plan, json!({"x": "null", "y": 0})).unwrap();
    assert_eq!(checked["x"], "null");
    let checked = check(&plan, json!({"x": null, "y": 0})).unwrap();
    assert_eq!(checked, json!({"y": 0}));
}

#[test]
fn js12_no_root_has_a_combinator_or_is_anything_but_an_object() {
    let types = [("v", r#"(variant (case "a") (case "b" u8))"#)];
    for (parameters, result) in [
        (r#"(param "v" $v)"#, "string"),
        (r#"(param "v" (option $v))"#, "$v"),
        (r#"(param "v" (list $v))"#, "(option (tuple u8))"),
        (r#"(param "v" (result $v))"#, "(result (result u8))"),
    ] {
        let plan = plan(&types, &format!("{parameters} (result {result})"));
        for schema in [plan.input_schema(), plan.output_schema().unwrap()] {
            assert_eq!(schema["type"], "object");
            for combinator in ["oneOf", "anyOf", "allOf", "enum", "not", "$ref"] {
                assert_eq!(schema.get(combinator), None, "{schema}");
            }
        }
        assert_eq!(plan.output_schema().unwrap()["required"], json!(["result"]));
    }
}

#[test]
fn every_failure_is_named_by_its_place_and_not_only_the_first() {
    let types = [("o", r#"(record (field "a-b" (list u8)) (field "c" (tuple s8 bool)))"#)];
    let plan = plan(&types, r#"(param "os" (list $o)) (param "n" u8)"#);
    let given = json!({"os": [{"a_b": "!", "c": [1, 2]}, {"c": [1, true]}, 3], "n": 300, "z": 1});
    let failures = check(&plan, given).unwrap_err();
    let paths: Vec<_> = failures.iter().map(|failure| failure.path.as_str()).collect();
    assert_eq!(paths, ["", "/os/0/a_b", "/os/0/c/1", "/os/1/a_b", "/os/2", "/n"]);
    assert_eq!(failures[3].message, "missing, expected a base64 string");
    assert_eq!(failures[5].message, "expected an integer from 0 to 255, got 300");
}

#[test]
fn hostile_names_are_escaped_and_clipped_in_messages() {
    let plan = plan(&[], r#"(param "x" u8)"#);
    let name = format!("\u{1b}[2J\u{202e}{}", "a".repeat(10_000));
    let message = refusal(&plan, json!({"x": 1, name: 1}));
    assert!(!message.contains('\u{1b}') && !message.contains('\u{202e}'), "{message:?}");
    assert!(message.len() < 300, "{message}");
}

#[test]
fn values_that_no_check_has_seen_are_an_error_and_no_panic() {
    let types = [("v", r#"(variant (case "a") (case "b" u8))"#)];
    let plan = plan(&types, r#"(param "v" $v) (param "b" (list u8)) (result u8)"#);
    for given in [json!({}), json!({"v": 3, "b": ""}), json!({"v": {"b": 300}, "b": ""})] {
        assert!(plan.to_vals(&object(given)).is_err());
    }
    for value in [Some(Val::Bool(true)), None, Some(Val::U16(3))] {
        let fits = matches!(value, Some(Val::U16(_)));
        assert_eq!(plan.from_val(value, &call_id()).is_ok(), fits);
    }
}
