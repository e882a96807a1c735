//! What a client is told while it waits: progress, and tools that come and go.

use serde_json::json;

use super::kit::{Desk, reader};
use crate::frontends::mcp::McpSettings;

#[tokio::test]
async fn progress_rises_and_comes_before_the_answer_and_only_where_it_was_asked_for() {
    let desk = Desk::new();
    for modern in [true, false] {
        let mut client = match modern {
            true => desk.connect(),
            false => desk.shaken("2025-06-18", json!({})).await,
        };
        let params = json!({"name": "fake_steps", "_meta": {"progressToken": "p"}});
        client.send(1, "tools/call", params).await;
        for done in [1.0, 2.0, 5.0] {
            let told = client.next().await;
            assert_eq!(told["method"], "notifications/progress", "{told}");
            let params = &told["params"];
            assert_eq!(
                (&params["progressToken"], &params["progress"]),
                (&json!("p"), &json!(done))
            );
            assert_eq!(
                (&params["total"], &params["message"]),
                (&json!(5.0), &json!(format!("step {done}")))
            );
        }
        assert_eq!(client.next().await["id"], 1);
        let quiet = client.call(2, "fake_steps", json!({})).await;
        assert_eq!(quiet["result"]["isError"], false);
    }
}

#[tokio::test]
async fn a_session_of_the_older_era_is_told_when_tools_come_and_go() {
    let desk = Desk::new();
    let mut client = desk.shaken("2025-11-25", json!({})).await;
    // Said twice, and told once.
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(client.ask(1, "ping", json!({})).await["result"], json!({}));
    desk.tools.set(vec![reader("fake.read")]);
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    let listed = client.ask(2, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_modern_client_listens_until_it_cancels() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let wanted = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    client.send("sub", "subscriptions/listen", wanted).await;
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
    desk.tools.set(vec![reader("fake.read")]);
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub", "{told}");
    client
        .line(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}"#,
        )
        .await;
    let alive = client.call(1, "fake_read", json!({})).await;
    assert_eq!(alive["result"]["isError"], false);
}

#[tokio::test]
async fn whoever_subscribes_after_a_change_is_told_of_it_once() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    client.ask(1, "tools/list", json!({})).await;
    // A plugin that was compiled meanwhile: nobody listens yet.
    desk.tools.set(vec![reader("fake.read"), reader("late.read")]);
    client.send("sub", "subscriptions/listen", wanted).await;
    assert_eq!(client.next().await["method"], "notifications/subscriptions/acknowledged");
    let told = client.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub", "{told}");
    let listed = client.ask(2, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);
    let quiet = client.call(3, "late_read", json!({})).await;
    assert_eq!(quiet["result"]["isError"], false, "{quiet}");
}

#[tokio::test]
async fn whoever_subscribes_before_any_change_is_told_of_none() {
    let desk = Desk::new();
    let mut client = desk.connect();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    client.send("sub", "subscriptions/listen", wanted).await;
    assert_eq!(client.next().await["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(client.call(1, "fake_read", json!({})).await["id"], 1);
}

#[tokio::test]
async fn one_subscription_more_than_the_bound_is_refused_and_each_ends_with_the_server() {
    let mut settings = McpSettings::default();
    settings.bounds.subscriptions = 1;
    let desk = Desk::with(settings);
    let mut client = desk.connect();
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    client.send(1, "subscriptions/listen", wanted.clone()).await;
    client.next().await;
    client.send(2, "subscriptions/listen", wanted).await;
    assert_eq!(client.next().await["method"], "notifications/subscriptions/acknowledged");
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(2), &json!(-32603)));
    client.shutdown.cancel();
    let ended = client.next().await;
    assert_eq!(ended["id"], 1, "{ended}");
    assert!(ended.get("result").is_some() && client.ended().await, "{ended}");
}
