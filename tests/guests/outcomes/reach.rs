//! Rows on what a guest reaches for beyond files: files that are no plugin, the environment, the
//! network.

use belljar::contract::outcome::Outcome::ToolError;

use super::End::{Call, NotLoaded, Survived};
use super::Guest::{Rust, Spoiled, Wat};
use super::Row;
use super::Spoiled::{
    CutShort, Empty, EveryByteTurned, EveryPrefix, Noise, NoiseBehindMagic, Text,
};

const fn no_plugin(guest: super::Guest, says: &'static str) -> Row {
    Row::new(guest, "", NotLoaded, says)
}

const fn stopped(tool: &'static str, says: &'static str) -> Row {
    Row::new(Rust("hostile"), tool, Call(ToolError), says)
}

pub(super) const ROWS: &[Row] = &[
    no_plugin(Wat("unknown-import"), "imports what nobody provides"),
    no_plugin(Wat("core-module"), "a core module instead of a component"),
    no_plugin(Wat("shared-memory"), "a memory shared between threads"),
    no_plugin(Wat("async-export"), "an export that is asynchronous"),
    no_plugin(Spoiled(Empty), "an empty file"),
    no_plugin(Spoiled(Noise), "random bytes"),
    no_plugin(Spoiled(NoiseBehindMagic), "random bytes that begin like a component"),
    no_plugin(Spoiled(CutShort), "a component without its last byte"),
    no_plugin(Spoiled(Text), "a component as text"),
    Row::new(Spoiled(EveryPrefix), "", Survived, "a component cut short at every byte"),
    Row::new(Spoiled(EveryByteTurned), "", Survived, "a component with one byte spoiled"),
    stopped("environment", "reads the environment"),
    stopped("arguments", "reads the program's arguments"),
    stopped("standard-input", "reads standard input"),
    stopped("connect", "opens a TCP connection")
        .with(r#"{"address":"127.0.0.1:9"}"#)
        .misses("sockets"),
    stopped("resolve", "looks up a name").with(r#"{"name":"localhost"}"#).misses("sockets"),
    Row::new(
        Rust("writer"),
        "post",
        Call(ToolError),
        "sends an HTTP POST from a tool that says it only reads",
    )
    .with(r#"{"authority":"127.0.0.1:9","path":"/"}"#)
    .misses("http"),
];
