//! Every rule on a plugin's words, each with words that break it.

use std::time::Duration;

use serde_json::{Map, json};

use super::*;
use crate::model::Narrowing;

fn plugin() -> PluginMetadata {
    let functions = [("f".to_owned(), FunctionMetadata::default())].into();
    PluginMetadata { functions, ..PluginMetadata::default() }
}

/// The function that `plugin` has.
fn f(plugin: &mut PluginMetadata) -> &mut FunctionMetadata {
    plugin.functions.get_mut("f").unwrap()
}

/// Breaks one rule, expects the finding, and expects that what is left breaks none.
#[track_caller]
fn assert_found(change: impl FnOnce(&mut PluginMetadata), part: &str) -> PluginMetadata {
    let mut plugin = plugin();
    change(&mut plugin);
    let mut findings = Findings::default();
    review(&mut plugin, &mut findings);
    let list = findings.into_vec();
    assert!(list.len() == 1 && list[0].to_string().contains(part), "{list:?}");
    let mut rest = Findings::default();
    review(&mut plugin, &mut rest);
    assert_eq!(rest.into_vec(), []);
    plugin
}

fn longer_than(bytes: usize) -> String {
    "x".repeat(bytes + 1)
}

fn object(value: serde_json::Value) -> Map<String, serde_json::Value> {
    serde_json::from_value(value).unwrap()
}

fn schema(keywords: serde_json::Value) -> ItemMetadata {
    ItemMetadata { schema: object(keywords), ..ItemMetadata::default() }
}

#[test]
fn bad_identities_are_found() {
    let set = |text: &str| Some(text.to_owned());
    let long_name = "a".repeat(limits::NAME_BYTES + 1);
    let names = ["", "Files", "files_all", "-files", "files-", "a--b", "fïles", "1st", &long_name];
    for name in names {
        assert_found(|m| m.name = set(name), "name: expected kebab-case ASCII");
    }
    for version in ["", "1 0", "v1;2", "①", &"1".repeat(limits::VERSION_BYTES + 1)] {
        assert_found(|m| m.version = set(version), "version: expected a version");
    }
    let long_url = format!("https://a.example/{}", "a".repeat(limits::URL_BYTES));
    for url in ["files.example", "javascript:alert(1)", "https://a b/", "ftp://a/", &long_url] {
        assert_found(|m| m.homepage = set(url), "homepage: expected an http or https URL");
        assert_found(|m| m.source = set(url), "source: expected an http or https URL");
    }
}

#[test]
fn identities_at_their_limits_are_kept() {
    let mut plugin = PluginMetadata {
        name: Some("a".repeat(limits::NAME_BYTES)),
        version: Some("1.0.0-rc.1+build".into()),
        description: Some("x".repeat(limits::DESCRIPTION_BYTES)),
        license: Some("x".repeat(limits::LINE_BYTES)),
        homepage: Some("http://localhost:8080/".into()),
        ..PluginMetadata::default()
    };
    let before = plugin.clone();
    let mut findings = Findings::default();
    review(&mut plugin, &mut findings);
    assert_eq!((findings.into_vec(), plugin), (vec![], before));
}

#[test]
fn every_text_of_the_plugin_has_a_limit() {
    let line = longer_than(limits::LINE_BYTES);
    let description = longer_than(limits::DESCRIPTION_BYTES);
    assert_found(|m| m.description = Some(description), "description: text of 4097 bytes");
    assert_found(|m| m.license = Some(line.clone()), "license: text of 257 bytes");
    assert_found(|m| m.revision = Some(line.clone()), "revision: text of 257 bytes");
    assert_found(|m| m.toolchain = Some(line.clone()), "toolchain: text of 257 bytes");
    assert_found(|m| m.authors = vec![line.clone()], "authors: text of 257 bytes");
    assert_found(|m| m.authors = vec!["a".into(); limits::AUTHORS + 1], "at most 16");
    let need = Need::Env { name: "A".into(), why: "w".into() };
    assert_found(|m| m.needs = vec![need.clone(); limits::NEEDS + 1], "needs: a list of 65");
    assert_found(|m| f(m).needs = vec![need; limits::NEEDS + 1], "f: a list of 65");
}

