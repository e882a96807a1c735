//! The table of hostile guests: what each attacks, and how the call has to end.
//!
//! The tests run every row and `docs/limits.md` is written from the same rows, so what is said to
//! users is what was run. Knows nothing of how a row is run.
//!
//! Probes of the Rust guests return `ok` with what they gained and `err` with what stopped them:
//! where a row of theirs ends as `tool_error`, a success is a hole in the sandbox.
//!
//! Rows with [`Folders`] expect this fixture, made anew for each row:
//!
//! | path | is |
//! |---|---|
//! | `granted/notes.txt` | a file; it and the two below are the same in `frozen/` |
//! | `granted/folder/` | an empty folder |
//! | `granted/out` | a symbolic link to `../secret.txt`, made by the host |
//! | `granted/pipe` | a FIFO nobody writes to |
//! | `granted_private/key.txt` | a file in a folder whose name begins like the granted one's |
//! | `secret.txt` | a file outside every grant |
//!
//! After a row that doesn't end as `success`, every name, and every file's bytes and time,
//! is as before.
//! No row may change what isn't granted.

mod burdens;
mod changes;
mod files;
mod reach;
mod results;
mod work;

use belljar::contract::limits::LimitKind;
use belljar::contract::outcome::Outcome;

/// Where a guest's bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guest {
    /// `tests/guests/wat/<name>.wat`.
    Wat(&'static str),
    /// The package `belljar-guest-<name>` of the workspace `tests/guests/rust`, packed with the WIT
    /// docs of its own `wit` folder.
    Rust(&'static str),
    /// Bytes that the test makes.
    Spoiled(Spoiled),
}

/// Bytes that are no component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoiled {
    /// No bytes at all.
    Empty,
    /// A kilobyte of noise.
    Noise,
    /// The magic number of a component, then noise.
    NoiseBehindMagic,
    /// A whole component but for its last byte.
    CutShort,
    /// Every prefix of a whole component. One that ends between two sections is a component.
    EveryPrefix,
    /// A whole component with one byte after another turned over. Some still are a
    /// component.
    EveryByteTurned,
    /// Component text, which is for tests and never for users.
    Text,
}

/// The folders of the fixture that a row grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Folders {
    /// None, and no fixture is needed.
    Ungranted,
    /// `granted`, to be read.
    ReadOnly,
    /// `granted`, to be written.
    ReadWrite,
    /// `granted` to be written, and beside it `frozen` to be read.
    TwoModes,
}

/// How a row ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The file isn't loaded.
    NotLoaded,
    /// The file is loaded without the tool, and the reason is reported.
    Unsupported,
    /// The file may be loaded or not; the host lives.
    Survived,
    /// The call ends so.
    Call(Outcome),
    /// The call ends as `success` with this content, also when it is made again.
    Content(&'static str),
}

/// The limit that a row meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Met {
    /// Which.
    pub(crate) kind: LimitKind,
    /// What the operator set it to, small so that the test is quick; `None`: the default.
    pub(crate) set: Option<u64>,
}

/// One hostile act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Who acts.
    pub(crate) guest: Guest,
    /// By which tool, without the plugin's name; empty where nothing is loaded.
    pub(crate) tool: &'static str,
    /// Called with these arguments.
    pub(crate) arguments: &'static str,
    /// With these folders granted, and nothing else.
    pub(crate) folders: Folders,
    /// How that ends.
    pub(crate) end: End,
    /// The limit that fired. Where the row ends as `success`, the limit cut what it bounds.
    pub(crate) met: Option<Met>,
    /// The kind of the missing grant that the result names.
    pub(crate) missing: Option<&'static str>,
    /// The attack, in words for the reader of `docs/limits.md`.
    pub(crate) says: &'static str,
}

impl Row {
    const fn new(guest: Guest, tool: &'static str, end: End, says: &'static str) -> Self {
        Self {
            guest,
            tool,
            arguments: "{}",
            folders: Folders::Ungranted,
            end,
            met: None,
            missing: None,
            says,
        }
    }

    const fn with(mut self, arguments: &'static str) -> Self {
        self.arguments = arguments;
        self
    }

    const fn granted(mut self, folders: Folders) -> Self {
        self.folders = folders;
        self
    }

    const fn meets(mut self, kind: LimitKind) -> Self {
        self.met = Some(Met { kind, set: None });
        self
    }

    const fn meets_at(mut self, kind: LimitKind, value: u64) -> Self {
        self.met = Some(Met { kind, set: Some(value) });
        self
    }

    const fn misses(mut self, grant: &'static str) -> Self {
        self.missing = Some(grant);
        self
    }
}

/// The Rust guests that attack nothing and so have no row.
pub(crate) const HARMLESS: &[&str] = &["command", "conformance", "stock"];

/// A part of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    /// Its title in `docs/limits.md`.
    pub(crate) title: &'static str,
    /// Its rows.
    pub(crate) rows: &'static [Row],
}

/// Time and work.
pub(crate) const WORK: Section = Section { title: "Time and work", rows: work::ROWS };
/// Memory, tables, handles, output streams.
pub(crate) const BURDENS: Section =
    Section { title: "Memory, tables, handles, output streams", rows: burdens::ROWS };
/// Ends and results.
pub(crate) const RESULTS: Section = Section { title: "Ends and results", rows: results::ROWS };
/// What is no plugin, and what lies beyond files.
pub(crate) const REACH: Section =
    Section { title: "Files that are no plugin, environment, network", rows: reach::ROWS };
/// Files outside the grants.
pub(crate) const FILES: Section = Section { title: "Files outside the grants", rows: files::ROWS };
/// Changes in what was granted to be read.
pub(crate) const CHANGES: Section =
    Section { title: "Changes in what was granted to be read", rows: changes::ROWS };

/// The whole table, in the order of the documentation.
pub(crate) const SECTIONS: [Section; 6] = [WORK, BURDENS, RESULTS, REACH, FILES, CHANGES];
