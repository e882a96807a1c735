//! Where names come from, and what becomes of functions that can't have one.

use belljar::app::{PluginSource, Setup, StartError};
use serde_json::json;

use super::{load, only_plugin, seven, tools};
use crate::suites::harness::{builtins, call, folder_with, with_section};

const BARE: &str = r#"(export "get" (func $f))"#;
const WEATHER: &str = r#"(instance $i1 (export "get" (func $f)))
    (export "acme:weather/current@1.2.0" (instance $i1))"#;

#[test]
fn a_plugins_name_is_its_sections_then_its_packages_then_its_files() {
    let section = json!({"format": 1, "name": "said"}).to_string();
    let said = with_section(&seven(WEATHER), "belljar:plugin", section.as_bytes());
    assert_eq!(tools(&load("stem", &said)), ["said.get"]);
    assert_eq!(tools(&load("stem", &seven(WEATHER))), ["weather.get"]);
    assert_eq!(tools(&load("stem", &seven(BARE))), ["stem.get"]);
}

#[test]
fn the_operators_name_wins() {
    let folder = folder_with(&[("stem", &seven(WEATHER))]);
    let path = folder.path().join("stem.wasm");
    let plugins = vec![PluginSource { name: Some("mine".parse().unwrap()), path }];
    let app = belljar::app::start(&Setup { plugins, ..Setup::default() }).unwrap();
    assert_eq!(tools(&app), ["mine.get"]);
}

#[tokio::test]
async fn a_function_name_that_two_interfaces_share_takes_its_interfaces() {
    let two = seven(
        r#"(instance $a (export "get" (func $f)) (export "only" (func $f)))
        (instance $b (export "get" (func $f)))
        (export "acme:weather/now@1.2.0" (instance $a))
        (export "acme:weather/later@1.2.0" (instance $b))"#,
    );
    let app = load("stem", &two);
    assert_eq!(tools(&app), ["stem.now-get", "stem.only", "stem.later-get"]);
    for tool in tools(&app) {
        assert_eq!(call(&app, &tool, json!({})).await.content, "7", "{tool}");
    }
}

#[test]
fn what_a_toolchain_exports_for_itself_is_no_tool_and_is_listed() {
    let app = load(
        "stem",
        &seven(
            r#"(instance $own (export "init" (func $f)))
            (export "exports" (instance $own))
            (instance $i1 (export "get" (func $f)))
            (export "acme:weather/current@1.2.0" (instance $i1))"#,
        ),
    );
    assert_eq!(tools(&app), ["weather.get"]);
    let [internal] = &only_plugin(&app).unsupported[..] else { panic!("not one is listed") };
    assert_eq!(internal.function, "exports/init");
    assert!(internal.reason.contains("toolchain"), "{internal:?}");
}

#[tokio::test]
async fn a_function_that_cant_be_a_tool_is_listed_and_the_others_work() {
    let app = load(
        "stem",
        &seven(
            r#"(type $r (resource (rep i32)))
            (export $thing "thing" (type $r))
            (func $make (result (own $thing)) (canon lift (core func $i "f")))
            (export "make" (func $make))
            (func $deep (param "a" (tuple u8 (option (borrow $thing)))) (result u32)
                (canon lift (core func $i "g")))
            (export "deep" (func $deep))
            (export "get" (func $f))"#,
        ),
    );
    assert_eq!(tools(&app), ["stem.get"]);
    let unsupported = &only_plugin(&app).unsupported;
    let functions: Vec<_> = unsupported.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(functions, ["make", "deep"]);
    assert!(unsupported.iter().all(|one| one.reason.contains("resource")), "{unsupported:?}");
    assert_eq!(call(&app, "stem.get", json!({})).await.content, "7");
}

#[test]
fn a_plugin_has_a_bounded_number_of_tools_and_what_is_above_is_listed() {
    let exports = |count| -> String {
        (0..count).map(|index| format!("(export \"f{index}\" (func $f))")).collect()
    };
    let full = load("stem", &seven(&exports(256)));
    assert_eq!((tools(&full).len(), only_plugin(&full).unsupported.len()), (256, 0));
    let over = load("stem", &seven(&exports(257)));
    assert_eq!(tools(&over).len(), 256);
    let [last] = &only_plugin(&over).unsupported[..] else { panic!("not one is listed") };
    assert_eq!(last.function, "f256");
    assert!(last.reason.contains("256"), "{last:?}");
}

#[test]
fn tools_that_models_could_not_tell_apart_are_refused_with_both_owners() {
    let folder = folder_with(&[
        ("a", &seven(r#"(export "b-c" (func $f))"#)),
        ("a-b", &seven(r#"(export "c" (func $f))"#)),
    ]);
    let plugin =
        |name: &str| PluginSource { name: None, path: folder.path().join(format!("{name}.wasm")) };
    let plugins = vec![plugin("a"), plugin("a-b")];
    let error = belljar::app::start(&Setup { plugins, ..Setup::default() }).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("`a.b-c`") && said.contains("`a-b.c`"), "{said}");
}

#[test]
fn a_plugin_cant_stand_in_for_a_builtin() {
    let folder = folder_with(&[("search", &seven(BARE))]);
    let plugins = vec![PluginSource { name: None, path: folder.path().join("search.wasm") }];
    let error = belljar::app::start(&Setup { plugins, ..builtins() }).unwrap_err();
    assert!(matches!(error, StartError::Plugin { .. }), "{error}");
    assert!(error.to_string().contains("`search` is the name of two plugins"), "{error}");
}
