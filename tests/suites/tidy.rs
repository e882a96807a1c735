//! The house rules that a machine can hold: who imports whom, sizes, names, words, and that what
//! the docs name is there. What needs judgement is a reviewer's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::guests::built::root;

/// Most lines of code in a file; `CONTRIBUTING.md` asks for far fewer.
const FILE_MAX_LINES: usize = 500;
/// Names that say nothing of what a thing does, and those that WASI and rmcp prescribe all the same.
const SAYS_NOTHING: &str =
    "manager helper util utils common core base misc handler service internal data info";
const PRESCRIBED: [&str; 2] = ["sync_data", "get_info"];
/// Crates that a part of the host alone may know, and the beginnings of the paths that may.
const CRATES: &[(&str, &[&str])] = &[
    ("wasmtime", &["sandbox/"]),
    ("wasmparser", &["sandbox/"]),
    ("fxprof_processed_profile", &["sandbox/"]),
    ("rustc_demangle", &["sandbox/"]),
    ("clap", &["frontends/cli/"]),
    ("anyhow", &["app.rs", "main.rs", "frontends/cli/"]),
    ("mimalloc", &["main.rs"]),
    ("tracing_subscriber", &["main.rs", "frontends/cli/"]),
    ("belljar_metadata", &["registry/", "config/", "frontends/cli/"]),
    ("rusqlite", &["storage/"]),
    ("toml", &["config/", "gate/tests"]),
    ("indicatif", &["frontends/cli/"]),
    ("belljar_builtin", &["app.rs", "app/"]),
    ("axum", &["frontends/http/", "frontends/mcp/"]),
    ("tower_http", &["frontends/http/"]),
    ("hyper", &["frontends/http/"]),
    ("tokio_io_timeout", &["frontends/http/"]),
    ("rmcp", &["frontends/mcp/", "runners/upstream_mcp/"]),
];

/// Every file of the repository with this ending, by its path from the root.
fn files(ending: &str) -> BTreeMap<String, String> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy();
            match path.is_dir() {
                true if name == "target" || (name.starts_with('.') && name != ".ci") => {}
                true => walk(&path, found),
                false => found.push(path),
            }
        }
    }
    let (root, mut paths) = (root(), Vec::new());
    walk(&root, &mut paths);
    let named = paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending));
    let text = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        (name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned())
    };
    named.map(text).collect()
}

/// The lines that are neither empty nor comments.
fn code(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    lines.filter(|it| !it.is_empty() && !it.starts_with("//")).map(|it| format!("{it}\n")).collect()
}

/// The code of the host's files, by their paths below `host/src/`.
fn host_code() -> Vec<(String, String)> {
    let inner = |(path, text): (String, String)| {
        path.strip_prefix("host/src/").map(|path| (path.to_owned(), code(&text)))
    };
    files(".rs").into_iter().filter_map(inner).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words that stand right after each `mark`, where the mark doesn't end a longer word.
fn after<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let places = text.match_indices(mark).filter(|(at, _)| !text[..*at].ends_with(is_word));
    places.map(|(at, _)| text[at + mark.len()..].split(|c| !is_word(c)).next().unwrap())
}

#[track_caller]
fn hold(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} breaches:\n{}", wrong.len(), wrong.join("\n"));
}

/// Module → what it may import, from the table in `ARCHITECTURE.md`.
fn import_table() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = |cell: &str| -> Vec<String> {
        cell.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let head = |line: &&str| !line.replace('*', "").starts_with("| module | may import |");
    let rows = text.lines().skip_while(head).skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(words).collect::<Vec<_>>());
    cells.flat_map(|row| row[1].clone().into_iter().map(move |it| (it, row[2].clone()))).collect()
}

#[test]
fn modules_import_only_what_the_table_allows() {
    let (table, mut wrong) = (import_table(), Vec::new());
    for (path, code) in host_code() {
        let module = path.split(['/', '.']).next().unwrap();
        if ["app", "main", "lib"].contains(&module) {
            continue;
        }
        let allowed = table.get(module).unwrap_or_else(|| panic!("`{module}` isn't in the table"));
        let name = |word| if word == "Host" { "host" } else { word };
        let imports = after(&code, "crate::").map(name).filter(|import| *import != module);
        let bad = imports.filter(|import| !allowed.iter().any(|one| one == import));
        wrong.extend(bad.map(|import| format!("{path}: `{module}` may not import `{import}`")));
    }
    hold(&wrong);
}

#[test]
fn crates_stay_in_the_part_that_may_know_them() {
    let mut wrong = Vec::new();
    for (path, code) in host_code() {
        for (name, parts) in CRATES {
            // `wasmtime_wasi::…` belongs to the family of `wasmtime`.
            let used = code.match_indices(name).any(|(at, _)| {
                let rest = code[at..].trim_start_matches(is_word);
                rest.starts_with("::") && !code[..at].ends_with(is_word)
            });
            if used && !parts.iter().any(|part| path.starts_with(part)) {
                wrong.push(format!("{path}: `{name}` belongs to {parts:?}"));
            }
        }
        if path != "sandbox/store.rs" && !path.contains("/tests/") && makes_a_store(&code) {
            wrong.push(format!("{path}: only `sandbox/store.rs` makes a store, with every limit"));
        }
    }
    hold(&wrong);
}

