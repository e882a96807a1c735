//! The schema, the settings and the reference say the same.

use super::super::check::check_value;
use super::super::schema::{Default, Kind, LIST_MAX, every_key, limit_key};
use super::*;
use crate::contract::limits::LimitKind;

/// A value of a kind that isn't `default`, as TOML.
fn sample(path: &str, kind: &Kind) -> String {
    match kind {
        Kind::Bool => "true".to_owned(),
        Kind::Choice(words) => format!("\"{}\"", words.last().unwrap()),
        Kind::Count { min, .. } => (min + 1).to_string(),
        Kind::Duration { min, .. } => format!("\"{}ms\"", min + 1),
        Kind::Size { min, .. } => (min + 1).to_string(),
        Kind::Limits => "{ fuel = 7 }".to_owned(),
        Kind::List(inner) => format!("[{}]", sample(path, inner)),
        Kind::Either(kinds) => sample(path, kinds.last().unwrap()),
        Kind::Map(map) => format!("{{ x = {} }}", sample(path, &map.value)),
        Kind::Table(section) => {
            let first = section.keys.first().unwrap();
            format!("{{ {} = {} }}", first.name, sample(first.name, &first.kind))
        }
        Kind::Text(_) => match path.rsplit('.').next().unwrap() {
            "from" => "\"env:X\"",
            "guest" => "\"/guest\"",
            "methods" => "\"PUT\"",
            "builtins" => "\"files\"",
            "secrets" => "\"one\"",
            "hosts" | "host" => "\"x.example\"",
            "secret" => "\"one\"",
            "url" => "\"http://x\"",
            "header" => "\"X-Key\"",
            "http" => "\"127.0.0.1:9\"",
            "origins" => "\"https://x.example\"",
            "sha256" => return format!("\"{}\"", "0".repeat(64)),
            "caller" | "anonymous" if !path.starts_with("policy.") => "\"cli\"",
            _ => "\"x\"",
        }
        .to_owned(),
    }
}

/// A file that sets this key to something else than its default, and what it must hold beside it.
fn file_with(path: &str, kind: &Kind) -> String {
    let value = match path {
        "policy" | "audit" => "{ enabled = false }".to_owned(),
        "policy.rules" => "[{ action = \"ask\", tool = \"x\" }]".to_owned(),
        "policy.rules[].effects" => "{ read_only = true }".to_owned(),
        // These are on by default.
        "builtins" | "policy.enabled" | "audit.enabled" => "false".to_owned(),
        _ => sample(path, kind),
    };
    let secret = "[secrets.one]\nfrom = \"env:Y\"\n";
    let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
    let concrete = section.replace("plugins.NAME", "plugins.p").replace("NAME", "n");
    let concrete = concrete.replace("TOOL", "t").replace("ARGUMENT", "a");
    let beside = match section {
        "plugins.NAME" if key != "path" => "path = \"p.wasm\"\n",
        "secrets.NAME" if key != "from" => "from = \"env:X\"\n",
        "tokens.NAME" if key == "caller" => "from = \"env:X\"\nroles = [\"approver\"]\n",
        "tokens.NAME" if key == "from" || key == "sha256" => "caller = \"mcp\"\n",
        "tokens.NAME" => "from = \"env:X\"\ncaller = \"mcp\"\n",
        "upstream.NAME" if key == "headers" => "url = \"http://y\"\n",
        "upstream.NAME" if !matches!(key, "command" | "url") => "command = \"y\"\n",
        "upstream.NAME.headers.HEADER" if key != "secret" => "secret = \"one\"\n",
        _ => "",
    };
    let plugin = match section {
        it if it.starts_with("plugins.NAME.") => "[plugins.p]\npath = \"p.wasm\"\n",
        it if it.starts_with("upstream.NAME.headers.") => "[upstream.n]\nurl = \"http://y\"\n",
        it if it.starts_with("upstream.NAME.") => "[upstream.n]\ncommand = \"y\"\n",
        _ => "",
    };
    if let Some((list, rest)) = concrete.split_once("[]") {
        let (parent, name) = list.rsplit_once('.').unwrap();
        let inner = match (name, key, rest) {
            ("rules", "action", _) => "action = \"deny\", tool = \"x\"".to_owned(),
            ("rules", "yes", _) => "action = \"ask\", tool = \"x\", yes = true".to_owned(),
            ("rules", "tool", _) => format!("action = \"ask\", caller = \"c\", tool = {value}"),
            ("rules", _, "") => format!("action = \"ask\", tool = \"x\", {key} = {value}"),
            ("rules", _, _) => {
                format!("action = \"ask\", tool = \"x\", effects = {{ {key} = {value} }}")
            }
            ("dirs", "path", _) => format!("path = {value}"),
            ("dirs", _, _) => format!("path = \"/a/b\", {key} = {value}"),
            ("hosts", "host", _) => format!("host = {value}"),
            _ => format!("host = \"y.example\", {key} = {value}"),
        };
        return format!("{plugin}[{parent}]\n{name} = [{{ {inner} }}]\n{secret}");
    }
    let head = if concrete.is_empty() { String::new() } else { format!("[{concrete}]\n") };
    let text = format!("{plugin}{head}{beside}{key} = {value}\n");
    if concrete.is_empty() && key == "secrets" { text } else { format!("{text}{secret}") }
}

