//! Rows on changes in what was granted to be read, or by a tool that says it only reads.

use belljar::contract::outcome::Outcome::ToolError;

use super::End::{Call, Content};
use super::Folders::{ReadOnly, ReadWrite, TwoModes};
use super::Guest::Rust;
use super::Row;
use super::files::try_it;

pub(super) const ROWS: &[Row] = &[
    try_it(ReadOnly, "create-file", r#"{"path":"new.txt"}"#, "read-only grant: makes a file"),
    try_it(ReadOnly, "truncate-file", r#"{"path":"notes.txt"}"#, "read-only grant: empties a file"),
    try_it(ReadOnly, "append-to-file", r#"{"path":"notes.txt"}"#, "read-only grant: appends"),
    try_it(ReadOnly, "set-length", r#"{"path":"notes.txt"}"#, "read-only grant: sets a length"),
    try_it(ReadOnly, "set-times", r#"{"path":"notes.txt"}"#, "read-only grant: sets times"),
    try_it(
        ReadOnly,
        "hard-link",
        r#"{"existing":"notes.txt","new":"twin.txt"}"#,
        "read-only grant: gives a file a second name",
    ),
    try_it(
        ReadOnly,
        "rename",
        r#"{"existing":"notes.txt","new":"other.txt"}"#,
        "read-only grant: gives a file another name",
    ),
    try_it(ReadOnly, "remove-file", r#"{"path":"notes.txt"}"#, "read-only grant: removes a file"),
    try_it(
        ReadOnly,
        "symbolic-link",
        r#"{"link":"mine","target":"notes.txt"}"#,
        "read-only grant: makes a link",
    ),
    try_it(ReadOnly, "make-folder", r#"{"path":"new"}"#, "read-only grant: makes a folder"),
    try_it(ReadOnly, "remove-folder", r#"{"path":"folder"}"#, "read-only grant: removes a folder"),
    try_it(
        TwoModes,
        "rename",
        r#"{"existing":"notes.txt","new":"/frozen/moved.txt"}"#,
        "moves a file from a writable grant into a read-only one",
    ),
    try_it(
        TwoModes,
        "hard-link",
        r#"{"existing":"notes.txt","new":"/frozen/twin.txt"}"#,
        "links a file from a writable grant into a read-only one",
    ),
    try_it(
        TwoModes,
        "hard-link",
        r#"{"existing":"/frozen/notes.txt","new":"twin.txt"}"#,
        "links a file from a read-only grant into a writable one, to write it there",
    ),
    try_it(
        TwoModes,
        "copy",
        r#"{"existing":"notes.txt","new":"/frozen/notes.txt"}"#,
        "copies a file over one in a read-only grant",
    ),
    try_it(
        TwoModes,
        "rename",
        r#"{"existing":"/frozen/notes.txt","new":"taken.txt"}"#,
        "takes a file out of a read-only grant",
    ),
    Row::new(
        Rust("writer"),
        "read",
        Call(ToolError),
        "writes from a tool that says it only reads, in a folder granted to be written",
    )
    .with(r#"{"path":"notes.txt"}"#)
    .granted(ReadWrite),
    Row::new(
        Rust("writer"),
        "write",
        Content("2 bytes written"),
        "the same plugin's tool that says it writes: no attack, and it may",
    )
    .with(r#"{"path":"notes.txt","text":"ok"}"#)
    .granted(ReadWrite),
];
