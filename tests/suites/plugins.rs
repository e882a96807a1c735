//! Plugins of every kind at load: their names, their words, what is no tool, and what is kept.

mod linked;
mod loading;
mod lowered;
mod names;
mod sections;

use belljar::app::App;
use belljar::registry::LoadedPlugin;

use super::harness::{folder_with, plugins, start};

/// Core code that answers 7, lifted as `$f`; `g` does so whatever three numbers it is given.
const SEVEN: &str = r#"
    (core module $m
        (func (export "f") (result i32) (i32.const 7))
        (func (export "g") (param i32 i32 i32) (result i32) (i32.const 7)))
    (core instance $i (instantiate $m))
    (func $f (result u32) (canon lift (core func $i "f")))
"#;

/// A component with [`SEVEN`] and what else it is to hold.
fn seven(rest: &str) -> Vec<u8> {
    let text = format!("(component {SEVEN} {rest})");
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Loads one component from a file of this name.
fn load(stem: &str, bytes: &[u8]) -> App {
    start(&plugins(&folder_with(&[(stem, bytes)])))
}

fn only_plugin(app: &App) -> &LoadedPlugin {
    let [plugin] = app.host.catalog().plugins() else { panic!("not one plugin") };
    plugin
}

fn tools(app: &App) -> Vec<String> {
    app.host.catalog().descriptors().map(|tool| tool.id.to_string()).collect()
}
