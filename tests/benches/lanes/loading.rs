//! Compiling a plugin against loading its kept code (G): a small Rust component, and the JavaScript
//! one of 12 MB. Loading is all of it: opening and reading the plugin, checking the code's MAC,
//! mapping and linking it, and making its tools.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belljar::app::CompileIn;
use belljar::contract::descriptor::ToolSource;
use belljar::registry::{CodeStore, Loader, PluginContent, PluginFile, PluginGiven};
use belljar::sandbox::{Sandbox, SandboxSettings};

use super::bench::{Bench, FEW_ROUNDS, Lane, p50, rounds};
use super::figures::{Times, over};
use super::guests::JS;
use super::hosts::BELLJAR;

const PART: &str = "loading";
const LOADS: usize = 20;
const RUST: &str = "the Rust component";
const JAVASCRIPT: &str = "the JavaScript component of 12 MB";

/// The goal's.
pub(crate) fn load_js() -> String {
    p50(&load(JAVASCRIPT))
}

fn load(what: &str) -> String {
    format!("G, {what}, loaded from kept code")
}

fn compile(what: &str) -> String {
    format!("G, {what}, compiled")
}

fn file(path: &Path) -> PluginFile {
    let content = PluginContent::File(File::open(path).expect("the component"));
    PluginFile { content, stem: "measured".to_owned(), name: None, source: ToolSource::Plugin }
}

fn compiled(loader: &Loader, path: &Path) -> Duration {
    let given = PluginGiven::default();
    let began = Instant::now();
    let plugin = loader.load_anew(&file(path), |_| &given).expect("it loads");
    let took = began.elapsed();
    assert!(!plugin.tools.is_empty(), "{plugin:?}");
    took
}

fn loaded(loader: &Loader, path: &Path) -> Duration {
    let given = PluginGiven::default();
    let began = Instant::now();
    let plugin = loader.load_kept(&file(path), |_| &given).expect("it loads");
    let took = began.elapsed();
    assert!(plugin.is_some_and(|plugin| !plugin.tools.is_empty()), "its code isn't kept");
    took
}

/// Measures both.
pub(crate) fn measure(bench: &mut Bench) {
    let place = BELLJAR.map_or(CompileIn::ThisProcess, |it| CompileIn::Child(it.into()));
    let sandbox = Sandbox::with(place, SandboxSettings::default(), None).expect("a sandbox");
    let folder = bench.folder("loading");
    std::fs::create_dir(&folder).expect("a folder");
    let store = CodeStore::open(&folder.join("code"), &folder.join("key")).expect("a store");
    let loader = &Loader::new(sandbox, Some(store), None);
    let both: [(&str, PathBuf); 2] = [(RUST, bench.rust_file()), (JAVASCRIPT, JS.path())];
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for (what, path) in &both {
        let name = compile(what);
        // Seconds for the large one: once a run is enough to know them.
        let mut left = if *what == RUST { FEW_ROUNDS } else { 1 };
        lanes.push(Box::new(move |round| {
            if left > 0 {
                left -= 1;
                let took = compiled(loader, path);
                round.add(name.clone(), "ms", took.as_secs_f64() * 1e3);
            }
        }));
    }
    // The first round fills the store that the other lanes load from.
    rounds(PART, 1, &mut bench.figures, &mut lanes);
    for (what, path) in &both {
        let name = p50(&load(what));
        lanes.push(Box::new(move |round| {
            let times = std::iter::repeat_with(|| loaded(loader, path)).take(LOADS).collect();
            round.add(name.clone(), "ms", Times::new(times).us(500) / 1e3);
        }));
    }
    rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    for (what, _) in &both {
        let pair = (&*compile(what), &*p50(&load(what)));
        bench.figures.combine(PART, format!("{what}, compiled / loaded"), "", pair, over);
    }
}