#[test]
fn every_text_of_a_function_has_a_limit() {
    let docs = longer_than(limits::DOCS_BYTES);
    assert_found(|m| f(m).docs = docs.clone(), "f: text of 8193 bytes");
    let title = longer_than(limits::TITLE_BYTES);
    assert_found(|m| f(m).tags.title = Some(title), "at most 128");
    assert_found(|m| f(m).tags.locks = vec!["a".into(); limits::LOCKS + 1], "at most 8");
    let lock = longer_than(limits::WORD_BYTES);
    assert_found(|m| f(m).tags.locks = vec![lock], "under `@locks` is no name");
    assert_found(|m| f(m).tags.examples = vec![Map::new(); limits::EXAMPLES + 1], "at most 16");
    let big = json!({"default": longer_than(limits::JSON_VALUE_BYTES)});
    let example = object(big.clone());
    assert_found(|m| f(m).tags.examples = vec![example], "example of 4111 bytes");
    let add = |item: ItemMetadata, part| {
        assert_found(|m| drop(f(m).items.insert("param/a".into(), item)), part);
    };
    add(ItemMetadata { docs, schema: Narrowing::new() }, "f param/a: text of 8193 bytes");
    add(schema(big), "f param/a: schema of 4111 bytes");
}

#[test]
fn every_map_and_path_has_a_limit() {
    let function = FunctionMetadata::default();
    let item = ItemMetadata { docs: "d".into(), ..ItemMetadata::default() };
    let functions = (0..=limits::FUNCTIONS).map(|n| (format!("f{n}"), function.clone())).collect();
    let left = assert_found(|m| m.functions = functions, "functions: 1025 entries");
    assert_eq!(left.functions.len(), limits::FUNCTIONS);
    let items = (0..=limits::ITEMS).map(|n| (format!("param/p{n}"), item.clone())).collect();
    assert_found(|m| f(m).items = items, "f: 1025 entries, expected at most 1024");
    for path in ["", "a b", "f\n", "ü", &longer_than(limits::PATH_BYTES)] {
        let add = |m: &mut PluginMetadata| m.functions.insert(path.to_owned(), function.clone());
        assert_found(|m| drop(add(m)), "is no function's path");
    }
    let long = format!("param/{}", vec!["a"; limits::PATH_BYTES].join("/"));
    for path in ["", "param", "param/", "docs", "result//a", "result/a b", &long] {
        let add = |m: &mut PluginMetadata| f(m).items.insert(path.to_owned(), item.clone());
        assert_found(|m| drop(add(m)), "is no path of a parameter or result");
    }
}

#[test]
fn invisible_tag_characters_are_found_everywhere() {
    let hidden = "Reads\u{E0041}\u{E007F}.";
    let part = "invisible tag characters";
    let left = assert_found(|m| m.description = Some(hidden.into()), part);
    assert_eq!(left.description.as_deref(), Some("Reads."));
    assert_found(|m| m.authors = vec![hidden.into()], part);
    assert_found(|m| m.toolchain = Some(hidden.into()), part);
    assert_found(|m| m.needs = vec![Need::Env { name: "A".into(), why: hidden.into() }], part);
    assert_found(|m| f(m).docs = hidden.into(), part);
    assert_found(|m| f(m).tags.title = Some(hidden.into()), part);
    let example = object(json!({hidden: 1}));
    assert_found(|m| f(m).tags.examples = vec![example], part);
    let item = schema(json!({"default": hidden}));
    assert_found(|m| drop(f(m).items.insert("result".into(), item)), part);
}

#[test]
fn tags_that_mean_nothing_are_found() {
    let set = |change: fn(&mut Tags)| move |m: &mut PluginMetadata| change(&mut f(m).tags);
    assert_found(
        set(|tags| {
            tags.read_only = true;
            tags.destructive = true;
        }),
        "contradict",
    );
    assert_found(set(|tags| tags.fuel = Some(0)), "`@fuel` is 0");
    assert_found(set(|tags| tags.memory = Some(0)), "`@memory` is 0");
    assert_found(set(|tags| tags.output = Some(0)), "`@output` is 0");
    assert_found(set(|tags| tags.timeout = Some(Duration::ZERO)), "`@timeout` is 0");
    let need = Need::Http { host: "a/b".into(), methods: vec!["GET".into()], why: "w".into() };
    assert_found(|m| m.needs = vec![need], "needs: need: expected a host");
    let item = schema(json!({"$ref": "https://x.example/", "minimum": 1}));
    let left = assert_found(
        |m| drop(f(m).items.insert("result".into(), item)),
        "f result: schema keyword `$ref` is not allowed",
    );
    assert_eq!(json!(left.functions["f"].items["result"].schema), json!({"minimum": 1}));
}
