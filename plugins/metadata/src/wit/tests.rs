//! WIT folders as authors write them, and the way from there through a component and back.

use std::fmt::Write as _;
use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::limits;
use crate::model::{DirMode, Need};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn read(text: &str) -> (PluginMetadata, Vec<String>) {
    let dir = folder(&[("world.wit", text)]);
    let (plugin, findings) = read_folder(dir.path(), &Identity::default()).unwrap();
    (plugin, findings.iter().map(ToString::to_string).collect())
}

const WEATHER: &str = r#"
/// Docs of the package, which the world's win over.
package acme:weather@1.2.0;

/// Shared shapes.
interface types {
    /// A place on earth.
    record place {
        /// Degrees north.
        /// @schema {"minimum":-90,"maximum":90}
        lat: f64,
        lon: f64,
        /// What people call it.
        label: option<tag>,
    }
    /// A short word.
    type tag = string;
    variant failure {
        /// Nobody knows.
        not-found,
        /// Come back later.
        busy(place),
    }
    flags wanted {
        /// With wind.
        wind,
    }
    enum unit { 
        /// The sensible one.
        celsius,
        fahrenheit,
    }
}

interface weather {
    use types.{place, failure, wanted, unit as measure};

    /// Tells the weather now.
    ///
    /// In words.
    /// @title Weather now
    /// @param place Where to look
    /// @schema days {"minimum":1,"maximum":7}
    /// @example {"place":{"lat":1,"lon":2},"days":3}
    /// @read-only
    /// @locks place
    /// @needs http api.weather.example GET "the forecasts"
    current: func(place: place, days: u8, wanted: wanted, in: measure)
        -> result<list<tuple<string, place>>, failure>;

    /// @param lat_ Wrong.
    /// @param lat Right, though a field.
    /// @locks lon
    near: func(at: place);

    resource station {
        /// Not a tool.
        read: func() -> string;
    }
}

/// Tells the weather.
/// @needs dir ro "maps"
world plugin {
    export weather;
    /// Says hello.
    /// @title Hello
    export greet: func(first-name: string) -> string;
    export local: interface {
        /// Pings.
        ping: func();
    }
}
"#;

#[test]
fn words_of_a_package_are_collected_by_path() {
    let (plugin, findings) = read(WEATHER);
    assert_eq!(plugin.name.as_deref(), Some("weather"));
    assert_eq!(plugin.version.as_deref(), Some("1.2.0"));
    assert_eq!(plugin.description.as_deref(), Some("Tells the weather."));
    assert_eq!(plugin.needs, [Need::Dir { mode: DirMode::ReadOnly, why: "maps".into() }]);
    let paths: Vec<&String> = plugin.functions.keys().collect();
    let [current, near] = ["acme:weather/weather@1.2.0/current", "acme:weather/weather@1.2.0/near"];
    assert_eq!(paths, [current, near, "greet", "local/ping"]);
    assert_eq!(plugin.functions["greet"].docs, "Says hello.");
    assert_eq!(plugin.functions["local/ping"].docs, "Pings.");

    let current = &plugin.functions[current];
    assert_eq!(current.docs, "Tells the weather now.\n\nIn words.");
    assert_eq!(current.tags.title.as_deref(), Some("Weather now"));
    assert!(current.tags.read_only);
    assert_eq!(current.tags.locks, ["place"]);
    assert_eq!(current.needs.len(), 1);
    let expected = json!({
        "param/days": {"schema": {"minimum": 1, "maximum": 7}},
        "param/in/celsius": {"docs": "The sensible one."},
        "param/place": {"docs": "Where to look"},
        "param/place/label": {"docs": "What people call it."},
        "param/place/lat": {"docs": "Degrees north.", "schema": {"minimum": -90, "maximum": 90}},
        "param/wanted/wind": {"docs": "With wind."},
        "result/err/busy": {"docs": "Come back later."},
        "result/err/busy/label": {"docs": "What people call it."},
        "result/err/busy/lat": {"docs": "Degrees north.", "schema": {"minimum": -90, "maximum": 90}},
        "result/err/not-found": {"docs": "Nobody knows."},
        "result/ok/1": {"docs": "A place on earth."},
        "result/ok/1/label": {"docs": "What people call it."},
        "result/ok/1/lat": {"docs": "Degrees north.", "schema": {"minimum": -90, "maximum": 90}},
    });
    assert_eq!(serde_json::to_value(&current.items).unwrap(), expected);

    let near = &plugin.functions[near];
    assert_eq!(near.items["param/at/lat"].docs, "Right, though a field.");
    assert_eq!(near.tags.locks, ["lon"]);
    let wrong = "near: `@param` names the argument `lat_`, expected one of `lat`, `lon`, `label`";
    assert!(findings.len() == 1 && findings[0].ends_with(wrong), "{findings:?}");
}

