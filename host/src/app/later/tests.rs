//! Plugins that are compiled while a host serves: what is answered meanwhile, and what is told after.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::{App, PluginSource, Setup, start};
use crate::config::{Sources, from_text};
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd, End, RunnerRefusal};
use crate::contract::descriptor::example;
use crate::contract::effects::Effect;
use crate::contract::grants::{Grants, ToolGrants};
use crate::contract::ids::ToolId;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::result::Usage;
use crate::engine::ports::{FoundTool, ToolListing as _, ToolRunner};
use crate::events::Seen;
use crate::runners::OutsideTools;

/// A folder with plugins, each with one tool that answers with a number, and a store of code.
struct Place(tempfile::TempDir);

impl Place {
    fn new(plugins: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("plugins")).unwrap();
        for (stem, text) in plugins {
            let bytes = wat::parse_str(text).unwrap();
            std::fs::write(place.path().join(format!("plugins/{stem}.wasm")), bytes).unwrap();
        }
        Self(place)
    }

    fn setup(&self) -> Setup {
        let plugins = vec![PluginSource { name: None, path: self.0.path().join("plugins") }];
        let code_folder = Some(self.0.path().join("code"));
        Setup { plugins, code_folder, compile_later: Some(0), ..Setup::default() }
    }

    fn start(&self) -> App {
        start(&self.setup()).unwrap()
    }
}

