//! The house rules that a machine can hold: who imports whom, sizes, names, words, and that what
//! the docs name is there. What needs judgement is a reviewer's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::guests::built::root;

/// Most lines of code in a file; `CONTRIBUTING.md` asks for far fewer.
const FILE_MAX_LINES: usize = 500;
/// Names that say nothing of what a thing does.
const SAYS_NOTHING: &[&str] = &[
    "manager", "helper", "util", "utils", "common", "core", "base", "misc", "service", "data",
    "info",
];
/// Crates that one part of the host alone may know, and the parts that may.
const CRATES: &[(&str, &[&str])] = &[
    ("wasmtime", &["sandbox"]),
    ("wasmparser", &["sandbox"]),
    ("clap", &["frontends/cli"]),
    ("anyhow", &["app.rs", "main.rs", "frontends/cli"]),
    ("tracing_subscriber", &["main.rs"]),
    ("belljar_metadata", &["registry", "frontends/cli"]),
    ("belljar_builtin", &["app.rs"]),
];

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let outside = name == "target" || (name.starts_with('.') && name != ".ci");
        match path.is_dir() {
            true if !outside => walk(&path, found),
            false => found.push(path),
            true => {}
        }
    }
}

/// Every file of the repository with this ending, by its path from the root.
fn files(ending: &str) -> BTreeMap<String, String> {
    let (root, mut paths) = (root(), Vec::new());
    walk(&root, &mut paths);
    let named = paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending));
    let text = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        (name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned())
    };
    named.map(text).collect()
}

fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

/// The words of `text` that follow each `mark`.
fn after<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let stands_alone =
        move |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let word = move |(at, _)| {
        let rest: &str = &text[at + mark.len()..];
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
    };
    text.match_indices(mark).filter(move |(at, _)| stands_alone(*at)).map(word)
}

#[track_caller]
fn hold(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} breaches:\n{}", wrong.len(), wrong.join("\n"));
}

/// Module → what it may import, from the table in `ARCHITECTURE.md`.
fn import_table() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| module | may import |")).skip(2);
    let words = |cell: &str| {
        let all = cell.split('`').skip(1).step_by(2);
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut table = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').collect();
        for module in words(cells[1]) {
            table.insert(module, words(cells[2]));
        }
    }
    assert!(table.len() > 5, "`ARCHITECTURE.md` has no table of imports");
    table
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let table = import_table();
    let mut wrong = Vec::new();
    for (path, text) in files(".rs") {
        let Some(inner) = path.strip_prefix("host/src/") else { continue };
        let module = inner.split(['/', '.']).next().unwrap();
        if ["app", "main", "lib"].contains(&module) {
            continue;
        }
        let allowed = table.get(module).unwrap_or_else(|| panic!("`{module}` isn't in the table"));
        let code = code(&text).collect::<Vec<_>>().join("\n");
        assert!(!code.contains("crate::{"), "{path}: import from one module a line");
        for import in after(&code, "crate::").map(|word| if word == "Host" { "host" } else { word })
        {
            if import != module && !allowed.iter().any(|one| one == import) {
                wrong.push(format!("{path}: `{module}` may not import `{import}`"));
            }
        }
    }
    hold(wrong);
}

#[test]
fn crates_stay_in_the_part_that_may_know_them() {
    let mut wrong = Vec::new();
    for (path, text) in files(".rs") {
        let Some(inner) = path.strip_prefix("host/src/") else { continue };
        for line in code(&text) {
            for (name, parts) in CRATES {
                let used = line.match_indices(name).any(|(at, _)| {
                    let rest =
                        line[at..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
                    rest.starts_with("::") && !line[..at].ends_with(|c: char| c.is_alphanumeric())
                });
                if used && !parts.iter().any(|part| inner.starts_with(part)) {
                    wrong.push(format!("{path}: `{name}` belongs to {parts:?}: {line}"));
                }
            }
        }
    }
    hold(wrong);
}

#[test]
fn source_files_are_short_say_what_they_are_and_leave_nothing_open() {
    let mut wrong = Vec::new();
    // Put together here so that this file doesn't breach its own rules.
    let never = [concat!("#[all", "ow("), concat!("#![all", "ow("), concat!("#[ign", "ore")];
    let open = [concat!("TO", "DO"), concat!("FIX", "ME")];
    for (path, text) in files(".rs") {
        let lines = code(&text).count();
        if lines > FILE_MAX_LINES {
            wrong.push(format!("{path}: {lines} lines of code, at most {FILE_MAX_LINES}"));
        }
        if !text.starts_with("//! ") {
            wrong.push(format!("{path}: begins with no `//!` sentence of what it is for"));
        }
        let found = never.iter().filter(|mark| text.contains(**mark));
        wrong.extend(found.map(|mark| format!("{path}: holds `{mark}`")));
        let is_open =
            |line: &&str| open.iter().any(|mark| line.contains(mark)) && !line.contains('#');
        wrong.extend(text.lines().filter(is_open).map(|line| format!("{path}: no issue: {line}")));
        let own = path == "host/src/sandbox/store.rs";
        if path.starts_with("host/src")
            && !own
            && !path.contains("/tests/")
            && text.contains("Store::new(")
        {
            wrong.push(format!("{path}: only `sandbox/store.rs` makes a store, with every limit"));
        }
    }
    hold(wrong);
}

/// `HttpServer` and `http-server` and `http_server` → http, server.
fn words(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn names_say_what_things_do() {
    let mut wrong = Vec::new();
    let says_nothing =
        |name: &str| words(name).iter().any(|it| SAYS_NOTHING.contains(&it.as_str()));
    for (path, text) in files(".rs") {
        if says_nothing(&path) {
            wrong.push(path.clone());
        }
        let code = code(&text).collect::<Vec<_>>().join("\n");
        for kind in ["mod ", "struct ", "enum ", "trait ", "fn "] {
            let named = after(&code, kind).filter(|name| says_nothing(name));
            wrong.extend(named.map(|name| format!("{path}: {kind}{name}")));
        }
    }
    hold(wrong);
}

#[test]
fn nothing_compiled_lies_in_the_repository() {
    hold([".wasm", ".cwasm", ".code"].iter().flat_map(|end| files(end).into_keys()).collect());
}

/// A path from the root, as docs write it: no pattern, no part of somebody else's folder.
fn is_repository_path(text: &str) -> bool {
    let first = text.split('/').next().unwrap_or_default();
    let plain = !text.contains(['*', '{', '<', '$', ' ', '…', ':']);
    let known = ["host", "plugins", "tests", "docs", ".ci"].contains(&first);
    plain
        && ((known && text.contains('/'))
            || text.strip_suffix(".md").is_some_and(|it| !it.is_empty()))
}

#[test]
fn what_the_docs_name_is_there() {
    let docs = files(".md");
    for page in ["ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "README.md"] {
        assert!(docs.contains_key(page), "`{page}` is missing");
    }
    let mut wrong = Vec::new();
    for (page, text) in docs {
        let (root, here) = (root(), root().join(&page).parent().unwrap().to_owned());
        let named = text.split('`').skip(1).step_by(2).filter(|it| is_repository_path(it));
        let gone = |path: &&str| !root.join(path).exists() && !here.join(path).exists();
        wrong.extend(named.filter(gone).map(|path| format!("{page}: `{path}`")));
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let local = links.filter(|to| !to.contains(':') && !to.starts_with('#'));
        let gone = |to: &&str| !here.join(to.split('#').next().unwrap()).exists();
        wrong.extend(local.filter(gone).map(|to| format!("{page}: link to {to}")));
    }
    hold(wrong);
}