/// What was set, apart from how it is shown.
fn parts(config: &Config) -> String {
    let mut config = config.clone();
    config.effective.clear();
    config.findings.clear();
    format!("{config:?}")
}

#[test]
fn every_key_of_the_reference_is_accepted_and_counts() {
    let page = reference();
    for (path, key) in every_key() {
        let name = path.rsplit('.').next().unwrap();
        assert!(page.contains(&format!("| `{name}` | ")), "`{path}` isn't in the reference");
        if matches!(path.as_str(), "plugins" | "secrets" | "callers" | "tokens") {
            continue;
        }
        let text = file_with(&path, &key.kind);
        let changed = config(&text);
        // What a key is for must reach the settings: one that nobody reads changes nothing.
        let without = without(&text, name);
        let is_optional = !matches!(key.default, Default::Required);
        if let Some(plain) = read(&without).ok().filter(|_| is_optional) {
            assert_ne!(parts(&changed), parts(&plain), "`{path}` changes nothing\n{text}");
        }
    }
}

/// The same file without that key: of an inline table only the key goes, of others its line, which
/// stays empty so that the lines of the rest are what they were.
fn without(text: &str, name: &str) -> String {
    let one = |line: &str| {
        let keys = [format!(", {name} = "), format!(", effects = {{ {name} = ")];
        let inner = keys.iter().find_map(|key| line.find(key)).filter(|_| line.contains("[{ "));
        match inner {
            Some(at) => format!("{} }}]\n", &line[..at]),
            None if line.starts_with(&format!("{name} =")) => "\n".to_owned(),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(one).collect()
}

#[test]
fn every_accepted_key_is_in_the_reference() {
    let page = reference();
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    // Some tables point to the keys of another, which stand once.
    let twice = ["plugins.NAME.grants.", "upstream.NAME.tools.TOOL."];
    let keys = every_key().into_iter();
    let once = keys.filter(|(path, _)| !twice.iter().any(|table| path.starts_with(table)));
    assert_eq!(rows, once.count() + LimitKind::ALL.len());
    for kind in LimitKind::ALL {
        assert!(page.contains(&format!("| `{}` | ", limit_key(kind))));
    }
}

#[test]
fn every_default_is_a_value_of_its_key() {
    for (path, key) in every_key() {
        if let Default::Toml(text) = key.default {
            let found = check_value(&key.kind, text);
            assert!(found.is_ok(), "`{path}` = {text}: {found:?}");
        }
    }
}

#[test]
fn every_example_of_the_reference_is_a_file() {
    let page = reference();
    let blocks: Vec<_> =
        page.split("```toml\n").skip(1).map(|it| it.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 8);
    for block in blocks {
        let file = config(block);
        assert!(!file.effective.is_empty());
    }
}

#[test]
fn no_row_of_the_reference_breaks_its_table() {
    for line in reference().lines().filter(|line| line.starts_with('|')) {
        let cells = line.matches('|').count();
        assert!(cells == 5 || cells == 4, "{line}");
        assert!(!line.contains("  "), "{line}");
    }
}

#[test]
fn lists_stay_below_what_the_gate_takes() {
    const { assert!(LIST_MAX <= crate::gate::RULES_MAX_LEN) };
}