fn answering(number: u32) -> String {
    format!(
        "(component
            (core module $m (func (export \"f\") (result i32) (i32.const {number})))
            (core instance $i (instantiate $m))
            (func (export \"get\") (result u32) (canon lift (core func $i \"f\"))))"
    )
}

fn ids(app: &App) -> Vec<String> {
    app.tools.list().iter().map(|tool| tool.descriptor.id.to_string()).collect()
}

async fn get(app: &App, tool: &str) -> String {
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), tool, "{}");
    call.permission_level = PermissionLevel::Full;
    app.host.call(call).await.content
}

/// A source outside the catalog that has one tool, which nothing runs.
struct Elsewhere;

impl ArgumentCheck for Elsewhere {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        Ok(args)
    }
}

#[async_trait::async_trait]
impl ToolRunner for Elsewhere {
    async fn run(&self, _tool: &ToolId, _attempt: Attempt) -> AttemptEnd {
        let end = End::Refused(RunnerRefusal::Cancelled);
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

fn elsewhere(id: &str, wire_name: &str) -> OutsideTools {
    let mut descriptor = example(id, Effect::assumed(false));
    descriptor.wire_name = wire_name.to_owned();
    let tool = FoundTool {
        descriptor: Arc::new(descriptor),
        check: Arc::new(Elsewhere),
        grants: ToolGrants::Fixed(Arc::new(Grants::default())),
        owner: None,
    };
    OutsideTools { tools: vec![tool], runner: Arc::new(Elsewhere) }
}

#[test]
fn whoever_comes_first_never_shuts_out_a_plugin_that_is_still_compiled() {
    let place = Place::new(&[("tide-now", &answering(2))]);
    let path = place.0.path().join("sky.wasm");
    std::fs::write(&path, wat::parse_str(answering(1)).unwrap()).unwrap();
    let text = format!("[plugins.sky-now]\npath = {path:?}\ntools.get.wire_name = \"forecast\"\n");
    let config = from_text(&text, Path::new("/belljar.toml"), &Sources::default()).unwrap();
    let mut app = start(&Setup { config, ..place.setup() }).unwrap();
    let put = |id: &str, wire_name: &str| {
        let id: ToolId = id.parse().unwrap();
        app.tools.put_new(&id.plugin, elsewhere(&id.to_string(), wire_name), &[])
    };
    put("sky-now.x", "x").unwrap_err();
    put("web.x", "Forecast").unwrap_err();
    put("tide.now-get", "tide_now-get").unwrap_err();
    put("web.get", "web_get").unwrap();
    app.later.take().unwrap().load_all();
    assert_eq!(ids(&app), ["sky-now.get", "tide-now.get", "web.get"]);
}

#[tokio::test]
async fn the_host_starts_without_what_has_to_be_compiled_and_has_it_afterwards() {
    let place = Place::new(&[("a", &answering(1)), ("b", &answering(2))]);
    let mut app = place.start();
    assert!(ids(&app).is_empty() && app.failed.is_empty());
    let before = *app.tools.revision().borrow();
    let later = app.later.take().unwrap();
    assert_eq!(later.count(), 2);
    assert!(app.host.expects("a") && !app.host.expects("c"));
    later.load_all();
    assert!(!app.host.expects("a"));
    assert_eq!(ids(&app), ["a.get", "b.get"]);
    assert_eq!((get(&app, "a.get").await, get(&app, "b.get").await), ("1".into(), "2".into()));
    assert_eq!(*app.tools.revision().borrow(), before + 2);
}

#[test]
fn what_is_kept_is_there_at_once() {
    let place = Place::new(&[("a", &answering(1))]);
    start(&Setup { compile_later: None, ..place.setup() }).unwrap();
    let app = place.start();
    assert!(app.later.is_none());
    assert_eq!(ids(&app), ["a.get"]);
}

#[test]
fn each_is_announced_and_one_that_cannot_be_loaded_is_left_out_and_told() {
    let unlinkable = "(component (import \"acme:x/y\" (instance)))";
    let place = Place::new(&[("a", unlinkable), ("b", &answering(2))]);
    let mut app = place.start();
    let mut events = app.host.events();
    app.later.take().unwrap().load_all();
    assert_eq!(ids(&app), ["b.get"]);
    let mut told = String::new();
    while let Some(Seen::Event(event)) = events.try_next() {
        told.push_str(&format!("{event:?}\n"));
    }
    for word in ["PluginFailed", "acme:x/y", "PluginLoaded", "ToolsChanged"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn a_name_is_kept_free_for_its_plugin_until_it_is_there() {
    let place = Place::new(&[("a", &answering(1))]);
    let kept = Place::new(&[("a", &answering(2))]);
    start(&Setup { compile_later: None, code_folder: place.setup().code_folder, ..kept.setup() })
        .unwrap();
    // The second is kept and the first isn't: the first has the name all the same.
    let plugins = [place.setup().plugins, kept.setup().plugins].concat();
    let mut app = start(&Setup { plugins, ..place.setup() }).unwrap();
    assert!(ids(&app).is_empty());
    assert!(app.failed[0].error.to_string().contains("`a`"), "{:?}", app.failed);
    let later = app.later.take().unwrap();
    assert_eq!(later.files[0].name.as_str(), "a");
    later.load_all();
    assert_eq!(ids(&app), ["a.get"]);
}

#[test]
fn a_file_that_can_never_be_loaded_is_refused_at_the_start() {
    let place = Place::new(&[]);
    std::fs::write(place.0.path().join("plugins/x.wasm"), "no wasm").unwrap();
    let app = place.start();
    assert!(app.later.is_none());
    assert_eq!(app.failed.len(), 1);
}

#[test]
fn a_plugin_below_the_length_is_compiled_at_once() {
    let place = Place::new(&[("a", &answering(1))]);
    let app = start(&Setup { compile_later: Some(1 << 20), ..place.setup() }).unwrap();
    assert!(app.later.is_none());
    assert_eq!(ids(&app), ["a.get"]);
}

/// A component that exports these instances, `get` in the first alone.
fn exporting(instances: &[&str]) -> String {
    let (first, others) = instances.split_first().unwrap();
    let others = others.iter().map(|name| format!("(export \"{name}\" (instance $types))"));
    format!(
        "(component
            (core module $m (func (export \"f\") (result i32) (i32.const 1)))
            (core instance $i (instantiate $m))
            (func $f (result u32) (canon lift (core func $i \"f\")))
            (instance $api (export \"get\" (func $f)))
            (type $t (record (field \"n\" u32)))
            (instance $types (export \"number\" (type $t)))
            (export \"{first}\" (instance $api)) {})",
        others.collect::<String>()
    )
}

#[test]
fn the_name_that_is_promised_is_the_one_that_it_has_whatever_it_exports() {
    for (instances, name) in [
        (&["acme:weather/api"][..], "weather"),
        (&["acme:weather/api", "acme:weather/types"], "x"),
        (&["acme:weather/api", "acme:sky/types"], "x"),
        (&["acme:weather/api", "exports"], "weather"),
        (&["acme:weather/api", "plain"], "x"),
        (&["acme:weather/api", "wasi:cli/types"], "weather"),
        (&["plain", "acme:weather/types"], "x"),
        (&["exports"], "x"),
    ] {
        let place = Place::new(&[("x", &exporting(instances))]);
        let mut app = place.start();
        let later = app.later.take().unwrap();
        assert_eq!(later.files[0].name.as_str(), name, "{instances:?}");
        later.load_all();
        let found: Vec<_> =
            app.tools.list().iter().map(|tool| tool.descriptor.id.plugin.to_string()).collect();
        // componentize-py's own instance has no tools.
        let expected = if instances == ["exports"] { &[][..] } else { &[name.to_owned()] };
        assert_eq!(found, expected, "{instances:?}");
    }
}

#[test]
fn one_whose_file_has_another_name_in_it_by_then_is_left_out() {
    let place = Place::new(&[("x", &exporting(&["acme:weather/api"]))]);
    let mut app = place.start();
    let mut events = app.host.events();
    let bytes = wat::parse_str(exporting(&["acme:sky/api"])).unwrap();
    std::fs::write(place.0.path().join("plugins/x.wasm"), bytes).unwrap();
    app.later.take().unwrap().load_all();
    assert!(ids(&app).is_empty() && !app.host.expects("weather"));
    let told = std::iter::from_fn(|| events.try_next()).map(|it| format!("{it:?}"));
    assert!(told.collect::<String>().contains("it was taken for `weather` and is `sky`"));
}

#[test]
fn one_beyond_the_bounds_is_refused_at_the_start_and_its_exports_are_never_read() {
    let many = format!("(component {})", "(core module)".repeat(600));
    let place = Place::new(&[("x", &many)]);
    let app = place.start();
    assert!(app.later.is_none());
    let error = app.failed[0].error.to_string();
    assert!(error.contains("more modules and components than the 512"), "{error}");
}
