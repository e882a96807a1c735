//! Tests of the codec as a whole; each file says which part.
//!
//! Must not test one function where its own file can.

mod bounds;
mod decode;
mod defects;
mod random;
mod rich;
mod running;
mod table;
mod words;

use serde_json::{Map, Value, json};
use wasmtime::Engine;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, Val};

use super::words::{Word, Words};
use super::{FunctionPlan, PlanError};
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{ReturnCase, Returned};
use crate::contract::ids::CallId;

/// The type of a function `f` of an imported instance, with named types as component text.
fn function(types: &[(&str, &str)], signature: &str) -> ComponentFunc {
    let named = types.iter().map(|(name, definition)| {
        format!(r#"(type ${name}' {definition}) (export "{name}" (type ${name} (eq ${name}')))"#)
    });
    let named = named.collect::<Vec<_>>().join("\n");
    imported(&format!(r#"{named} (export "f" (func {signature}))"#))
}

/// The function `f` of an imported instance with these declarations.
fn imported(declarations: &str) -> ComponentFunc {
    let text = format!(r#"(component (import "i" (instance {declarations})))"#);
    let engine = Engine::default();
    let component = Component::from_binary(&engine, &wat::parse_str(&text).unwrap()).unwrap();
    let import = component.component_type().get_import(&engine, "i").unwrap().ty;
    let ComponentItem::ComponentInstance(instance) = import else { panic!("{import:?}") };
    match instance.get_export(&engine, "f").unwrap().ty {
        ComponentItem::ComponentFunc(ty) => ty,
        other => panic!("{other:?}"),
    }
}

fn try_plan(types: &[(&str, &str)], signature: &str) -> Result<FunctionPlan, PlanError> {
    FunctionPlan::new(&function(types, signature), &Words::default(), false)
}

fn plan(types: &[(&str, &str)], signature: &str) -> FunctionPlan {
    try_plan(types, signature).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

fn check(plan: &FunctionPlan, arguments: Value) -> Result<Value, Vec<ArgumentFailure>> {
    plan.check(object(arguments)).map(Value::Object)
}

/// What the one failure says, with its place.
fn refusal(plan: &FunctionPlan, arguments: Value) -> String {
    let failures = check(plan, arguments).unwrap_err();
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    format!("{}: {}", failure.path, failure.message)
}

fn call_id() -> CallId {
    "c".parse().unwrap()
}

fn returned(plan: &FunctionPlan, value: Val) -> Returned {
    plan.from_val(Some(value), &call_id()).unwrap()
}

fn words(items: &[(&str, &str, Value)]) -> Words {
    let items = items.iter().map(|(path, description, narrowing)| {
        let description = Some((*description).to_owned());
        ((*path).to_owned(), Word { description, narrowing: narrowing.as_object().cloned() })
    });
    Words { items: items.collect() }
}

#[test]
fn a_function_without_parameters_takes_an_empty_object() {
    let plan = plan(&[], "");
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert_eq!(plan.input_schema(), &schema);
    assert_eq!(plan.output_schema(), None);
    assert_eq!(check(&plan, json!({})), Ok(json!({})));
    assert!(refusal(&plan, json!({"x": 1})).contains("takes no arguments"));
    let returned = plan.from_val(None, &call_id()).unwrap();
    assert_eq!((returned.value, returned.wrapped), (None, false));
}
