//! `belljar serve --stdio` with the builtins, twenty Rust plugins, a JavaScript and a Python one, all
//! of their code kept: from the start of the process until a client has all of their tools.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bench::{Bench, FEW_ROUNDS, Lane, rounds};
use super::guests::{JS, PYTHON};
use super::hosts::{BELLJAR, NO_BELLJAR};
use super::starting::{belljar, home};

const PART: &str = "serving";
/// Rust plugins, by names that don't look alike.
const NAMES: [&str; 20] = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty",
    "knoll", "larch", "marsh", "north", "otter", "plume", "quartz", "ridge", "stone", "tundra",
];
/// Tools of the builtins (ten) and of the host itself.
const OWN_TOOLS: usize = 12;
/// Tools of a Rust plugin, and of each of the other two.
const RUST_TOOLS: usize = 5;
const FOREIGN_TOOLS: usize = 8;

/// The goal's.
pub(crate) const LISTED: &str = "`belljar serve`, start of the process until all tools are listed";

struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A configuration with all of them.
fn configure(bench: &Bench, file: &Path) {
    let rust = bench.rust_file();
    let rust = NAMES.iter().map(|name| (*name, rust.clone()));
    let all = rust.chain([JS, PYTHON].map(|it| (it.plugin, it.path())));
    let text: String =
        all.map(|(name, path)| format!("[plugins.{name}]\npath = {}\n", json!(path))).collect();
    std::fs::write(file, text).expect("a configuration");
}

/// Starts it, asks for all tools at once, and reads until they are there.
fn listed(program: &str, home: &Path, file: &Path) -> (Duration, usize) {
    let mut command = belljar(program, home);
    command.args(["serve", "--stdio", "--config"]).arg(file);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let began = Instant::now();
    let mut server = Ends(command.spawn().expect("belljar starts"));
    let mut to = server.0.stdin.take().expect("a stdin");
    let mut from = BufReader::new(server.0.stdout.take().expect("a stdout"));
    let mut ask = |message: &Value| writeln!(to, "{message}").expect("the server reads");
    ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"}}}));
    ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}));
    let (mut tools, mut line) = (0, String::new());
    loop {
        line.clear();
        from.read_line(&mut line).expect("the server answers");
        let answer: Value = serde_json::from_str(&line).expect("a message");
        let Some(listed) = answer["result"]["tools"].as_array() else { continue };
        tools += listed.len();
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) => ask(&json!({
                "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": cursor}})),
            None => return (began.elapsed(), tools),
        }
    }
}

/// Measures it.
pub(crate) fn measure(bench: &mut Bench) {
    let Some(program) = BELLJAR.filter(|_| cfg!(feature = "mcp")) else {
        return bench.figures.miss(LISTED, NO_BELLJAR);
    };
    let home = home(bench, "serving");
    let file = home.join("belljar.toml");
    configure(bench, &file);
    // Compiles what isn't kept yet, which `serve` would leave for later.
    let mut warm = belljar(program, &home);
    warm.arg("tools").arg("--config").arg(&file).stdout(Stdio::null());
    assert!(warm.status().expect("belljar starts").success(), "{warm:?}");
    let expected = OWN_TOOLS + NAMES.len() * RUST_TOOLS + 2 * FOREIGN_TOOLS;
    let mut lanes: Vec<Lane<'_>> = vec![Box::new(|round| {
        let (took, tools) = listed(program, &home, &file);
        assert_eq!(tools, expected, "each tool must be there");
        round.add(LISTED, "ms", took.as_secs_f64() * 1e3);
    })];
    rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
}
