//! A long queue of approvals: 10,000 requests that wait, listed whole.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use belljar::Host;
use belljar::contract::grants::DirMode;
use belljar::contract::invocation::{ApprovalMode, PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use belljar::events::{EventBus, unix_ms};
use belljar::gate::approval::{ApprovalQueue, ApprovalSettings};
use belljar::storage::{ListFilter, PENDING_MAX, SqliteStore};
use serde_json::{Map, Value, json};

const LISTS: usize = 20;

/// Asks through a whole host until no more may wait, then lists.
pub(crate) async fn measure(folder: &Path, figures: &mut Map<String, Value>) {
    let (state, out) = (folder.join("queue"), folder.join("out"));
    std::fs::create_dir(&out).expect("a folder");
    let config = belljar::config::from_text(
        "[approvals]\nhand_back = \"1ms\"\n[engine]\nconcurrency = 64\n",
        Path::new("/belljar.toml"),
        &belljar::config::Sources::default(),
    );
    let host = Host::builder().config(config.expect("a configuration")).state(&state).dir(
        out,
        "/out",
        DirMode::ReadWrite,
    );
    let host = host.start().expect("a host");
    let count = usize::try_from(PENDING_MAX).expect("it is small");
    let calls = (0..count).map(|number| {
        let id = format!("asked-{number}").parse().expect("a call id");
        let arguments = format!(r#"{{"path":"{number}.txt","content":"{}"}}"#, "x".repeat(2000));
        let mut call = ToolInvocation::new(id, "files.write", arguments);
        call.permission_level = PermissionLevel::ReadOnly;
        call.approval_mode = ApprovalMode::HandBack;
        call
    });
    let results = host.batch(calls.collect()).await;
    let pending = results.iter().filter(|result| result.outcome == Outcome::ApprovalPending);
    assert_eq!(pending.count(), count, "{:?}", results[0]);
    let store = Arc::new(SqliteStore::at(state.join("approvals.sqlite")));
    let settings = ApprovalSettings::default();
    let queue = ApprovalQueue::new(store, EventBus::new(unix_ms), unix_ms, settings, None);
    let mut took = Vec::new();
    for _ in 0..LISTS {
        let began = Instant::now();
        let listed = queue.list(&ListFilter::pending()).expect("a list");
        took.push(began.elapsed());
        assert_eq!(listed.len(), count);
    }
    let first = took[0].as_secs_f64() * 1e3;
    let median = super::median(took).as_secs_f64() * 1e3;
    let rounded = |ms: f64| (ms * 10.0).round() / 10.0;
    figures.insert(
        "list10000PendingMs".into(),
        json!({"first": rounded(first), "p50": rounded(median)}),
    );
}
