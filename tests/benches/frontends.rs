//! What a way in costs: MCP over the standard streams and the http API, each with a client in
//! another process and everything on: gate, limits, events and the audit log on the disk.
//!
//! Measures only; asserts nothing about time. Prints a table, then the figures as one line of JSON.
//! Names of parts (`stdio`, `listing`, `http`, `watchers`) have it measure only those.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that can't run says why by ending"
)]

#[path = "frontends/http.rs"]
mod http;
#[path = "frontends/server.rs"]
mod server;
#[path = "frontends/stdio.rs"]
mod stdio;

use std::time::Duration;

use serde_json::{Map, Value, json};

/// One figure: its name, what it is, and its unit.
pub(crate) type Figure = (&'static str, f64, &'static str);

/// The value below which this part of the sorted times lies, in microseconds.
pub(crate) fn percentile(sorted: &[Duration], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index of a few thousand times"
    )]
    let index = (part * last as f64).round() as usize;
    sorted.get(index).copied().unwrap_or_default().as_secs_f64() * 1e6
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|it| it == part);
    let mut figures: Vec<Figure> = Vec::new();
    if is_wanted("stdio") {
        figures.extend(stdio::calls());
    }
    if is_wanted("listing") {
        figures.extend(stdio::listing());
    }
    if is_wanted("http") {
        figures.extend(http::calls());
    }
    if is_wanted("watchers") {
        figures.extend(http::watchers());
    }
    let mut line = Map::new();
    for (name, value, unit) in &figures {
        println!("{name:<44} {value:>12.1} {unit}");
        line.insert((*name).to_owned(), json!(value));
    }
    println!("{}", Value::Object(line));
}
