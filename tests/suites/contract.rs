//! Rows of the source contract that only a whole host can hold.

use std::time::{Duration, Instant};

use belljar::app::{App, Setup};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::events::{EventKind, Seen};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::harness;
use crate::guests::built;

/// Calls of every kind of end that a guest or the host can give.
const CALLS: [(&str, &str, &str); 7] = [
    ("codec.hash", r#"{"algorithm":"crc32","text":"{\"error\":\"x\"}"}"#, "success"),
    ("codec.decode", r#"{"encoding":"hex","text":"7b226572726f72223a317d"}"#, "success"),
    ("codec.decode", r#"{"encoding":"hex","text":"zz"}"#, "tool_error"),
    ("codec.hash", "[]", "invalid_arguments"),
    ("no.such", "{}", "not_found"),
    ("guest.spin", "{}", "timed_out"),
    ("probes.panic", r#"{"message":"x"}"#, "crashed"),
];

fn start() -> App {
    let loops = built::wat("loops");
    let folder = harness::folder_with(&[("guest", &loops), ("probes", built::rust("hostile"))]);
    harness::start(&Setup { builtins: true, ..harness::plugins(&folder) })
}

fn invocation(tool: &str, arguments: &str) -> ToolInvocation {
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), tool, arguments);
    call.permission_level = PermissionLevel::Full;
    if tool == "guest.spin" {
        call.timeout = Some(Duration::from_millis(100));
    }
    call
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a9_the_status_that_is_told_of_a_call_is_that_of_its_result() {
    let app = start();
    for (tool, arguments, outcome) in CALLS {
        let mut events = app.host.events();
        let result = app.host.call(invocation(tool, arguments)).await;
        let result = serde_json::to_value(result).unwrap();
        assert_eq!(result["outcome"], outcome, "{result}");
        let mut told = None;
        while let Some(seen) = events.try_next() {
            if let Seen::Event(event) = seen
                && matches!(event.kind, EventKind::ToolCallInvoke(_))
            {
                told = Some(serde_json::to_value(&*event).unwrap());
            }
        }
        let told = told.unwrap();
        for name in ["status", "outcome", "executed", "errorMessage"] {
            assert_eq!(told.get(name), result.get(name), "{name} of {told}");
        }
        assert_eq!(told["status"], if outcome == "success" { "success" } else { "error" });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a21_both_ways_to_call_give_equal_results() {
    let app = start();
    // Where its deadline meets a guest, and so what is said of it, differs from call to call.
    for (tool, arguments, outcome) in CALLS.into_iter().filter(|call| call.2 != "timed_out") {
        let plain = app.host.call(invocation(tool, arguments)).await;
        let cancel = CancellationToken::new();
        let with = app.host.call_with(invocation(tool, arguments), cancel).await;
        let [plain, with] = [plain, with].map(|result| {
            let mut result = serde_json::to_value(result).unwrap();
            // What is measured differs too.
            for measured in ["durationMs", "usage"] {
                result.as_object_mut().unwrap().remove(measured);
            }
            result
        });
        assert_eq!(plain["outcome"], Value::from(outcome));
        assert_eq!(plain, with);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a22_calls_beside_each_other_are_timed_each_by_itself() {
    let app = start();
    let cancel = CancellationToken::new();
    let long = invocation("probes.sleep", r#"{"milliseconds":3600000}"#);
    let long = app.host.call_with(long, cancel.clone());
    let short = async {
        while app.sandbox.calls_in_use() == 0 {
            tokio::task::yield_now().await;
        }
        let began = Instant::now();
        let call = invocation("probes.sleep", r#"{"milliseconds":50}"#);
        let result = app.host.call(call).await;
        let around = began.elapsed();
        cancel.cancel();
        (result, around)
    };
    let (long, (short, around)) = tokio::join!(long, short);
    let (long, short) = (long.duration_ms.unwrap(), short.duration_ms.unwrap());
    // The short one lies within `around`, and that within the long one.
    assert!(u128::from(short) <= around.as_millis(), "{short} ms, {around:?}");
    assert!(u128::from(long) + 1 >= around.as_millis(), "{long} ms, {around:?}");
    assert!(short >= 50, "{short} ms");
}
