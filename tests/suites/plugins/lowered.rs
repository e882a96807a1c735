//! Who sets a limit: the operator, the tool's own tag below that, the caller below both (T13). The
//! value in force is shown with whose it is.

use std::time::Duration;

use belljar::app::Setup;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::limits::{Limit, LimitKind, LimitOrigin, Limits};
use belljar::contract::outcome::Outcome;
use serde_json::json;

use crate::guests::built;
use crate::suites::harness::{folder_with, plugins, run, start, with_section};

/// An endless loop that says how long it wants at most.
fn looping(tag_ms: Option<u64>) -> Vec<u8> {
    let tags = tag_ms.map_or(json!({}), |ms| json!({"timeoutMs": ms}));
    let words = json!({"format": 1, "functions": {"spin": {"docs": "Spins.", "tags": tags}}});
    with_section(&built::wat("loops"), "belljar:plugin", words.to_string().as_bytes())
}

#[tokio::test]
async fn t13_the_lowest_of_operator_tag_and_caller_is_in_force_and_told_with_whose_it_is() {
    use LimitOrigin::{Caller, Operator, Tag};
    let hour = 60 * 60 * 1000;
    for (operator_ms, tag_ms, caller_ms, value, origin) in [
        (Some(150), Some(300), Some(450), 150, Operator),
        (Some(150), None, Some(hour), 150, Operator),
        (Some(450), Some(150), Some(300), 150, Tag),
        (None, Some(150), None, 150, Tag),
        (None, Some(150), Some(hour), 150, Tag),
        (Some(450), Some(300), Some(150), 150, Caller),
        (None, None, Some(150), 150, Caller),
    ] {
        let folder = folder_with(&[("loops", &looping(tag_ms))]);
        let mut limits = Limits::default();
        if let Some(ms) = operator_ms {
            limits.set(LimitKind::AttemptDeadline, ms).unwrap();
        }
        let app = start(&Setup { limits, ..plugins(&folder) });
        let mut call = ToolInvocation::new("a-call".parse().unwrap(), "loops.spin", "{}");
        call.permission_level = PermissionLevel::Full;
        call.timeout = caller_ms.map(Duration::from_millis);
        let result = app.host.call(call).await;
        assert_eq!(result.outcome, Outcome::TimedOut, "{result:?}");
        let said = result.error_message.unwrap();
        let told = format!("deadline limit is {value} ms, {origin}");
        assert!(said.contains(&told), "{operator_ms:?} {tag_ms:?} {caller_ms:?}: {said}");
    }
}

#[test]
fn t13_a_tools_own_limits_are_shown_with_whose_they_are() {
    let folder = folder_with(&[("loops", &looping(Some(5000)))]);
    let deadline = |operator_ms| {
        let mut limits = Limits::default();
        limits.set(LimitKind::AttemptDeadline, operator_ms).unwrap();
        let app = start(&Setup { limits, ..plugins(&folder) });
        let tool = app.host.catalog().tool("loops.spin").unwrap();
        tool.descriptor.limits.get(LimitKind::AttemptDeadline)
    };
    assert_eq!(deadline(9000), Limit { value: 5000, origin: LimitOrigin::Tag });
    assert_eq!(deadline(4000), Limit { value: 4000, origin: LimitOrigin::Operator });

    let file = folder.path().join("loops.wasm");
    let shown = run(["inspect".as_ref(), file.as_os_str()]).ends_with(0).stdout;
    assert!(shown.contains("attempt-deadline 5 s (the plugin's own tag)"), "{shown}");
    let shown = run(["inspect".as_ref(), file.as_os_str(), "--json".as_ref()]).ends_with(0).json();
    let limit = &shown["tools"][0]["limits"]["attempt-deadline"];
    assert_eq!(limit, &json!({"value": 5000, "origin": "tag"}));
}
