//! Many calls at once, of every fate: answered, timed out, out of fuel, crashed, cancelled, and
//! dropped by whoever made them. Each gets its own end, and afterwards nothing is left of any.

use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar::app::{App, Setup};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use tokio_util::sync::CancellationToken;

use super::harness;
use crate::guests::built;

const CALLS: usize = 600;
const HASH: &str = r#"{"algorithm":"crc32","text":"abc"}"#;

fn invocation(number: usize) -> ToolInvocation {
    let (tool, arguments) = match number % 4 {
        0 => ("codec.hash", HASH),
        1 | 2 => ("loops.spin", "{}"),
        _ => ("traps.unreachable", "{}"),
    };
    let id = format!("crowd-{number}").parse().unwrap();
    let mut call = ToolInvocation::new(id, tool, arguments);
    call.permission_level = PermissionLevel::Full;
    if number % 4 == 1 {
        call.timeout = Some(Duration::from_millis(20));
    }
    call
}

/// Every second spinner without a time out is cancelled, the others are dropped.
async fn one(app: Arc<App>, number: usize) {
    let call = invocation(number);
    let id = call.call_id.clone();
    let cancel = CancellationToken::new();
    let result = match number % 8 {
        2 => {
            let later = cancel.clone();
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                later.cancel();
            });
            app.host.call_with(call, cancel).await
        }
        6 => {
            let running = app.host.call(call);
            if tokio::time::timeout(Duration::from_millis(5), running).await.is_ok() {
                panic!("an endless loop ended");
            }
            return;
        }
        _ => app.host.call(call).await,
    };
    assert_eq!(result.call_id, id);
    let expected: &[Outcome] = match number % 8 {
        0 | 4 => &[Outcome::Success],
        1 | 5 => &[Outcome::TimedOut],
        2 => &[Outcome::Interrupted, Outcome::Cancelled],
        _ => &[Outcome::Crashed],
    };
    assert!(expected.contains(&result.outcome), "{number}: {result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_of_a_crowd_has_its_own_end_and_nothing_is_left() {
    let (loops, traps) = (built::wat("loops"), built::wat("traps"));
    let folder = harness::folder_with(&[("loops", &loops), ("traps", &traps)]);
    let mut setup = Setup { builtins: true, ..harness::plugins(&folder) };
    // The same call crashes a hundred times here, which is what the breaker is against.
    setup.config.engine.breaker_after = 0;
    let app = harness::start(&setup);
    let app = Arc::new(app);
    let calls: Vec<_> = (0..CALLS).map(|n| tokio::spawn(one(Arc::clone(&app), n))).collect();
    for call in calls {
        call.await.unwrap();
    }
    let began = Instant::now();
    while app.sandbox.calls_in_use() + app.sandbox.blocked_calls() > 0
        || app.sandbox.instances_in_use().is_some_and(|instances| instances > 0)
    {
        assert!(began.elapsed() < Duration::from_secs(60), "something is left: {:?}", app.sandbox);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    one(Arc::clone(&app), 0).await;
}