#[test]
fn source_files_are_short_say_what_they_are_and_leave_nothing_open() {
    let mut wrong = Vec::new();
    // Put together here so that this file doesn't breach its own rules.
    let never = [concat!("#[all", "ow("), concat!("#![all", "ow("), concat!("#[ign", "ore")];
    let open = [concat!("TO", "DO"), concat!("FIX", "ME")];
    for (path, text) in files(".rs") {
        let lines = code(&text).lines().count();
        if lines > FILE_MAX_LINES || !text.starts_with("//! ") {
            wrong.push(format!("{path}: {lines} lines (at most {FILE_MAX_LINES}), or no `//!`"));
        }
        let found = never.iter().filter(|mark| text.contains(**mark));
        wrong.extend(found.map(|mark| format!("{path}: holds `{mark}`")));
        let is_open = |it: &&str| open.iter().any(|mark| it.contains(mark)) && !it.contains('#');
        wrong.extend(text.lines().filter(is_open).map(|line| format!("{path}: no issue: {line}")));
    }
    hold(&wrong);
}

/// Whether it calls `Store::new`, also with the type written out, also its fallible twin.
fn makes_a_store(code: &str) -> bool {
    let mut places = code.match_indices("Store").filter(|(at, _)| !code[..*at].ends_with(is_word));
    places.any(|(at, name)| {
        let rest = code[at + name.len()..].trim_start_matches("::");
        let rest = match rest.strip_prefix('<') {
            // Its own end is the first `>` that stands before a path or closes one.
            Some(generic) => generic.split_once(">::").map_or("", |(_, rest)| rest),
            None => rest,
        };
        rest.starts_with("new(") || rest.starts_with("try_new(")
    })
}

#[test]
fn a_store_is_seen_however_it_is_made() {
    for made in [
        "Store::new(&engine, ())",
        "wasmtime::Store::new(engine, state)",
        "Store::<State>::new(engine, state)",
        "Store::<Vec<State>>::new(engine, state)",
        "<Store<State>>::new(engine, state)",
        "Store::try_new(engine, state)",
    ] {
        assert!(makes_a_store(made), "{made}");
    }
    for other in ["CodeStore::new(folder)", "Store::open(folder)", "f(store: &mut Store<State>)"] {
        assert!(!makes_a_store(other), "{other}");
    }
}

/// Whether one of the words in `HttpCore`, `http-core` or `http_core` says nothing.
fn says_nothing(name: &str) -> bool {
    let spaced = |c: char| if c.is_uppercase() { format!(" {c}") } else { c.to_string() };
    let spaced = name.chars().map(spaced).collect::<String>().to_lowercase();
    let mut words = spaced.split(|c: char| !c.is_alphanumeric());
    !PRESCRIBED.contains(&name) && words.any(|word| SAYS_NOTHING.split(' ').any(|one| one == word))
}

#[test]
fn names_say_what_things_do() {
    let mut wrong = Vec::new();
    for (path, text) in files(".rs") {
        let code = code(&text);
        let kinds = ["mod ", "struct ", "enum ", "trait ", "fn "];
        let named = kinds.iter().flat_map(|kind| after(&code, kind)).chain([path.as_str()]);
        wrong.extend(named.filter(|name| says_nothing(name)).map(|it| format!("{path}: {it}")));
    }
    hold(&wrong);
}

#[test]
fn nothing_compiled_lies_in_the_repository() {
    let found = [".wasm", ".cwasm", ".code"].iter().flat_map(|end| files(end).into_keys());
    hold(&found.collect::<Vec<_>>());
}

/// A path from the root, as docs write it: no pattern, no part of somebody else's folder.
fn is_repository_path(text: &str) -> bool {
    let first = text.split('/').next().unwrap();
    let known = ["host", "plugins", "tests", "docs", ".ci"].contains(&first) && text.contains('/');
    let page = text.strip_suffix(".md").is_some_and(|it| !it.is_empty());
    (known || page) && !text.contains(['*', '{', '<', '$', ' ', '…', ':'])
}

#[test]
fn what_the_docs_name_is_there() {
    let (root, docs, mut wrong) = (root(), files(".md"), Vec::new());
    for page in ["ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "README.md"] {
        assert!(docs.contains_key(page), "`{page}` is missing");
    }
    for (page, text) in &docs {
        let here = root.join(page).parent().unwrap().to_owned();
        let named = text.split('`').skip(1).step_by(2).filter(|it| is_repository_path(it));
        let links = text.split("](").skip(1).map(|rest| rest.split([')', '#']).next().unwrap());
        let local = links.filter(|to| !to.is_empty() && !to.contains(':'));
        let gone = named.filter(|it| !root.join(it).exists() && !here.join(it).exists());
        let gone = gone.chain(local.filter(|it| !here.join(it).exists()));
        wrong.extend(gone.map(|it| format!("{page}: `{it}`")));
    }
    hold(&wrong);
}
