//! Rows on files outside every grant, and on files that aren't regular.

use belljar::contract::outcome::Outcome::ToolError;

use super::End::Call;
use super::Folders::{ReadOnly, ReadWrite, Ungranted};
use super::Guest::Rust;
use super::{Folders, Row};

pub(super) const fn try_it(
    folders: Folders,
    tool: &'static str,
    arguments: &'static str,
    says: &'static str,
) -> Row {
    Row::new(Rust("hostile"), tool, Call(ToolError), says).with(arguments).granted(folders)
}

const fn read(folders: Folders, arguments: &'static str, says: &'static str) -> Row {
    try_it(folders, "read-file", arguments, says)
}

pub(super) const ROWS: &[Row] = &[
    read(Ungranted, r#"{"path":"notes.txt"}"#, "reads a file where no folder is granted")
        .misses("dir"),
    read(
        Ungranted,
        r#"{"path":"/proc/self/environ"}"#,
        "reads the host's environment from `/proc`",
    ),
    read(ReadOnly, r#"{"path":"/proc/self/environ"}"#, "the same, with a folder granted"),
    read(ReadOnly, r#"{"path":"../secret.txt"}"#, "reads a file outside the grant by `..`"),
    read(ReadOnly, r#"{"path":"folder/../../secret.txt"}"#, "the same by a way through a folder"),
    read(
        ReadOnly,
        r#"{"path":"../granted_private/key.txt"}"#,
        "reads from a folder whose name begins like the granted one's",
    ),
    read(ReadOnly, r#"{"path":"/granted_private/key.txt"}"#, "the same by an absolute path"),
    read(ReadOnly, r#"{"path":"/etc/passwd"}"#, "reads an absolute path of the host"),
    read(ReadOnly, r#"{"path":"out"}"#, "reads through a link out of the grant, made by the host"),
    read(ReadOnly, r#"{"path":"out/"}"#, "the same with a slash behind it"),
    read(ReadOnly, r#"{"path":"pipe"}"#, "reads a FIFO that nobody writes to"),
    try_it(ReadWrite, "append-to-file", r#"{"path":"pipe"}"#, "writes to a FIFO that nobody reads"),
    try_it(ReadOnly, "read-folder", r#"{"path":".."}"#, "lists the folder above the grant"),
    try_it(ReadOnly, "read-folder", r#"{"path":"/etc"}"#, "lists a folder of the host"),
    try_it(
        ReadWrite,
        "read-through-link",
        r#"{"link":"mine","target":"../secret.txt"}"#,
        "reads through a link out of the grant, made by itself",
    ),
    try_it(
        ReadWrite,
        "read-through-link",
        r#"{"link":"mine","target":"/etc/passwd"}"#,
        "the same with an absolute target",
    ),
    try_it(ReadWrite, "create-file", r#"{"path":"../new.txt"}"#, "makes a file outside the grant"),
    try_it(
        ReadWrite,
        "truncate-file",
        r#"{"path":"out"}"#,
        "writes through a link out of the grant, made by the host",
    ),
    try_it(
        ReadWrite,
        "rename",
        r#"{"existing":"notes.txt","new":"../notes.txt"}"#,
        "moves a file out of the grant",
    ),
    try_it(
        ReadWrite,
        "hard-link",
        r#"{"existing":"../secret.txt","new":"mine"}"#,
        "gives a file outside the grant a name inside",
    ),
];
