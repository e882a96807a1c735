//! The store against itself: two stores on one file are two processes to SQLite.

mod answers;
mod bounds;
mod files;
mod keys;

use std::path::PathBuf;

use super::SqliteStore;
use crate::contract::approval::{
    ApprovalDecision, ApprovalRequest, Approver, CallerContext, Channel, Decided, RememberScope,
    Remembered, RememberedVerdict,
};
use crate::contract::descriptor::{Isolation, example};
use crate::contract::effects::Effect;
use crate::contract::grants::GrantsRecord;
use crate::contract::ids::{ApprovalId, Digest};

/// When the requests of these tests are made; they live for 1,000 ms.
const MADE: u64 = 1_000_000;

fn id(number: usize) -> ApprovalId {
    let letters = number.to_be_bytes().map(|byte| [byte / 32, byte % 32]);
    let mut random = [0; 12];
    random.copy_from_slice(&letters.as_flattened()[4..]);
    ApprovalId::from_random(random)
}

fn request(number: usize) -> ApprovalRequest {
    let tool = example("files.write", Effect::assumed(false));
    ApprovalRequest {
        id: id(number),
        created_unix_ms: MADE,
        expires_unix_ms: MADE + 1_000,
        binding: Digest::of(&number.to_be_bytes()),
        call_id: format!("c{number}").parse().unwrap(),
        tool: tool.id,
        title: None,
        plugin: tool.plugin,
        isolation: Isolation::Sandbox,
        effects: tool.effects,
        arguments: serde_json::from_str(r#"{"path":"a"}"#).unwrap(),
        caller: CallerContext { session_id: Some("s1".into()), ..CallerContext::default() },
        grants: GrantsRecord::default(),
        limits: std::iter::once(("fuel".into(), "5 fuel".into())).collect(),
        reason: "it writes".into(),
        policy_revision: Digest::of(b"policy"),
        changed: Vec::new(),
        yes_allowed: false,
        question: false,
    }
}

fn approver() -> Approver {
    Approver { name: "ann".into(), channel: Channel::Terminal }
}

fn decided(decision: ApprovalDecision) -> Decided {
    Decided { decision, approver: approver(), at_unix_ms: MADE + 10, along: None }
}

fn remembered(number: usize) -> Remembered {
    let request = request(number);
    Remembered {
        id: request.id,
        verdict: RememberedVerdict::Allow,
        tool: request.tool,
        plugin_digest: request.plugin.digest,
        grants: request.grants,
        scope: RememberScope::Tool,
        arguments_hash: request.arguments.hash(),
        caller: None,
        user_id: None,
        execution_user_id: None,
        workspace: None,
        session_id: None,
        approver: approver(),
        reason: None,
        created_unix_ms: MADE + 10,
        expires_unix_ms: None,
    }
}

/// A private folder that is gone afterwards, and the file in it that isn't there yet.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state").join("approvals.sqlite");
    (folder, path)
}

fn memory() -> SqliteStore {
    SqliteStore::in_memory().unwrap()
}
