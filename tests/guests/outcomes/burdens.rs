//! Rows on what a guest takes: memory, tables, instances, handles, the host's output streams.

use belljar::contract::limits::LimitKind::{
    Handles, Instances, Memory, RandomBytes, Stdio, TableElements,
};
use belljar::contract::outcome::Outcome::{Crashed, OutOfMemory, Success, ToolError};

use super::End::{Call, Content, NotLoaded};
use super::Folders::ReadOnly;
use super::Guest::{Rust, Wat};
use super::Row;

const MEMORY: u64 = 16 << 20;

pub(super) const ROWS: &[Row] = &[
    Row::new(
        Wat("memory-growth"),
        "grow-and-die",
        Call(OutOfMemory),
        "grows its memory until it is refused, and dies of that",
    )
    .meets_at(Memory, MEMORY),
    Row::new(
        Wat("memory-growth"),
        "grow-and-bear-it",
        Content("256"),
        "grows its memory until it is refused, and answers how many pages it got",
    )
    .meets_at(Memory, MEMORY),
    Row::new(
        Wat("many-memories"),
        "run",
        Call(OutOfMemory),
        "four memories, each below the limit, their sum above it",
    )
    .meets_at(Memory, MEMORY),
    Row::new(Rust("hostile"), "allocate", Call(OutOfMemory), "1 GiB in one allocation")
        .with(r#"{"bytes":1073741824}"#)
        .meets(Memory),
    Row::new(
        Wat("table-growth"),
        "run",
        Call(OutOfMemory),
        "grows a table until it is refused, and dies of that",
    )
    .meets(TableElements),
    Row::new(Wat("many-instances"), "run", NotLoaded, "seventy core instances").meets(Instances),
    Row::new(
        Wat("many-handles"),
        "run",
        Call(Crashed),
        "ten thousand clock subscriptions, none given back",
    )
    .meets(Handles),
    Row::new(Rust("hostile"), "open-files", Call(ToolError), "one file opened a thousand times")
        .with(r#"{"path":"notes.txt","count":1000}"#)
        .granted(ReadOnly),
    Row::new(Rust("hostile"), "open-files", Content("100 files open"), "one file opened 100 times")
        .with(r#"{"path":"notes.txt","count":100}"#)
        .granted(ReadOnly),
    Row::new(Rust("hostile"), "hold-listings", Call(ToolError), "a thousand listings never read")
        .with(r#"{"path":".","count":1000}"#)
        .granted(ReadOnly),
    Row::new(Rust("hostile"), "build-header", Call(Crashed), "an http header of 64 KiB"),
    Row::new(
        Rust("hostile"),
        "build-request",
        Call(ToolError),
        "an http request with a megabyte in each of its words, never sent",
    ),
    Row::new(Wat("random-flood"), "run", Call(Crashed), "4 GiB of random bytes in one request")
        .meets(RandomBytes),
    Row::new(Wat("random-flood"), "insecure", Call(Crashed), "the same of the insecure generator")
        .meets(RandomBytes),
    Row::new(Wat("flood-stdout"), "four-mebibytes", Call(Success), "4 MiB on standard output")
        .meets(Stdio),
    Row::new(
        Rust("hostile"),
        "print",
        Content("1048576 bytes printed twice"),
        "1 MiB of forged protocol messages and terminal codes on both output streams",
    )
    .with(r#"{"bytes":1048576}"#)
    .meets(Stdio),
];
