//! Arguments as models send them, against a whole host: cut off, left out, and written as their own
//! text. What runs is what gate and report saw.

use belljar::app::App;
use belljar::contract::ids::Digest;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::{Executed, Outcome};
use belljar::contract::result::ToolResult;
use belljar::events::{EventKind, Seen};
use serde_json::{Value, json};

use super::harness;
use crate::guests::built;

/// Calls with arguments as a text, and gives back the events of the call.
async fn call(app: &App, tool: &str, arguments: &str) -> (ToolResult, Vec<EventKind>) {
    let mut watch = app.host.events();
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), tool, arguments);
    call.permission_level = PermissionLevel::Full;
    let result = app.host.call(call).await;
    let mut events = Vec::new();
    while let Some(seen) = watch.try_next() {
        if let Seen::Event(event) = seen {
            events.push(event.kind.clone());
        }
    }
    (result, events)
}

fn greeter() -> App {
    let folder = harness::folder_with(&[("greeter", built::rust("stock"))]);
    harness::start(&harness::plugins(&folder))
}

fn counter() -> App {
    let folder = harness::folder_with(&[("counter", &built::wat("counter"))]);
    harness::start(&harness::plugins(&folder))
}

fn started(events: &[EventKind]) -> bool {
    events.iter().any(|event| matches!(event, EventKind::AttemptStarted { .. }))
}

#[tokio::test]
async fn t16_arguments_that_were_cut_at_any_byte_never_run_and_are_called_truncated() {
    let app = greeter();
    let whole = r#"{"basket":[{"name":"té\n\ud83d\udc4d👍","price":12,"count":null}]}"#;
    assert_eq!(call(&app, "greeter.total", whole).await.0.outcome, Outcome::Success);
    for end in (1..whole.len()).filter(|&end| whole.is_char_boundary(end)) {
        let (result, events) = call(&app, "greeter.total", &whole[..end]).await;
        let ended = (result.outcome, result.executed, result.attempts);
        assert_eq!(ended, (Outcome::InvalidArguments, Executed::No, 0), "{end}: {result:?}");
        let said = result.error_message.unwrap();
        assert!(said.contains("truncated") && said.contains(&format!("(byte {end})")), "{said}");
        assert!(!started(&events), "{end}: {events:?}");
    }
}

#[tokio::test]
async fn t17_empty_and_blank_arguments_are_an_empty_object() {
    let app = counter();
    for raw in ["", " ", "\t\r\n "] {
        let (result, events) = call(&app, "counter.count", raw).await;
        assert_eq!(result.outcome, Outcome::Success, "{raw:?}: {result:?}");
        assert_eq!(seen(&events), (Digest::of(b"{}"), json!({})), "{raw:?}");
    }
}

#[tokio::test]
async fn t18_left_out_is_an_empty_object_and_null_is_refused() {
    let app = counter();
    let omitted = json!({"callId": "c", "toolName": "counter.count", "permissionLevel": "FULL"});
    let result = app.host.call(serde_json::from_value(omitted).unwrap()).await;
    assert_eq!(result.outcome, Outcome::Success, "{result:?}");
    let (result, events) = call(&app, "counter.count", "null").await;
    assert_eq!((result.outcome, result.executed), (Outcome::InvalidArguments, Executed::No));
    let said = result.error_message.unwrap();
    assert!(said.contains("arguments are null: expected a JSON object, such as `{}`"), "{said}");
    assert!(!started(&events));
}

/// What the gate was asked about, and what the report says it was called with.
fn seen(events: &[EventKind]) -> (Digest, Value) {
    let asked = events.iter().find_map(|event| match event {
        EventKind::Decision { arguments_hash, .. } => Some(*arguments_hash),
        _ => None,
    });
    let reported = events.iter().find_map(|event| match event {
        EventKind::ToolCallInvoke(report) => report.arguments.clone(),
        _ => None,
    });
    (asked.unwrap(), Value::Object(reported.unwrap().value().clone()))
}

#[tokio::test]
async fn t19_what_came_as_its_own_text_is_what_gate_report_and_tool_see() {
    let app = greeter();
    let basket = json!([{"name": "tea", "price": 350, "count": 2}, {"name": "[1]", "price": 900}]);
    let itself = call(&app, "greeter.total", &json!({"basket": basket}).to_string()).await;
    let text =
        call(&app, "greeter.total", &json!({"basket": basket.to_string()}).to_string()).await;
    assert_eq!(text.0.outcome, Outcome::Success, "{:?}", text.0);
    assert_eq!(text.0.content, r#"{"items":3,"cents":1600}"#);
    assert_eq!(text.0.content, itself.0.content);
    assert_eq!(seen(&text.1), seen(&itself.1));
    assert_eq!(seen(&text.1).1, json!({"basket": basket}));

    let cut = r#"{"basket":"[{\"name\":\"tea\",\"price\":3"}"#;
    let (result, events) = call(&app, "greeter.total", cut).await;
    assert_eq!(result.outcome, Outcome::InvalidArguments);
    let said = result.error_message.unwrap();
    assert!(said.contains("`/basket`") && said.contains("it is truncated"), "{said}");
    assert!(!started(&events));
}

#[tokio::test]
async fn t20_a_string_that_looks_like_json_stays_as_sent_where_strings_fit() {
    let app = greeter();
    for name in ["[1,2]", r#"{"a":1}"#, "null"] {
        let (result, events) =
            call(&app, "greeter.greet", &json!({"name": name}).to_string()).await;
        assert_eq!(result.content, format!("Hello, {name}!"));
        assert_eq!(seen(&events).1, json!({"name": name}));
    }
}
