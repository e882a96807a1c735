//! What the tests of the journal share.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contract::approval::CallerContext;
use crate::contract::arguments::CheckedArguments;
use crate::contract::decision::{ApprovalMark, ApprovedBy};
use crate::contract::ids::{CallId, Digest, ToolId};
use crate::contract::outcome::{Executed, Outcome};
use crate::events::journal::*;

pub(super) static DIGEST: LazyLock<Digest> = LazyLock::new(|| Digest::of(b"x"));
pub(super) static TOOL: LazyLock<ToolId> = LazyLock::new(|| "files.read".parse().unwrap());
static CALLER: LazyLock<CallerContext> =
    LazyLock::new(|| CallerContext { caller: Some("me".into()), ..CallerContext::default() });
static MARK: LazyLock<ApprovalMark> =
    LazyLock::new(|| ApprovalMark::new(ApprovedBy::Rule, "proven read-only"));
static ARGUMENTS: LazyLock<CheckedArguments> = LazyLock::new(|| arguments(r#"{"path":"a.txt"}"#));

pub(super) fn arguments(json: &str) -> CheckedArguments {
    serde_json::from_str(json).unwrap()
}

pub(super) fn call(id: &str) -> CallId {
    id.parse().unwrap()
}

pub(super) fn started(id: &CallId) -> CallStarted<'_> {
    CallStarted {
        call_id: id,
        tool_name: "files_read",
        tool: &TOOL,
        plugin_digest: Some(&DIGEST),
        arguments: &ARGUMENTS,
        caller: &CALLER,
        mark: &MARK,
        policy_revision: &DIGEST,
        trace_parent: None,
        idempotency_key_hash: None,
    }
}

pub(super) fn finished(id: &CallId) -> CallFinished<'_> {
    CallFinished {
        call_id: id,
        tool_name: "files_read",
        outcome: Outcome::Success,
        executed: Executed::Yes,
        error_message: None,
        attempts: 1,
        usage: None,
        duration_ms: Some(2),
        content_bytes: 5,
        content_hash: None,
    }
}

pub(super) fn refused<'a>(id: &'a CallId, reason: &'a str) -> Record<'a> {
    Record::CallRefused(CallNotRun {
        call_id: id,
        tool_name: "files_read",
        tool: Some(&TOOL),
        arguments_hash: None,
        caller: &CALLER,
        outcome: Outcome::Denied,
        reason,
        approval: None,
    })
}

/// A folder for one test.
pub(super) struct Home(tempfile::TempDir);

impl Home {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn audit(&self) -> PathBuf {
        self.0.path().join("audit")
    }

    pub(super) fn open(&self) -> (Journal, Recovered) {
        self.open_with(JournalOptions::default())
    }

    pub(super) fn open_with(&self, options: JournalOptions) -> (Journal, Recovered) {
        Journal::open(&self.audit(), options, || 1_000).unwrap()
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        read(&self.audit(), Filter::default()).unwrap().map(Result::unwrap).collect()
    }

    /// Call id and kind of each entry.
    pub(super) fn told(&self) -> Vec<(String, String)> {
        let of = |entry: Entry| (entry.text("callId").unwrap_or("").to_owned(), entry.kind);
        self.entries().into_iter().map(of).collect()
    }

    pub(super) fn verified(&self) -> Verified {
        verify(&self.audit(), None).unwrap()
    }

    pub(super) fn segments(&self) -> Vec<PathBuf> {
        let mut paths = paths(&self.audit().join("log"));
        paths.retain(|path| path.extension().is_some_and(|end| end == "log"));
        paths
    }

    pub(super) fn lanes(&self) -> Vec<PathBuf> {
        paths(&self.audit().join("lanes"))
    }

    /// A copy of the audit folder, as a crash at this moment would leave it.
    pub(super) fn crashed(&self) -> Self {
        let copy = Self::new();
        copy_folder(&self.audit(), &copy.audit());
        copy
    }
}

pub(super) fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths
}

fn copy_folder(from: &Path, to: &Path) {
    DirBuilder::new().mode(0o700).create(to).unwrap();
    for path in paths(from) {
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// Runs a call from its beginning to its end.
pub(super) async fn run(journal: &Journal, id: &str) {
    let id = call(id);
    journal.begin(started(&id)).await.unwrap().finish(&finished(&id));
}

/// A clock that a test sets; each test has its own.
macro_rules! test_clock {
    ($set:ident, $clock:ident) => {
        static NOW: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let $clock: $crate::events::Clock = || NOW.load(std::sync::atomic::Ordering::SeqCst);
        let $set = |now: u64| NOW.store(now, std::sync::atomic::Ordering::SeqCst);
    };
}
pub(super) use test_clock;

/// Counts something across threads.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn up(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}