#[test]
fn what_a_builder_knows_wins() {
    let dir = folder(&[("world.wit", WEATHER)]);
    let some = |text: &str| Some(text.to_owned());
    let identity = Identity {
        world: some("plugin"),
        name: some("sky"),
        version: some("2.0.0"),
        description: some("Looks up."),
        authors: vec!["Ada".into()],
        license: some("MIT"),
        homepage: some("https://sky.example/"),
        source: some("https://sky.example/source"),
        revision: some("abc"),
        toolchain: some("rustc 1.95.0"),
    };
    let (plugin, _) = read_folder(dir.path(), &identity).unwrap();
    assert_eq!(plugin.name, identity.name);
    assert_eq!(plugin.version, identity.version);
    assert_eq!(plugin.description, identity.description);
    assert_eq!(plugin.authors, identity.authors);
    assert_eq!(plugin.license, identity.license);
    assert_eq!(plugin.homepage, identity.homepage);
    assert_eq!(plugin.source, identity.source);
    assert_eq!(plugin.revision, identity.revision);
    assert_eq!(plugin.toolchain, identity.toolchain);
    assert!(!plugin.functions.is_empty());
}

#[test]
fn a_name_that_no_plugin_may_have_is_a_finding() {
    let dir = folder(&[("world.wit", WEATHER)]);
    let identity = Identity { name: Some("My Plugin".into()), ..Identity::default() };
    let (plugin, findings) = read_folder(dir.path(), &identity).unwrap();
    assert_eq!(plugin.name, None);
    assert!(findings.iter().any(|finding| finding.path == "name"), "{findings:?}");
}

#[test]
fn docs_of_the_package_stand_in_for_the_worlds() {
    let (plugin, findings) = read("/// All of it.\npackage a:b;\nworld w { export f: func(); }");
    assert_eq!(plugin.description.as_deref(), Some("All of it."));
    assert_eq!(plugin.version, None);
    assert_eq!(findings, Vec::<String>::new());
}

#[test]
fn dependencies_are_read_and_includes_followed() {
    let shared = "package acme:shared@0.1.0;
        interface shapes {
            record point {
                /// Across.
                x: u32,
            }
        }
        interface draw {
            use shapes.{point};
            /// Draws.
            line: func(to: list<option<point>>);
        }
        world drawing { export draw; }";
    let plugin = "package acme:paint; world plugin { include acme:shared/drawing@0.1.0; }";
    let dir = folder(&[("deps/shared/shared.wit", shared), ("plugin.wit", plugin)]);
    let (plugin, findings) = read_folder(dir.path(), &Identity::default()).unwrap();
    assert_eq!(findings, []);
    let line = &plugin.functions["acme:shared/draw@0.1.0/line"];
    assert_eq!(line.docs, "Draws.");
    assert_eq!(line.items["param/to/x"].docs, "Across.");
}

#[test]
fn a_tag_out_of_place_is_reported_once_however_often_its_type_is_used() {
    let text = "/// @ask
        package a:b;
        /// @offline
        interface i {
            /// @read-only
            record r {
                /// @ask
                a: u8,
            }
            f: func(one: r, two: r) -> r;
        }
        world w { export i; }";
    let (_, findings) = read(text);
    assert_eq!(findings.len(), 4, "{findings:?}");
    assert!(findings.iter().all(|finding| finding.contains("not allowed here")));
}

