//! What an approval is good for: what was asked about, and nothing that changed since.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, CallerContext, RememberScope};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::grants::{DirGrant, DirMode, GrantSource, Grants, ToolGrants};
use crate::contract::ids::Digest;
use crate::contract::limits::LimitKind;
use crate::contract::outcome::{Executed, Outcome};
use crate::gate::PolicySettings;

fn folder(host: &str, mode: DirMode) -> Grants {
    let mut grants = Grants::default();
    grants.add_dir(DirGrant { host: host.into(), guest: "/w".into(), mode }).unwrap();
    grants
}

/// How a call ends where the tools change between the answer's question and its run.
async fn approved_after(change: impl FnOnce(&Host)) -> (Outcome, Executed, usize, String) {
    let mut host = Host::new();
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    change(&host);
    host.decide(&id, ApprovalDecision::Once);
    let result = waiting.await.unwrap();
    (result.outcome, result.executed, host.runner.runs(), result.content)
}

#[tokio::test(start_paused = true)]
async fn t36_what_was_approved_is_not_run_as_something_else() {
    let tool = |change: fn(&mut ToolDescriptor)| {
        move |host: &Host| {
            host.tools.change("fake.write", change);
        }
    };
    let (mode, wider) = (DirMode::ReadWrite, |mode| folder("/srv", mode));
    let grants = move |host: &Host| {
        host.tools.put(writer("fake.write"), ToolGrants::Fixed(Arc::new(wider(mode))));
    };
    for (what, got) in [
        ("build", approved_after(tool(|it| it.plugin.digest = Digest::of(b"other"))).await),
        (
            "limits",
            approved_after(tool(|it| {
                it.limits.set(LimitKind::Fuel, 1_000_000_000_000).unwrap();
            }))
            .await,
        ),
        ("grants", approved_after(grants).await),
    ] {
        let (outcome, executed, runs, content) = got;
        assert_eq!((outcome, executed), (Outcome::ApprovalDeclined, Executed::No), "{what}");
        assert!(content.contains("was given for another call"), "{what}: {content}");
        assert_eq!(runs, 0, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn t36_a_tool_that_is_gone_by_then_is_not_run() {
    let got = approved_after(|host| host.tools.remove("fake.write")).await;
    assert_eq!((got.0, got.1, got.2), (Outcome::NotFound, Executed::No, 0));
}

#[tokio::test(start_paused = true)]
async fn t36_what_changes_nothing_that_was_approved_runs() {
    let got = approved_after(|host| {
        host.tools.change("fake.write", |tool| tool.description = "does it well".into());
    })
    .await;
    assert_eq!((got.0, got.2), (Outcome::Success, 1));
}

/// Grants of a folder that is another one each time.
#[derive(Debug, Default)]
struct Moving(AtomicUsize);

impl GrantSource for Moving {
    fn resolve(&self, caller: &CallerContext) -> Result<Grants, String> {
        let Some(name) = &caller.caller else { return Err("the caller isn't known".into()) };
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Ok(folder(&format!("/srv/{name}/{number}"), DirMode::ReadOnly))
    }
}

#[tokio::test(start_paused = true)]
async fn t36_grants_that_are_made_for_the_call_are_made_again_before_it_runs() {
    let got = approved_after(|_| {}).await;
    assert_eq!(got.0, Outcome::Success);
    let mut host = Host::new();
    let source = Arc::new(Moving::default());
    let template = ToolGrants::PerCall { source, read_only: false };
    host.tools.put(writer("fake.write"), template);
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::Once);
    let result = waiting.await.unwrap();
    assert_eq!((result.outcome, host.runner.runs()), (Outcome::ApprovalDeclined, 0));
    let mut unknown = call("c2", "fake.write", "{}");
    unknown.caller = None;
    let result = host.call(unknown).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Denied, Executed::No));
    assert!(result.content.contains("the caller isn't known"), "{}", result.content);
}

#[tokio::test(start_paused = true)]
async fn t36_an_approval_under_other_rules_admits_nothing() {
    let mut host = Host::new();
    host.call(handing_back("c1", "{}")).await;
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::Once);
    let rules = serde_json::json!({"rules": [{"action": "deny", "tool": "other.*"}]});
    let policy: PolicySettings = serde_json::from_value(rules).unwrap();
    let store = Arc::clone(&host.store);
    let strict = Setup { policy, store, ..Setup::default() }.host();
    let result = strict.call(handing_back("c2", "{}")).await;
    assert_eq!((result.outcome, strict.runner.runs()), (Outcome::ApprovalPending, 0));
    let same = host.call(handing_back("c3", "{}")).await;
    assert_eq!((same.outcome, host.runner.runs()), (Outcome::Success, 1));
}

/// A host whose person said yes for good to `{"path":"a"}`.
async fn trusting(scope: RememberScope) -> Host {
    let mut host = Host::new();
    let grants = folder("/srv/a", DirMode::ReadOnly);
    host.tools.put(writer("fake.write"), ToolGrants::Fixed(Arc::new(grants)));
    let waiting = host.start(asking("c1", r#"{"path":"a"}"#));
    let (_, id) = host.asked().await;
    host.decide(&id, always(scope));
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
    host
}

#[tokio::test(start_paused = true)]
async fn t35_a_remembered_approval_does_not_cover_other_arguments() {
    let host = trusting(RememberScope::Arguments).await;
    let same = host.call(asking("c2", r#" {"path":"a"} "#)).await;
    assert_eq!((same.outcome, same.duration_ms), (Outcome::Success, Some(0)));
    assert!(same.approval.unwrap().approval.is_some(), "it names what was remembered");
    let other = host.call(handing_back("c3", r#"{"path":"b"}"#)).await;
    assert_eq!(other.outcome, Outcome::ApprovalPending);
    assert_eq!((host.runner.runs_of("c2"), host.runner.runs_of("c3")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn t35_a_session_approval_is_for_that_session_alone() {
    let mut host = Host::new();
    let waiting = host.start(asking("c1", "{}"));
    let (_, id) = host.asked().await;
    host.decide(&id, ApprovalDecision::Session);
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
    assert_eq!(host.call(asking("c2", r#"{"n":1}"#)).await.outcome, Outcome::Success);
    let mut other = handing_back("c3", "{}");
    other.session_id = Some("s2".to_owned());
    assert_eq!(host.call(other).await.outcome, Outcome::ApprovalPending);
}

#[tokio::test(start_paused = true)]
async fn t40_another_build_or_wider_grants_void_what_was_remembered() {
    let wider = ToolGrants::Fixed(Arc::new(folder("/srv/a", DirMode::ReadWrite)));
    let elsewhere = ToolGrants::Fixed(Arc::new(folder("/srv/a/b", DirMode::ReadOnly)));
    let host = trusting(RememberScope::Tool).await;
    host.tools.put(writer("fake.write"), no_grants());
    assert_eq!(host.call(handing_back("c2", "{}")).await.outcome, Outcome::Success);
    for (id, other) in [("c3", wider), ("c5", elsewhere)] {
        host.tools.put(writer("fake.write"), other);
        assert_eq!(host.call(handing_back(id, "{}")).await.outcome, Outcome::ApprovalPending);
    }

    let mut host = trusting(RememberScope::Tool).await;
    host.tools.change("fake.write", |tool| tool.plugin.digest = Digest::of(b"other"));
    let result = host.call(handing_back("c4", "{}")).await;
    assert_eq!(result.outcome, Outcome::ApprovalPending);
    let (_, id) = host.asked().await;
    let changed = host.queue.show(&id).unwrap().request.changed;
    assert!(changed[0].contains("another build"), "{changed:?}");
}
