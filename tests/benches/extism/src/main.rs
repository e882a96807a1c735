//! Calls an extism plugin as often as a line on its stdin says, and answers with how long each call
//! took. A process of its own, so that one run may take turns with belljar's lanes.
//!
//! Knows nothing of belljar. Its argument is extism's library. Lines in: `fresh N`, `reused N`. Lines
//! out: N numbers of nanoseconds.

mod library;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use self::library::Extism;

/// A module under the bounds that belljar has too: time and memory.
const MANIFEST: &str =
    r#"{"wasm": [{"data": "@"}], "timeout_ms": 30000, "memory": {"max_pages": 4096}}"#;
/// The least that extism can call, as base64: it takes no input, gives no output, imports nothing and
/// has no memory. `(module (func (export "nop") (result i32) (i32.const 0)))`
const NOP: &str = "AGFzbQEAAAABBQFgAAF/AwIBAAcHAQNub3AAAAoGAQQAQQAL";
/// And of work.
const FUEL: u64 = 50_000_000_000;

fn times(count: usize, mut call: impl FnMut() -> Result<(), String>) -> Result<String, String> {
    let mut line = String::new();
    for _ in 0..count {
        let began = Instant::now();
        call()?;
        line.push_str(&format!("{} ", began.elapsed().as_nanos()));
    }
    Ok(line)
}

fn answer(line: &str, extism: &Extism, reused: &mut library::Plugin<'_>) -> Result<String, String> {
    let (lane, count) = line.split_once(' ').ok_or("expected `LANE N`")?;
    let count = count.parse().map_err(|_other| "expected a number of calls")?;
    match lane {
        // The end of the plugin is in it, as that of the store is in belljar's calls.
        "fresh" => times(count, || extism.plugin()?.call(c"nop")),
        "reused" => times(count, || reused.call(c"nop")),
        _ => Err("expected `fresh` or `reused`".to_owned()),
    }
}

fn run() -> Result<(), String> {
    let library = std::env::args_os().nth(1).map(PathBuf::from).ok_or("expected a library")?;
    let extism = Extism::new(&library, &MANIFEST.replace('@', NOP), FUEL)?;
    let mut reused = extism.plugin()?;
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let answer = answer(&line, &extism, &mut reused)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-extism: {error}");
            ExitCode::FAILURE
        }
    }
}
