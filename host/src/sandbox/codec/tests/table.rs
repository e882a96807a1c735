//! The table of WIT types: for each its schemas, what it takes, what it refuses, what it gives back.

use serde_json::{Value, json};

use super::*;

/// One type: its schema in and out, arguments with what they become, and what is refused.
struct Row {
    types: &'static [(&'static str, &'static str)],
    ty: &'static str,
    input: Value,
    output: Value,
    /// As given and as the tool sees it.
    taken: Vec<(Value, Value)>,
    refused: Vec<Value>,
}

/// Runs a value through check, component values and back, as a tool that echoes would.
fn holds(row: &Row) {
    let ty = row.ty;
    let plan = plan(row.types, &format!("(result {ty})"));
    let direct = super::plan(row.types, &format!(r#"(param "x" {ty}) (param "y" u8)"#));
    assert_eq!(direct.input_schema()["properties"]["x"], row.input, "{ty}");
    let output = plan.output_schema().unwrap();
    assert_eq!(output["properties"]["result"], row.output, "{ty}");
    for (given, seen) in &row.taken {
        let checked = check(&direct, json!({"x": given, "y": 0})).unwrap();
        assert_eq!(&checked["x"], seen, "{ty}");
        // Equal numbers can print differently; the text is what gets hashed.
        assert_eq!(checked["x"].to_string(), seen.to_string(), "{ty}");
        let value = direct.to_vals(&object(checked)).unwrap().swap_remove(0);
        let returned = returned(&plan, value);
        assert!(returned.wrapped, "{ty}");
        let again = check(&direct, json!({"x": returned.value, "y": 0})).unwrap();
        assert_eq!(&again["x"], seen, "{ty}");
    }
    for given in &row.refused {
        let failures = check(&direct, json!({"x": given, "y": 0})).expect_err(ty);
        assert!(failures[0].path.starts_with("/x"), "{ty}: {failures:?}");
    }
}

fn same<const N: usize>(values: [Value; N]) -> Vec<(Value, Value)> {
    values.into_iter().map(|value| (value.clone(), value)).collect()
}

#[test]
fn bool_string_and_char_are_as_they_are() {
    let simple = |ty, schema: Value, taken, refused| Row {
        types: &[],
        ty,
        input: schema.clone(),
        output: schema,
        taken,
        refused,
    };
    let not_bool = vec![json!("true"), json!(1), Value::Null];
    let bools = same([json!(true), json!(false)]);
    holds(&simple("bool", json!({"type": "boolean"}), bools, not_bool));
    let texts = same([json!(""), json!("{\"x\":1}"), json!("null"), json!("\u{0}é👍")]);
    let not_text = vec![json!(1), Value::Null, json!(["a"])];
    holds(&simple("string", json!({"type": "string"}), texts, not_text));
    let one = json!({"type": "string", "minLength": 1, "maxLength": 1});
    let chars = same([json!("a"), json!("👍"), json!("\u{0}")]);
    holds(&simple("char", one, chars, vec![json!(""), json!("ab"), json!(97)]));
}

#[test]
fn integers_have_exact_bounds_and_are_never_rounded() {
    let narrow: [(&str, i64, i64); 6] = [
        ("u8", 0, 255),
        ("s8", -128, 127),
        ("u16", 0, 65_535),
        ("s16", -32_768, 32_767),
        ("u32", 0, 4_294_967_295),
        ("s32", -2_147_483_648, 2_147_483_647),
    ];
    for (ty, least, greatest) in narrow {
        let schema = json!({"type": "integer", "minimum": least, "maximum": greatest});
        let mut taken = same([json!(least), json!(greatest)]);
        taken.extend([(json!(5.0), json!(5)), (json!(1e2), json!(100)), (json!(-0.0), json!(0))]);
        holds(&Row {
            types: &[],
            ty,
            input: schema.clone(),
            output: schema,
            taken,
            refused: vec![
                json!(least - 1),
                json!(greatest + 1),
                json!(0.5),
                json!("5"),
                json!(1e300),
            ],
        });
    }
}

#[test]
fn wide_integers_are_exact_in_both_directions() {
    let wide = |ty, least: Value, greatest: Value, safe: i64, taken, refused| Row {
        types: &[],
        ty,
        input: json!({"type": "integer", "minimum": least, "maximum": greatest}),
        output: json!({
            "type": ["integer", "string"], "minimum": safe, "maximum": 9_007_199_254_740_991_i64,
        }),
        taken,
        refused,
    };
    let mut taken = same([json!(u64::MAX), json!(9_007_199_254_740_993_u64), json!(0)]);
    taken.push((json!("18446744073709551615"), json!(u64::MAX)));
    taken.push((json!(1e15), json!(1_000_000_000_000_000_u64)));
    // A double can't tell which of two integers was written.
    let mut refused = vec![json!(9_007_199_254_740_992.0), json!(-1), json!("-1"), json!("+1")];
    refused.extend([json!("007"), json!(" 1"), json!("1.0"), json!(""), json!("0x1")]);
    refused.push(json!("18446744073709551616"));
    holds(&wide("u64", json!(0), json!(u64::MAX), 0, taken, refused));
    let mut taken = same([json!(i64::MIN), json!(i64::MAX)]);
    taken.push((json!("-9223372036854775808"), json!(i64::MIN)));
    let refused = vec![json!(u64::MAX), json!("-0"), json!("9223372036854775808")];
    let least = json!(i64::MIN);
    holds(&wide("s64", least, json!(i64::MAX), -9_007_199_254_740_991, taken, refused));
}

#[test]
fn floats_are_numbers_in_and_numbers_or_null_out() {
    let floats = |ty, taken, refused| Row {
        types: &[],
        ty,
        input: json!({"type": "number"}),
        output: json!({"type": ["number", "null"]}),
        taken,
        refused,
    };
    let refused = || vec![json!("1"), json!("NaN"), Value::Null];
    let mut taken = same([json!(0.1), json!(-0.0), json!(1e300), json!(5e-324), json!(3)]);
    taken.push((json!(2.0), json!(2)));
    // What the tool sees is what audit shows.
    taken.push((json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0)));
    holds(&floats("f64", taken, refused()));
    let mut taken = same([json!(0.1), json!(3.402_823_5e38), json!(1e-45)]);
    taken.push((json!(0.123_456_789_012), json!(0.123_456_79)));
    let mut refused = refused();
    refused.push(json!(1e39));
    holds(&floats("f32", taken, refused));
}

#[test]
fn lists_tuples_and_byte_lists() {
    let byte = json!({"type": "integer", "minimum": 0, "maximum": 255});
    holds(&Row {
        types: &[],
        ty: "(list bool)",
        input: json!({"type": "array", "items": {"type": "boolean"}}),
        output: json!({"type": "array", "items": {"type": "boolean"}}),
        taken: same([json!([]), json!([true, false])]),
        refused: vec![json!("[1]"), json!("true"), json!(true), json!([1]), json!({"0": true})],
    });
    let pair = json!({
        "type": "array", "prefixItems": [byte, {"type": "string"}], "items": false,
        "minItems": 2, "maxItems": 2,
    });
    holds(&Row {
        types: &[],
        ty: "(tuple u8 string)",
        input: pair.clone(),
        output: pair,
        taken: vec![(json!([1.0, "a"]), json!([1, "a"]))],
        refused: vec![json!([1]), json!([1, "a", 2]), json!(["a", 1]), json!("[1]")],
    });
    let plan = plan(&[], r#"(param "x" (list u8)) (param "y" u8) (result (list u8))"#);
    let schema = &plan.input_schema()["properties"]["x"];
    assert_eq!(schema, &json!({"type": "string", "contentEncoding": "base64"}));
    let out = &plan.output_schema().unwrap()["properties"]["result"];
    assert_eq!(out, &json!({"type": "string", "format": "uri"}));
    let checked = check(&plan, json!({"x": "AP8K", "y": 1})).unwrap();
    let value = plan.to_vals(&object(checked)).unwrap().swap_remove(0);
    let returned = returned(&plan, value);
    assert_eq!(returned.value, Some(json!("belljar://result/c/0")));
    assert_eq!(returned.attachments[0].bytes, [0, 255, 10]);
    // Not padded, the other alphabet, bits left over, a space, no text at all.
    for bad in [json!("AP8"), json!("_-8="), json!("AP9="), json!("AP 8K"), json!([0, 255])] {
        assert!(refusal(&plan, json!({"x": bad, "y": 1})).contains("base64"), "{bad}");
    }
}

#[test]
fn options_are_null_and_nested_ones_keep_their_level() {
    let text = json!({"type": ["string", "null"]});
    let some = json!({"anyOf": [
        {"type": "object", "properties": {"some": text}, "required": ["some"],
         "additionalProperties": false},
        {"type": "null"},
    ]});
    holds(&Row {
        types: &[],
        ty: "(list (option (option string)))",
        input: json!({"type": "array", "items": some}),
        output: json!({"type": "array", "items": some}),
        taken: same([json!([null, {"some": null}, {"some": "a"}])]),
        refused: vec![json!(["a"]), json!([{"some": 1}]), json!([{}]), json!([{"none": null}])],
    });
}

const POINT: (&str, &str) = ("point", r#"(record (field "x" u8) (field "y-pos" (option string)))"#);

#[test]
fn records_take_both_spellings_and_name_their_fields_in_snake_case() {
    let schema = json!({
        "type": "object",
        "properties": {
            "x": {"type": "integer", "minimum": 0, "maximum": 255},
            "y_pos": {"type": ["string", "null"]},
        },
        "required": ["x"],
        "additionalProperties": false,
    });
    let full = json!({"x": 1, "y_pos": "a"});
    holds(
        &Row {
            types: &[POINT],
            ty: "$point",
            input: schema.clone(),
            output: Value::Null,
            taken: Vec::new(),
            refused: vec![json!({}), json!({"x": 1, "y-pos": 1}), json!("{}"), json!([1])],
        }
        .with_list_output(&schema),
    );
    let plan = plan(&[POINT], r#"(param "p" $point) (param "q" u8) (result $point)"#);
    assert_eq!(plan.output_schema(), Some(&schema));
    let rows = [
        (json!({"y-pos": "a", "x": 1.0}), full.clone()),
        (json!({"y_pos": "a", "x": 1}), full),
        (json!({"x": 1}), json!({"x": 1})),
        (json!({"y_pos": null, "x": 1}), json!({"x": 1})),
        (json!({"x": 1, "y_pos": null}), json!({"x": 1})),
    ];
    for (given, seen) in rows {
        let checked = check(&plan, json!({"p": given, "q": 0})).unwrap();
        assert_eq!(checked["p"].to_string(), seen.to_string());
        let value = plan.to_vals(&object(checked)).unwrap().swap_remove(0);
        let returned = returned(&plan, value);
        assert_eq!(returned.value.unwrap().to_string(), seen.to_string());
        assert!(!returned.wrapped);
    }
}

impl Row {
    /// A record is not wrapped, so its row looks at it inside a list.
    fn with_list_output(mut self, items: &Value) -> Self {
        self.ty = "(list $point)";
        self.input = json!({"type": "array", "items": items});
        self.output = self.input.clone();
        self.refused = self.refused.drain(..).map(|value| json!([value])).collect();
        self
    }
}

#[test]
fn enums_flags_and_variants_are_strings_where_nothing_is_carried() {
    let level = json!({"type": "string", "enum": ["low", "very-high"]});
    holds(&Row {
        types: &[("level", r#"(enum "low" "very-high")"#)],
        ty: "$level",
        input: level.clone(),
        output: level.clone(),
        taken: same([json!("low"), json!("very-high")]),
        refused: vec![json!("Low"), json!("very_high"), json!(0), json!(["low"])],
    });
    let set = json!({"type": "array", "items": level, "uniqueItems": true});
    holds(&Row {
        types: &[("set", r#"(flags "low" "very-high")"#)],
        ty: "$set",
        input: set.clone(),
        output: set,
        taken: vec![
            (json!([]), json!([])),
            (json!(["very-high", "low"]), json!(["low", "very-high"])),
        ],
        refused: vec![json!(["low", "low"]), json!(["none"]), json!({"low": true}), json!("low")],
    });
    let one = |name: &str, schema: Value| {
        json!({"type": "object", "properties": {name: schema}, "required": [name],
               "additionalProperties": false})
    };
    let degrees = json!({"type": "integer", "minimum": -128, "maximum": 127});
    let choice = json!({"oneOf": [{"type": "string", "const": "none"}, one("in-c", degrees)]});
    holds(&Row {
        types: &[("choice", r#"(variant (case "none") (case "in-c" s8))"#)],
        ty: "$choice",
        input: choice.clone(),
        output: choice,
        taken: vec![(json!("none"), json!("none")), (json!({"in-c": 3.0}), json!({"in-c": 3}))],
        refused: vec![
            json!("in-c"),
            json!({"none": null}),
            json!({"in-c": 300}),
            json!({"in-c": 1, "none": null}),
            json!({}),
            json!(3),
        ],
    });
    let null = json!({"type": "null"});
    let result = json!({"oneOf": [one("ok", null), one("err", json!({"type": "string"}))]});
    holds(&Row {
        types: &[],
        ty: "(list (result (error string)))",
        input: json!({"type": "array", "items": result}),
        output: json!({"type": "array", "items": result}),
        taken: same([json!([{"ok": null}, {"err": "a"}])]),
        refused: vec![json!([{"ok": 1}]), json!(["ok"]), json!([{"err": null}]), json!([{}])],
    });
}

#[test]
fn a_returned_result_is_its_ok_type_and_its_error_is_never_output() {
    let plan = plan(&[POINT], r#"(result (result $point (error string)))"#);
    assert_eq!(plan.output_schema().unwrap()["required"], json!(["x"]));
    let error = Val::Result(Err(Some(Box::new(Val::String("no".into())))));
    let error = returned(&plan, error);
    assert_eq!((error.case, error.value), (ReturnCase::Err, Some(json!("no"))));
    assert!(!error.wrapped);

    let unit = super::plan(&[], "(result (result))");
    let wrapped = json!({"type": "object", "properties": {"result": {"type": "null"}},
                         "required": ["result"], "additionalProperties": false});
    assert_eq!(unit.output_schema(), Some(&wrapped));
    let ok = returned(&unit, Val::Result(Ok(None)));
    assert_eq!((ok.case, ok.value, ok.wrapped), (ReturnCase::Ok, Some(Value::Null), true));
    let err = returned(&unit, Val::Result(Err(None)));
    assert_eq!((err.case, err.value), (ReturnCase::Err, Some(Value::Null)));
}

#[test]
fn one_record_parameter_gives_its_fields_as_arguments() {
    let plan = plan(&[POINT], r#"(param "p" $point)"#);
    assert_eq!(plan.input_schema()["required"], json!(["x"]));
    let checked = object(check(&plan, json!({"y-pos": null, "x": 7})).unwrap());
    let fields = vec![("x".into(), Val::U8(7)), ("y-pos".into(), Val::Option(None))];
    assert_eq!(plan.to_vals(&checked).unwrap(), [Val::Record(fields)]);
    // A second parameter ends that.
    let two = super::plan(&[POINT], r#"(param "p" $point) (param "q-r" (option bool))"#);
    assert_eq!(two.input_schema()["required"], json!(["p"]));
    let checked = object(check(&two, json!({"p": {"x": 7}, "q-r": true})).unwrap());
    assert_eq!(two.to_vals(&checked).unwrap().len(), 2);
}
