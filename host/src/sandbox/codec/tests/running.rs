//! Real components that echo, called through both paths.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wasmtime::component::Linker;
use wasmtime::component::types::ComponentItem;
use wasmtime::{Config, Engine, Store};

use super::super::invoke;
use super::super::limits::DYNAMIC_BYTES;
use super::super::route::Route;
use super::*;
use crate::contract::result::AttachmentKind;

const MODULE: &str = r#"
  (core module $m
    (memory (export "memory") 64)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3))))
    (func (export "nothing") (param i32 i32))
    (func (export "pair") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16))
    (func (export "second") (param i32 i32 i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 2))
      (i32.store (i32.const 20) (local.get 3))
      (i32.const 16))
    (func (export "case") (param $case i32) (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get $case))
      (i32.store (i32.const 20) (local.get 1))
      (i32.store (i32.const 24) (local.get 2))
      (i32.const 16))
    (func (export "fail") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (i32.const 1))
      (i32.store (i32.const 20) (local.get 0))
      (i32.store (i32.const 24) (local.get 1))
      (i32.const 16))
    (func (export "image") (param i32 i32) (result i32)
      (i32.store8 (i32.const 64) (i32.const 1))
      (i32.store (i32.const 72) (local.get 0))
      (i32.store (i32.const 76) (local.get 1))
      (i32.store (i32.const 80) (local.get 0))
      (i32.store (i32.const 84) (local.get 1))
      (i32.store (i32.const 16) (i32.const 64))
      (i32.store (i32.const 20) (i32.const 1))
      (i32.const 16))
    (func (export "reading") (param i32 i64) (result i32)
      (i32.store8 (i32.const 16) (i32.const 0))
      (i32.store (i32.const 24) (local.get 0))
      (i64.store (i32.const 32) (local.get 1))
      (i32.const 16)))
  (core instance $i (instantiate $m))
"#;

/// A component that exports `f` over one function of the module.
fn component(types: &str, signature: &str, body: &str) -> (Component, FunctionPlan, Store<()>) {
    let mut config = Config::new();
    config.concurrency_support(false);
    let engine = Engine::new(&config).unwrap();
    let text = format!(
        r#"(component {MODULE} {types}
             (func (export "f") {signature}
               (canon lift (core func $i "{body}")
                 (memory (core memory $i "memory")) (realloc (core func $i "realloc")))))"#
    );
    let component = Component::from_binary(&engine, &wat::parse_str(&text).unwrap()).unwrap();
    let export = component.component_type().get_export(&engine, "f").unwrap().ty;
    let ComponentItem::ComponentFunc(ty) = export else { panic!("{export:?}") };
    let plan = FunctionPlan::new(&ty, &Words::default(), true).unwrap();
    (component, plan, Store::new(&engine, ()))
}

async fn run(
    (component, plan, mut store): (Component, FunctionPlan, Store<()>),
    arguments: Value,
) -> wasmtime::Result<Returned> {
    let linker = Linker::new(store.engine());
    let instance = linker.instantiate_async(&mut store, &component).await?;
    let func = instance.get_func(&mut store, "f").unwrap();
    let checked = plan.check(object(arguments)).unwrap();
    invoke(func, &mut store, &plan, &checked, &call_id()).await
}

