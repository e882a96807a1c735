//! Arrays and objects that came as their own text: read where nothing else can be meant (T19), and
//! otherwise left as sent (T20).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::limits::{DEPTH, DYNAMIC_BYTES};
use super::*;

/// What the one argument `x` of this type becomes.
fn read(types: &[(&str, &str)], ty: &str, text: &str) -> Result<Value, String> {
    let plan = plan(types, &format!(r#"(param "x" {ty}) (param "more" (option u8))"#));
    match check(&plan, json!({"x": text})) {
        Ok(mut checked) => Ok(checked["x"].take()),
        Err(failures) => {
            assert_eq!(failures.len(), 1, "{failures:?}");
            assert!(failures[0].path.starts_with("/x"), "{failures:?}");
            Err(failures[0].message.clone())
        }
    }
}

const TYPES: [(&str, &str); 3] = [
    ("point", r#"(record (field "a-b" u8) (field "c" (option string)))"#),
    ("set", r#"(flags "read" "write")"#),
    ("carries", r#"(variant (case "one" u8) (case "many" (list u16)))"#),
];

#[test]
fn t19_an_array_or_object_that_came_as_its_text_is_read_where_no_string_fits() {
    let rows = [
        ("(list u16)", "[1, 2]", json!([1, 2])),
        ("(list u16)", " \n[]", json!([])),
        ("(list u16)", "[1.0,1e2]", json!([1, 100])),
        ("(list string)", r#"["a","[1]"]"#, json!(["a", "[1]"])),
        ("(list (list u8))", r#"["AA=="]"#, json!(["AA=="])),
        ("(tuple u8 bool)", "[1,true]", json!([1, true])),
        ("$set", r#"["write","read"]"#, json!(["read", "write"])),
        ("$point", r#"{"c":"{}","a-b":1}"#, json!({"a_b": 1, "c": "{}"})),
        ("(option (list bool))", "[true]", json!([true])),
        ("(option $point)", r#"{"a_b":1,"c":null}"#, json!({"a_b": 1})),
        ("(option (option string))", r#"{"some":"x"}"#, json!({"some": "x"})),
        ("$carries", r#"{"many":[1]}"#, json!({"many": [1]})),
        ("(result u8 (error string))", r#"{"err":"no"}"#, json!({"err": "no"})),
        ("(result)", r#"{"ok":null}"#, json!({"ok": null})),
    ];
    for (ty, text, value) in rows {
        assert_eq!(read(&TYPES, ty, text), Ok(value), "{ty}: {text}");
    }
}

#[test]
fn t19_it_is_read_below_the_root_and_beside_what_came_as_itself() {
    let types = [("o", r#"(record (field "ids" (list u16)) (field "name" string))"#)];
    let plan = plan(&types, r#"(param "os" (list $o)) (param "n" u8)"#);
    let read = json!({"os": [{"ids": [1], "name": "[1]"}, {"ids": [2], "name": ""}], "n": 0});
    let given = json!({"os": [{"ids": "[1]", "name": "[1]"}, r#"{"ids":[2],"name":""}"#], "n": 0});
    assert_eq!(check(&plan, given), Ok(read));
}

#[test]
fn t19_a_text_is_read_once_and_texts_inside_it_stay() {
    let inner = read(&TYPES, "(list (list u16))", r#"["[1]"]"#).unwrap_err();
    assert_eq!(
        inner,
        "expected an array, got a string; read as JSON, it doesn't fit: `/0`: expected an array, \
         got a string that holds JSON: pass the value itself, not its text"
    );
    let twice = json!("[1]").to_string();
    let twice = read(&TYPES, "(list u16)", &twice).unwrap_err();
    assert_eq!(twice, "expected an array, got a string");
}

#[test]
fn t19_what_does_not_fit_is_refused_and_the_reason_is_said() {
    for (ty, text, why) in [
        ("(list u16)", "[1,2", "read as JSON, it is truncated: it stops at line 1 column 5"),
        ("(list u16)", "[1,]", "read as JSON, it has a fault: trailing comma at line 1 column 4"),
        ("(list u16)", "[1] 2", "read as JSON, it goes on after its end, at line 1 column 5"),
        (
            "(list u16)",
            "[1,\"a\",70000]",
            "read as JSON, it doesn't fit: `/1`: expected an integer",
        ),
        ("(list u16)", "[1,\"a\",70000]", "got a string and more"),
        ("(list u16)", "{\"a\":1}", "got a string that holds JSON"),
        ("$point", r#"{"a_b":1,"a_b":2}"#, "read as JSON, it names `/a_b` twice"),
        ("$point", r#"{"a_b":1,"a-b":2}"#, "read as JSON, it doesn't fit: `a_b` is given twice"),
        ("$point", r#"{"a_b":1,"d":2}"#, "read as JSON, it doesn't fit: unknown name `d`"),
        ("$point", "[1]", "got a string that holds JSON"),
        ("(option (list u16))", "null", "expected an array, got a string"),
    ] {
        let message = read(&TYPES, ty, text).unwrap_err();
        assert!(message.contains(why), "{ty}, {text}: {message}");
    }
}

#[test]
fn t19_what_was_read_meets_the_bounds_of_what_came_as_itself() {
    let deep = read(&[], "(list u16)", &"[".repeat(1 << 20)).unwrap_err();
    assert!(deep.contains(&format!("nested too deep: expected at most {DEPTH} levels")), "{deep}");
    let ty = "(list ".repeat(DEPTH - 1) + "bool" + &")".repeat(DEPTH - 1);
    let deepest = "[".repeat(DEPTH - 1) + &"]".repeat(DEPTH - 1);
    assert!(read(&[], &ty, &deepest).is_ok());

    let ty = function(&[], r#"(param "x" (list u16)) (param "y" u8)"#);
    let few = words(&[("param/x", "", json!({"maxItems": 1}))]);
    let plan = FunctionPlan::new(&ty, &few, false).unwrap();
    assert!(check(&plan, json!({"x": "[1]", "y": 0})).is_ok());
    assert!(refusal(&plan, json!({"x": "[1,2]", "y": 0})).starts_with("/x: "));
}

#[test]
fn t19_byte_lists_that_were_read_count_with_those_beside_them() {
    let half = STANDARD.encode(vec![0; DYNAMIC_BYTES / 2 + 1]);
    let read = json!([half]).to_string();
    for (parameters, full) in [
        (r#"(param "x" (list (list u8))) (param "y" (list u8))"#, "/y"),
        (r#"(param "y" (list u8)) (param "x" (list (list u8)))"#, "/x"),
    ] {
        let plan = plan(&[], parameters);
        assert!(check(&plan, json!({"x": read, "y": ""})).is_ok());
        let message = refusal(&plan, json!({"x": read, "y": half}));
        assert!(message.starts_with(full) && message.contains("409600 bytes"), "{message}");
    }
}

#[test]
fn t20_where_a_string_fits_it_stays_as_sent() {
    let types =
        [("v", r#"(variant (case "all") (case "some" (list u16)))"#), ("e", r#"(enum "a" "b")"#)];
    for (ty, text) in [("string", "[1,2]"), ("(option string)", r#"{"a":1}"#), ("char", "[")] {
        assert_eq!(read(&types, ty, text), Ok(json!(text)), "{ty}");
    }
    for (ty, text, why) in [
        ("(list u8)", "[1,2]", "expected base64"),
        ("(option (list u8))", "[1,2]", "expected base64"),
        ("$v", r#"{"some":[1]}"#, "is none of the valid values"),
        ("(option $v)", r#"{"some":[1]}"#, "is none of the valid values"),
        ("$e", r#"["a"]"#, "is none of the valid values"),
        ("char", "[1]", "expected a string of one character"),
    ] {
        let message = read(&types, ty, text).unwrap_err();
        assert!(message.contains(why), "{ty}: {message}");
    }
}

#[test]
fn t20_what_is_no_array_or_object_is_never_made_from_a_string() {
    for (ty, text) in
        [("bool", "true"), ("u32", "5"), ("f64", "1.5"), ("s8", "[1]"), ("bool", "{}")]
    {
        assert!(read(&[], ty, text).unwrap_err().starts_with("expected "), "{ty}: {text}");
    }
    // Not decoding: a decimal string is a form of its own, for integers that a double can't hold.
    assert_eq!(read(&[], "u64", "5"), Ok(json!(5)));
}
