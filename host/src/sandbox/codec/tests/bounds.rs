//! The caps of the codec, each with a test that would fail if it were gone.

use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::FromValError;
use super::super::limits::SCHEMA_BYTES;
use super::super::limits::{ATTACHMENTS, DEPTH, DYNAMIC_BYTES, FAILURES, NAMES_LISTED, NODES};
use super::*;

fn lists(depth: usize) -> String {
    format!("{}bool{}", "(list ".repeat(depth), ")".repeat(depth))
}

#[test]
fn types_nested_too_deep_are_refused() {
    let fits = lists(DEPTH - 1);
    assert!(try_plan(&[], &format!(r#"(param "x" {fits}) (result {fits})"#)).is_ok());
    let deep = lists(DEPTH);
    let error = try_plan(&[], &format!(r#"(param "x" {deep})"#)).unwrap_err();
    assert_eq!(error, PlanError::Depth { path: "param/x".into(), most: DEPTH });
    let error = try_plan(&[], &format!("(result {deep})")).unwrap_err();
    assert_eq!(error, PlanError::Depth { path: "result".into(), most: DEPTH });
}

#[test]
fn t45_records_that_double_are_refused_by_their_number() {
    let names: Vec<String> = (0..13).map(|n| format!("t{n}")).collect();
    let definitions: Vec<String> = (0..13)
        .map(|n| match n {
            0 => r#"(record (field "a" u8))"#.to_owned(),
            n => {
                let before = n - 1;
                format!(r#"(record (field "a" $t{before}) (field "b" $t{before}))"#)
            }
        })
        .collect();
    let types: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(definitions.iter().map(String::as_str)).collect();
    assert!(try_plan(&types, r#"(param "x" $t6)"#).is_ok());
    let error = try_plan(&types, r#"(param "x" $t12)"#).unwrap_err();
    assert_eq!(error, PlanError::Nodes { most: NODES });
}

#[test]
fn a_schema_that_no_model_has_room_for_is_refused() {
    let ty = function(&[], r#"(param "x" u8) (param "y" u8) (result u8)"#);
    let text = "a".repeat(SCHEMA_BYTES / 2);
    let one = words(&[("param/x", &text, Value::Null), ("result", &text, Value::Null)]);
    assert!(FunctionPlan::new(&ty, &one, false).is_ok());
    let two = words(&[("param/x", &text, Value::Null), ("param/y", &text, Value::Null)]);
    let error = FunctionPlan::new(&ty, &two, false).unwrap_err();
    assert_eq!(error, PlanError::Schema { which: "input", most: SCHEMA_BYTES });
    let text = text.repeat(2);
    let result = words(&[("result", &text, Value::Null)]);
    let error = FunctionPlan::new(&ty, &result, false).unwrap_err();
    assert_eq!(error, PlanError::Schema { which: "output", most: SCHEMA_BYTES });
    // Each of these is one character in words and six in JSON.
    let escaped = words(&[("param/x", &"\u{1}".repeat(SCHEMA_BYTES / 4), Value::Null)]);
    assert!(FunctionPlan::new(&ty, &escaped, false).is_err());
}

#[test]
fn types_that_are_not_plain_values_are_named_with_their_place() {
    let own = imported(
        r#"(export "r" (type $r (sub resource)))
           (export "f" (func (param "x" (list (tuple u8 (own $r))))))"#,
    );
    let error = FunctionPlan::new(&own, &Words::default(), false).unwrap_err();
    let sentence = "`param/x/1` is a resource, expected a type with plain values";
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn failures_beyond_the_bound_are_counted() {
    let plan = plan(&[], r#"(param "x" (list u16))"#);
    let few = check(&plan, json!({"x": vec!["a"; FAILURES]})).unwrap_err();
    assert_eq!(few.len(), FAILURES);
    let many = check(&plan, json!({"x": vec!["a"; FAILURES + 10]})).unwrap_err();
    assert_eq!(many.len(), FAILURES + 1);
    assert_eq!(many[FAILURES].message, "and 10 more");
}

#[test]
fn valid_names_beyond_the_bound_are_counted() {
    let parameters: String = (0..40).map(|n| format!(r#"(param "p{n}" (option u8)) "#)).collect();
    let message = refusal(&plan(&[], &parameters), json!({"p9x": 1}));
    assert!(message.contains("expected one of `p9`, "), "{message}");
    assert_eq!(message.matches('`').count(), 2 * (NAMES_LISTED + 1), "{message}");
    assert!(message.ends_with("and 28 more"), "{message}");
}

#[test]
fn byte_lists_off_the_typed_path_have_a_smaller_cap_that_counts_them_together() {
    let encoded = |bytes: usize| base64::Engine::encode(&STANDARD, vec![0; bytes]);
    let dynamic = plan(&[], r#"(param "a" (list u8)) (param "b" (list u8))"#);
    let half = encoded(DYNAMIC_BYTES / 2);
    assert!(check(&dynamic, json!({"a": half, "b": half})).is_ok());
    let more = encoded(DYNAMIC_BYTES / 2 + 1);
    assert!(refusal(&dynamic, json!({"a": half, "b": more})).contains("409600 bytes"));
    // The one parameter on the typed path takes what arguments may hold.
    let typed = plan(&[], r#"(param "a" (list u8))"#);
    assert!(check(&typed, json!({"a": encoded(4 * DYNAMIC_BYTES)})).is_ok());
}

#[test]
fn attachments_beyond_the_bound_are_an_error() {
    let plan = plan(&[], "(result (list (list u8)))");
    let empties = |count| Val::List(vec![Val::List(Vec::new()); count]);
    assert_eq!(returned(&plan, empties(ATTACHMENTS)).attachments.len(), ATTACHMENTS);
    let error = plan.from_val(Some(empties(ATTACHMENTS + 1)), &call_id()).unwrap_err();
    assert_eq!(error, FromValError::Attachments { most: ATTACHMENTS });
}
