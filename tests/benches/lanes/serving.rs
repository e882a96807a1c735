//! `belljar serve --http` with the builtins, twenty Rust plugins, a JavaScript and a Python one, all
//! of their code kept: from the start of the process until a client has all of their tools.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
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

/// A configuration with all of them, for whoever asks.
fn configure(bench: &Bench, file: &Path) {
    let rust = bench.rust_file();
    let rust = NAMES.iter().map(|name| (*name, rust.clone()));
    let all = rust.chain([JS, PYTHON].map(|it| (it.plugin, it.path())));
    let mut text = "[serve]\nanonymous = \"mcp\"\n".to_owned();
    for (name, path) in all {
        text.push_str(&format!("[plugins.{name}]\npath = {}\n", json!(path)));
    }
    std::fs::write(file, text).expect("a configuration");
}

/// Starts it, asks for its tools as soon as it says where, and reads until they are there.
fn listed(program: &str, home: &Path, file: &Path) -> (Duration, usize) {
    let mut command = belljar(program, home);
    command.args(["serve", "--http", "127.0.0.1:0", "--config"]).arg(file);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let began = Instant::now();
    let mut server = Ends(command.spawn().expect("belljar starts"));
    let told = BufReader::new(server.0.stderr.take().expect("a stderr")).lines();
    let address = told
        .map_while(Result::ok)
        .find_map(|line| line.split("http://").nth(1)?.split_whitespace().next().map(str::to_owned))
        .expect("belljar says where it listens");
    let mut stream = TcpStream::connect(&address).expect("it listens");
    let request = format!("GET /v1/tools HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    let took = began.elapsed();
    let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let body: Value = serde_json::from_str(body).expect("a list");
    assert!(body["nextCursor"].is_null(), "all are on one page: {}", body["nextCursor"]);
    (took, body["tools"].as_array().expect("tools").len())
}

/// Measures it.
pub(crate) fn measure(bench: &mut Bench) {
    let Some(program) = BELLJAR.filter(|_| cfg!(feature = "http")) else {
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