#[tokio::test]
async fn a_record_goes_in_and_comes_back_in_a_result() {
    let types = r#"
      (type $reading' (record (field "x" u32) (field "taken-at" s64)))
      (export $reading "reading" (type $reading'))"#;
    let echo = component(
        types,
        r#"(param "r" $reading) (result (result $reading (error string)))"#,
        "reading",
    );
    let returned = run(echo, json!({"taken-at": "-9007199254740993", "x": 7.0})).await.unwrap();
    assert_eq!((returned.case, returned.wrapped), (ReturnCase::Ok, false));
    let text = returned.value.unwrap().to_string();
    assert_eq!(text, r#"{"x":7,"taken_at":"-9007199254740993"}"#);
}

#[tokio::test]
async fn a_string_echoes_by_dynamic_values() {
    let echo = component("", r#"(param "text" string) (result string)"#, "pair");
    assert_eq!(echo.1.route(), Route::Dynamic);
    let returned = run(echo, json!({"text": "é\u{0}👍"})).await.unwrap();
    assert_eq!((returned.value, returned.wrapped), (Some(json!("é\u{0}👍")), true));
}

#[tokio::test]
async fn bytes_on_the_typed_path_cost_a_byte_each() {
    let bytes: Vec<u8> = (0..=255).cycle().take(4 * DYNAMIC_BYTES).collect();
    let mut echo = component("", r#"(param "data" (list u8)) (result (list u8))"#, "pair");
    assert_ne!(echo.1.route(), Route::Dynamic);
    echo.2.set_hostcall_fuel(bytes.len() + 1024);
    let returned = run(echo, json!({"data": STANDARD.encode(&bytes)})).await.unwrap();
    assert_eq!(returned.attachments[0].bytes, bytes);
    assert_eq!(returned.attachments[0].size, bytes.len() as u64);
    assert_eq!(returned.value, Some(json!("belljar://result/c/0")));
}

#[tokio::test]
async fn bytes_off_the_typed_path_still_work_and_cost_more() {
    let signature = r#"(param "case" u32) (param "data" (list u8))
                       (result (result (list u8) (error (list u8))))"#;
    for (case, expected) in [(0, ReturnCase::Ok), (1, ReturnCase::Err)] {
        let mut echo = component("", signature, "case");
        assert_eq!(echo.1.route(), Route::Dynamic);
        echo.2.set_hostcall_fuel(1024);
        let returned = run(echo, json!({"case": case, "data": "AP8K"})).await.unwrap();
        assert_eq!(returned.case, expected);
        assert_eq!(returned.attachments[0].bytes, [0, 255, 10]);
    }
    let mut echo = component("", signature, "case");
    echo.2.set_hostcall_fuel(1024);
    let given = json!({"case": 0, "data": STANDARD.encode([0; 100])});
    assert!(run(echo, given).await.is_err());
}

#[tokio::test]
async fn every_typed_return_keeps_its_case() {
    let bytes = component(
        "",
        r#"(param "d" (list u8)) (result (result (list u8) (error string)))"#,
        "fail",
    );
    let returned = run(bytes, json!({"d": "bm8="})).await.unwrap();
    assert_eq!((returned.case, returned.value), (ReturnCase::Err, Some(json!("no"))));
    assert!(returned.attachments.is_empty());

    let unit = component("", r#"(param "d" (list u8)) (result (result (error string)))"#, "fail");
    assert_ne!(unit.1.route(), Route::Dynamic);
    let returned = run(unit, json!({"d": "bm8="})).await.unwrap();
    assert_eq!((returned.case, returned.value), (ReturnCase::Err, Some(json!("no"))));

    let text = component("", r#"(param "d" (list u8)) (result string)"#, "pair");
    let returned = run(text, json!({"d": "bm8="})).await.unwrap();
    assert_eq!((returned.case, returned.value), (ReturnCase::Plain, Some(json!("no"))));
    assert!(returned.wrapped);

    let nothing = component("", r#"(param "d" (list u8))"#, "nothing");
    assert_ne!(nothing.1.route(), Route::Dynamic);
    let returned = run(nothing, json!({"d": "bm8="})).await.unwrap();
    assert_eq!((returned.case, returned.value), (ReturnCase::Plain, None));

    let both =
        component("", r#"(param "n" string) (param "d" (list u8)) (result (list u8))"#, "second");
    assert_ne!(both.1.route(), Route::Dynamic);
    let returned = run(both, json!({"d": "bm8=", "n": "other"})).await.unwrap();
    assert_eq!(returned.attachments[0].bytes, b"no");
}

#[tokio::test]
async fn arguments_that_were_not_checked_are_an_error_on_both_paths() {
    for (signature, body) in [
        (r#"(param "d" (list u8)) (result (list u8))"#, "pair"),
        (r#"(param "text" string) (result string)"#, "pair"),
    ] {
        let (component, plan, mut store) = component("", signature, body);
        let linker = Linker::new(store.engine());
        let instance = linker.instantiate_async(&mut store, &component).await.unwrap();
        let func = instance.get_func(&mut store, "f").unwrap();
        let wrong = object(json!({"d": 3, "text": 3}));
        let error = invoke(func, &mut store, &plan, &wrong, &call_id()).await.unwrap_err();
        assert!(error.downcast_ref::<super::super::ToValError>().is_some(), "{error:?}");
    }
}

#[tokio::test]
async fn rich_output_goes_by_the_typed_path() {
    let types: Vec<String> = rich::OUTPUT
        .iter()
        .map(|(name, definition)| {
            format!(r#"(type ${name}' {definition}) (export ${name} "{name}" (type ${name}'))"#)
        })
        .collect();
    let signature = r#"(param "text" string) (result $output)"#;
    let echo = component(&types.join("\n"), signature, "image");
    assert_ne!(echo.1.route(), Route::Dynamic);
    let returned = run(echo, json!({"text": "image/png"})).await.unwrap();
    assert_eq!((returned.value, returned.wrapped), (Some(json!("")), false));
    let [image] = returned.attachments.as_slice() else { panic!("{:?}", returned.attachments) };
    assert_eq!(image.kind, AttachmentKind::Image);
    assert_eq!(image.mime_type.as_deref(), Some("image/png"));
    assert_eq!(image.bytes, b"image/png");
}
