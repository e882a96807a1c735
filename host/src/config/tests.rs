//! What a whole file comes to: malformed ones, effective values, findings and the reference.

mod accepted;
mod malformed;
mod serving;
mod values;

use std::path::Path;

use super::*;

const BUILTINS: [&str; 3] = ["files", "search", "codec"];

fn sources() -> Sources<'static> {
    let variable = |name: &str| match name {
        "HOME" => Some("/home/ada".into()),
        _ => None,
    };
    Sources { option: None, surroundings: Surroundings::read(variable), builtins: &BUILTINS }
}

fn read(text: &str) -> Result<Config, ConfigError> {
    from_text(text, Path::new("/etc/belljar/belljar.toml"), &sources())
}

fn config(text: &str) -> Config {
    read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Every problem, a line each.
fn wrong(text: &str) -> String {
    match read(text) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted: {text}"),
    }
}

fn findings(text: &str) -> Vec<String> {
    let told = |it: &Finding| format!("{}: {}", it.line.unwrap_or(0), it.text);
    config(text).findings.iter().map(told).collect()
}