#[test]
fn an_argument_that_there_is_not_is_a_finding() {
    let (plugin, findings) = read(
        "package a:b;
        world w {
            /// @schema b {\"minimum\":1}
            /// @locks c
            /// @example {\"d\":1, \"first_name\":2}
            export f: func(first-name: string);
            /// @param x Not there.
            export g: func();
        }",
    );
    assert_eq!(findings.len(), 4, "{findings:?}");
    assert!(findings[0].contains("`@schema` names the argument `b`, expected one of `first-name`"));
    assert!(findings[3].contains("the function takes none"));
    assert!(plugin.functions["f"].items.is_empty() && plugin.functions["f"].tags.locks.is_empty());
}

#[test]
fn records_that_double_at_every_level_end_at_the_step_limit() {
    let mut text = String::from("package a:b; interface i { record r0 { a: u8 }");
    for n in 1..=30 {
        write!(text, "record r{n} {{ a: r{0}, b: r{0} }}", n - 1).unwrap();
    }
    text.push_str("f: func(r: r30); } world w { export i; }");
    let (plugin, findings) = read(&text);
    assert_eq!(plugin.functions.len(), 1);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("more than 4096 types below it"));
}

#[test]
fn types_nested_too_deep_and_too_many_items_are_findings() {
    let open = "list<".repeat(limits::TYPE_DEPTH + 1);
    let close = ">".repeat(limits::TYPE_DEPTH + 1);
    let (_, findings) =
        read(&format!("package a:b; world w {{ export f: func(x: {open}u8{close}); }}"));
    assert!(findings.len() == 1 && findings[0].contains("nested deeper than 32"), "{findings:?}");

    let mut cases = String::new();
    for n in 0..limits::ITEMS + 5 {
        write!(cases, "/// Case.\nc{n},").unwrap();
    }
    let (plugin, findings) = read(&format!(
        "package a:b; interface i {{ enum e {{ {cases} }} f: func(x: e); }} world w {{ export i; }}"
    ));
    assert_eq!(plugin.functions["a:b/i/f"].items.len(), limits::ITEMS);
    assert!(findings.len() == 1 && findings[0].contains("expected at most 1024"), "{findings:?}");
}

#[test]
fn folders_that_hold_no_one_world_are_refused_with_what_they_hold() {
    let refused = |files: &[(&str, &str)], world: Option<&str>| {
        let dir = folder(files);
        let identity = Identity { world: world.map(str::to_owned), ..Identity::default() };
        read_folder(dir.path(), &identity).unwrap_err().to_string()
    };
    let missing = read_folder(Path::new("no/such/folder"), &Identity::default()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "`no/such/folder` is not a folder, expected one with a WIT package"
    );
    assert!(refused(&[], None).contains("can't be read"));
    assert!(refused(&[("a.wit", "package a:b; world {")], None).contains("a.wit:1:20"));
    assert!(refused(&[("a.wit", "package a:b;")], None).contains("the package has none"));
    let two = [("a.wit", "package a:b; world one {} world two {}")];
    assert!(
        refused(&two, None)
            .contains("expected exactly one or a name, the package has `one`, `two`")
    );
    assert!(refused(&two, Some("three")).contains("`three` was named"));
    let named = Identity { world: Some("two".into()), ..Identity::default() };
    assert!(read_folder(folder(&two).path(), &named).is_ok());
}

#[cfg(feature = "pack")]
#[test]
fn words_go_from_a_wit_folder_through_a_component_and_back() {
    let dir = folder(&[("world.wit", &WEATHER.replace("    /// @param lat_ Wrong.\n", ""))]);
    let (plugin, findings) = read_folder(dir.path(), &Identity::default()).unwrap();
    assert_eq!(findings, []);
    let wasm = wat::parse_str("(component)").unwrap();
    let reading = crate::section::read(&crate::pack(&wasm, &plugin).unwrap()).unwrap();
    assert_eq!(reading.findings, []);
    assert_eq!(reading.metadata, Some(plugin));
}

mod tool_package;
