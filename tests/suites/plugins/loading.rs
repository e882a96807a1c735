//! Loading runs nothing, and a second start uses what the first one made.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use belljar::app::Setup;
use belljar::contract::ids::Digest;
use belljar::contract::limits::{LimitKind, Limits};
use belljar::contract::outcome::Outcome;
use serde_json::json;

use super::{load, only_plugin};
use crate::guests::built;
use crate::suites::harness::{call, code_in, folder_with, plugins, start};

#[tokio::test]
async fn loading_runs_no_code_not_even_a_start_function_that_never_ends() {
    let bytes = built::wat("loop-at-start");
    let folder = folder_with(&[("loop", &bytes)]);
    let mut limits = Limits::default();
    limits.set(LimitKind::Fuel, 1_000_000).unwrap();
    // Were the start function run here, this would never come back: loading has no fuel.
    let app = start(&Setup { limits, ..plugins(&folder) });
    assert_eq!(call(&app, "loop.run", json!({})).await.outcome, Outcome::OutOfFuel);
}

#[test]
fn digest_and_descriptor_are_the_same_at_each_start() {
    let bytes = built::wat("counter");
    let (one, again) = (load("one", &bytes), load("one", &bytes));
    assert_eq!(only_plugin(&one).identity.digest, Digest::of(&bytes));
    assert_eq!(only_plugin(&load("two", &bytes)).identity.digest, Digest::of(&bytes));
    let descriptor = |app: &belljar::app::App| only_plugin(app).tools[0].descriptor.clone();
    assert_eq!(descriptor(&one), descriptor(&again));
}

#[tokio::test]
async fn a_second_start_uses_the_code_that_was_kept_and_answers_the_same() {
    let cache = tempfile::tempdir().unwrap();
    let code = code_in(cache.path());
    let folder = folder_with(&[("greeter", built::rust("stock"))]);
    let setup = Setup { code_folder: Some(code.clone()), ..plugins(&folder) };
    let ask = async || {
        let app = start(&setup);
        let result = call(&app, "greeter.greet", json!({"name": "Ada"})).await;
        (result.outcome, result.content, app.host.catalog().plugins()[0].imports.clone())
    };
    let first = ask().await;
    let kept: Vec<_> = fs::read_dir(&code).unwrap().map(|it| it.unwrap().path()).collect();
    let [file] = &kept[..] else { panic!("{kept:?}") };
    // A file that is written again is another one.
    let made = fs::metadata(file).unwrap().ino();
    assert_eq!(ask().await, first);
    assert_eq!((first.0, first.1.as_str()), (Outcome::Success, "Hello, Ada!"));
    assert_eq!(fs::metadata(file).unwrap().ino(), made, "it was compiled again");
}

#[tokio::test]
async fn hosts_that_start_at_once_keep_each_plugins_code_under_its_own_name() {
    let cache = tempfile::tempdir().unwrap();
    let code = code_in(cache.path());
    let component = |answer: u32| {
        let text = format!(
            r#"(component
                (core module $m (func (export "f") (result i32) (i32.const {answer})))
                (core instance $i (instantiate $m))
                (func (export "get") (result u32) (canon lift (core func $i "f"))))"#
        );
        wat::parse_str(text).unwrap()
    };
    let folders: Vec<_> = (0..24).map(|answer| folder_with(&[("p", &component(answer))])).collect();
    let starts: Vec<_> = folders
        .iter()
        .map(|folder| {
            let setup = Setup { code_folder: Some(code.clone()), ..plugins(folder) };
            std::thread::spawn(move || drop(start(&setup)))
        })
        .collect();
    starts.into_iter().for_each(|it| it.join().unwrap());
    for (answer, folder) in folders.iter().enumerate() {
        let app = start(&Setup { code_folder: Some(code.clone()), ..plugins(folder) });
        assert_eq!(call(&app, "p.get", json!({})).await.content, answer.to_string());
    }
}

/// A function whose result type doubles so many times, beside a plain one.
fn doubling(times: usize) -> Vec<u8> {
    let mut types =
        String::from(r#"(type $r0 (record (field "a" u8))) (export $t0 "t0" (type $r0))"#);
    for n in 1..=times {
        let before = n - 1;
        types.push_str(&format!(
            r#"(type $r{n} (record (field "a" $t{before}) (field "b" $t{before})))
               (export $t{n} "t{n}" (type $r{n}))"#
        ));
    }
    let text = format!(
        r#"(component
            (core module $m
                (memory (export "memory") 1)
                (func (export "fan") (result i32) (i32.const 0))
                (func (export "plain") (result i32) (i32.const 7)))
            (core instance $i (instantiate $m))
            {types}
            (func (export "fan") (result $t{times})
                (canon lift (core func $i "fan") (memory (core memory $i "memory"))))
            (func (export "plain") (result u32) (canon lift (core func $i "plain"))))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn t45_a_type_that_fans_out_is_refused_within_a_budget_and_costs_its_neighbour_nothing() {
    let app = load("fan", &doubling(12));
    let plugin = only_plugin(&app);
    let reason = &plugin.unsupported.iter().find(|it| it.function == "fan").unwrap().reason;
    assert!(reason.contains("too many types"), "{reason}");
    assert_eq!(call(&app, "fan.plain", json!({})).await.content, "7");
    // Walked to its end, the next would be a thousand million types.
    let folder = folder_with(&[("fan", &doubling(30))]);
    let app = belljar::app::start(&plugins(&folder)).unwrap();
    let [failed] = &app.failed[..] else { panic!("{:?}", app.failed) };
    assert!(failed.error.to_string().contains("type size exceeds the limit"), "{failed:?}");
}
