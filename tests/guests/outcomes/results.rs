//! Rows on how a guest ends, and on what it hands back.

use belljar::contract::limits::LimitKind::{Lifted, OutputKept, OutputShown};
use belljar::contract::outcome::Outcome::{Crashed, OutputTooLarge, Success};

use super::End::{Call, Content, Unsupported};
use super::Guest::{Rust, Wat};
use super::Row;

const fn crash(guest: super::Guest, tool: &'static str, says: &'static str) -> Row {
    Row::new(guest, tool, Call(Crashed), says)
}

const fn bomb(tool: &'static str, says: &'static str) -> Row {
    Row::new(Wat("big-results"), tool, Call(OutputTooLarge), says).meets(Lifted)
}

pub(super) const ROWS: &[Row] = &[
    crash(Wat("traps"), "unreachable", "an unreachable instruction"),
    crash(Wat("traps"), "divide-by", "a division by zero").with(r#"{"divisor":0}"#),
    crash(Wat("traps"), "recurse", "recursion without end"),
    crash(Wat("traps"), "read-outside-memory", "a read outside its memory"),
    crash(Wat("traps"), "call-null", "a call through an empty place of a table"),
    crash(Rust("hostile"), "panic", "a panic with terminal codes in its message")
        .with(r#"{"message":"\u001b[2J\u202egone"}"#),
    crash(Wat("exits"), "zero", "`exit` with 0 instead of an answer"),
    crash(Wat("exits"), "one", "`exit` with 1 instead of an answer"),
    crash(Wat("bad-results"), "invalid-utf8", "a string that isn't UTF-8"),
    crash(Wat("bad-results"), "string-outside-memory", "a string outside its memory"),
    crash(Wat("bad-results"), "string-round-the-end", "a string of 4 GiB round the end of memory"),
    crash(Wat("bad-results"), "surrogate-char", "a character that Unicode doesn't have"),
    crash(Wat("bad-results"), "unknown-case", "an enum case that its type doesn't have"),
    bomb("long-string", "a string of 64 MiB"),
    bomb("long-bytes", "64 MiB of bytes"),
    bomb("aliased-strings", "4096 strings that are all the same 1 MiB: 4 GiB for the host"),
    bomb("nested-lists", "twelve levels of lists of eight: 69 billion elements for the host"),
    Row::new(
        Wat("big-results"),
        "string-above-what-is-shown",
        Call(Success),
        "a string of 1 MiB, more than a model is shown",
    )
    .meets(OutputShown),
    Row::new(
        Wat("big-results"),
        "string-above-what-is-shown",
        Call(OutputTooLarge),
        "the same, where less is kept",
    )
    .meets_at(OutputKept, 512 << 10),
    Row::new(Wat("deep-type"), "deep", Unsupported, "a result type ninety lists deep"),
    Row::new(Wat("deep-type"), "plain", Content("7"), "a plain tool beside it"),
    Row::new(
        Wat("counter"),
        "count",
        Content("1"),
        "counts its calls, to see whether anything is left of an earlier one",
    ),
];
