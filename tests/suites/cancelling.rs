//! A call that is cancelled while its guest runs or waits: it ends at once, leaves nothing, and its
//! plugin goes on working.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar::app::App;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::{Executed, Outcome};
use belljar::contract::result::ToolResult;
use belljar::sandbox::PLUGIN_CALLS;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::harness;
use crate::guests::built;

/// Far more than a cancelled call takes on a busy machine, far less than the default deadline.
const PATIENCE: Duration = Duration::from_secs(15);
const SLEEP: (&str, &str) = ("probes.sleep", r#"{"milliseconds":3600000}"#);

fn start() -> Arc<App> {
    let (loops, sleeps) = (built::wat("loops"), built::wat("sleeps"));
    let guests: [(&str, &[u8]); 3] =
        [("loops", &loops), ("sleeps", &sleeps), ("probes", built::rust("hostile"))];
    Arc::new(harness::start(&harness::plugins(&harness::folder_with(&guests))))
}

fn begin(
    app: &Arc<App>,
    tool: &str,
    arguments: &str,
    cancel: &CancellationToken,
) -> JoinHandle<ToolResult> {
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), tool, arguments);
    call.permission_level = PermissionLevel::Full;
    let (app, cancel) = (Arc::clone(app), cancel.clone());
    tokio::spawn(async move { app.host.call_with(call, cancel).await })
}

/// Waits until something holds; a test that never gets there says what.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::task::yield_now().await;
    }
}

/// Waits until so many guests have an instance of their own.
async fn running(app: &App, calls: usize) {
    let there = || {
        app.sandbox.calls_in_use() == calls
            && app.sandbox.instances_in_use().is_none_or(|used| used >= calls as u64)
    };
    until("the guests never started", there).await;
}

async fn at_rest(app: &App) {
    let freed = || {
        app.sandbox.calls_in_use() + app.sandbox.blocked_calls() == 0
            && app.sandbox.instances_in_use().is_none_or(|used| used == 0)
    };
    until("a store or a permit is still held", freed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t27_a_cancelled_call_is_trapped_at_once_and_its_store_and_permit_are_freed() {
    let app = start();
    for (tool, arguments) in [
        ("loops.spin", "{}"),
        ("loops.fill", "{}"),
        ("loops.spin-after-return", "{}"),
        ("sleeps.naps", "{}"),
        ("sleeps.hour", "{}"),
        SLEEP,
    ] {
        let cancel = CancellationToken::new();
        let call = begin(&app, tool, arguments, &cancel);
        running(&app, 1).await;
        let began = Instant::now();
        cancel.cancel();
        let result = call.await.unwrap();
        assert!(began.elapsed() < PATIENCE, "{tool}: {:?}", began.elapsed());
        let ended = (result.outcome, result.executed);
        assert_eq!(ended, (Outcome::Interrupted, Executed::Maybe), "{tool}: {result:?}");
        at_rest(&app).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t28_a_plugin_is_usable_right_after_as_many_cancelled_calls_as_it_may_have() {
    let app = start();
    let cancel = CancellationToken::new();
    let calls: Vec<_> = (0..PLUGIN_CALLS).map(|_| begin(&app, SLEEP.0, SLEEP.1, &cancel)).collect();
    running(&app, PLUGIN_CALLS as usize).await;
    cancel.cancel();
    for call in calls {
        assert_eq!(call.await.unwrap().outcome, Outcome::Interrupted);
    }
    let began = Instant::now();
    let next = harness::call(&app, SLEEP.0, json!({"milliseconds": 0})).await;
    assert_eq!((next.outcome, next.content.as_str()), (Outcome::Success, "slept"));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}
