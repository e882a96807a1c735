//! Calls that run at a connected client, through the whole host.

use super::*;
use crate::contract::descriptor::NamedTool;
use crate::contract::invocation::SessionTool;
use crate::contract::outcome::{Executed, Outcome};

#[tokio::test]
async fn a2_a_call_goes_to_the_client_and_its_answer_is_the_result() {
    let served = Served::new().await;
    let mut client = served.client("laptop").await;
    let running = served.start(served.invocation("laptop_run-shell", r#"{"n":5.0}"#));
    let call = client.told().await;
    assert_eq!((&call["type"], &call["tool"]), (&json!("call"), &json!("run_shell")));
    assert_eq!((&call["callId"], &call["arguments"]), (&json!("c1"), &json!({"n": 5})));
    client
        .say(json!({"type": "result", "requestId": call["requestId"], "content": "done",
            "structured": {"ok": true},
            "attachments": [{"type": "blob", "data": "AP8="}]}))
        .await;
    let result = running.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::Success, Executed::Yes));
    assert_eq!((result.content.as_str(), &result.structured), ("done", &Some(json!({"ok": true}))));
    let uri = &result.attachments[0].uri;
    let kept = served.host().attachment(served.access.context(), uri).unwrap();
    assert_eq!(kept.bytes, [0, 255]);
}

#[tokio::test]
async fn arguments_that_dont_fit_never_reach_the_client() {
    let served = Served::new().await;
    let mut client = served.client("laptop").await;
    let result = served.start(served.invocation("laptop.run-shell", r#"{"n":"x"}"#)).await.unwrap();
    assert_eq!(result.outcome, Outcome::InvalidArguments);
    let running = served.start(served.invocation("laptop.run-shell", r#"{"n":1}"#));
    let call = client.told().await;
    assert_eq!(call["arguments"], json!({"n": 1}), "the first message is the second call's");
    let said = json!({"type": "result", "requestId": call["requestId"], "isError": true,
        "content": "it broke"});
    client.say(said).await;
    let result = running.await.unwrap();
    assert_eq!(result.outcome, Outcome::ToolError);
    assert_eq!(result.error_message.as_deref(), Some("it broke"));
}

#[tokio::test]
async fn a_client_that_disconnects_ends_its_calls_as_unavailable_that_may_have_run() {
    let served = Served::new().await;
    let mut client = served.client("laptop").await;
    let running = served.start(served.invocation("laptop.run-shell", "{}"));
    client.told().await;
    drop(client);
    let result = running.await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::Unavailable, Executed::Maybe));
    let result = served.start(served.invocation("laptop.run-shell", "{}")).await.unwrap();
    assert_eq!((result.outcome, result.executed), (Outcome::NotFound, Executed::No));
}

#[tokio::test]
async fn a_tool_of_another_callers_client_is_as_unknown_as_none() {
    let served = Served::new().await;
    let _client = served.client("laptop").await;
    let mut other = served.invocation("laptop.run-shell", "{}");
    other.caller = Some("eve".to_owned());
    let result = served.start(other).await.unwrap();
    assert_eq!(result.outcome, Outcome::NotFound);
    assert!(!result.content.contains("did you mean"), "{}", result.content);
}

#[tokio::test]
async fn a10_a_session_tool_goes_to_the_client_where_one_is_connected() {
    let served = Served::new().await;
    let mut call = served.invocation("shell", "{}");
    let named = NamedTool::new("run_shell");
    call.session_tools = vec![SessionTool { name: "shell".to_owned(), descriptor: Some(named) }];
    let result = served.start(call.clone()).await.unwrap();
    assert_eq!(result.outcome, Outcome::Unavailable, "{}", result.content);
    let mut client = served.client("laptop").await;
    let running = served.start(call.clone());
    let told = client.told().await;
    client.say(json!({"type": "result", "requestId": told["requestId"], "content": "ok"})).await;
    assert_eq!(running.await.unwrap().content, "ok");
    // The registry comes first: a session tool of a tool's own name is that tool.
    call.tool_name = "laptop.run-shell".to_owned();
    call.session_tools[0].name = "laptop.run-shell".to_owned();
    let running = served.start(call);
    let told = client.told().await;
    assert_eq!(told["tool"], "run_shell");
    client.say(json!({"type": "result", "requestId": told["requestId"], "content": "ok"})).await;
    assert_eq!(running.await.unwrap().outcome, Outcome::Success);
}

#[tokio::test]
async fn a14_a_client_s_tool_outside_the_callers_set_is_not_run() {
    let served = Served::new().await;
    let _client = served.client("laptop").await;
    let mut call = served.invocation("laptop.run-shell", "{}");
    call.allowed_tools = Some(vec!["files.read".to_owned()]);
    assert_eq!(served.start(call).await.unwrap().outcome, Outcome::NotAllowed);
}

#[tokio::test]
async fn a13_a15_whatever_a_client_claims_its_tools_need_a_person_below_full() {
    let served = Served::new().await;
    let mut client = served.open().await;
    let tool = json!({"name": "write_file", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "openWorldHint": false, "idempotentHint": true}});
    client.say(json!({"type": "register", "name": "laptop", "tools": [tool]})).await;
    client.told().await;
    for level in [PermissionLevel::ReadOnly, PermissionLevel::ReadWrite, PermissionLevel::Smart] {
        let mut call = served.invocation("laptop.write-file", "{}");
        call.permission_level = level;
        let result = served.start(call).await.unwrap();
        assert_eq!(result.outcome, Outcome::ApprovalDeclined, "{level:?}: {}", result.content);
    }
}

#[tokio::test]
async fn a15_the_level_that_the_clients_user_sets_holds_from_then_on() {
    let served = Served::new().await;
    let mut client = served.client("laptop").await;
    client.say(json!({"type": "level", "permissionLevel": "READ_ONLY"})).await;
    // Messages are heard in their order: once this one is counted, the level holds.
    client.say(json!({"type": "result", "requestId": "nobody's"})).await;
    while served.app.clients.dropped() == 0 {
        tokio::task::yield_now().await;
    }
    let result = served.start(served.invocation("laptop.run-shell", "{}")).await.unwrap();
    assert_eq!(result.outcome, Outcome::ApprovalDeclined, "{}", result.content);
}

#[tokio::test]
async fn a15_a_client_may_begin_at_a_lower_level() {
    let served = Served::new().await;
    let mut client = served.open().await;
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    let said = json!({"type": "register", "name": "laptop", "permissionLevel": "READ_ONLY",
        "tools": [tool]});
    client.say(said).await;
    client.told().await;
    let result = served.start(served.invocation("laptop.t", "{}")).await.unwrap();
    assert_eq!(result.outcome, Outcome::ApprovalDeclined, "{}", result.content);
}
