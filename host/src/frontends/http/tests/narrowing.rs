//! A request can only narrow what its token gives.

use serde_json::json;

use super::kit::Api;

#[tokio::test]
async fn who_calls_for_whom_and_where_is_never_the_requests() {
    let api = Api::new();
    for (member, value) in [
        ("caller", json!("b")),
        ("sessionId", json!("s")),
        ("userId", json!("root")),
        ("executionUserId", json!("root")),
        ("workspace", json!("/")),
        ("permissionLevel", json!("FULL")),
        ("allowedTools", json!(["fake.write"])),
        ("approvalMode", json!("wait")),
        ("grants", json!({})),
    ] {
        let answer =
            api.post("calls-a", "/v1/calls", json!({"tool": "fake.echo", member: value})).await;
        answer.is_problem(400, &format!("unknown member `{member}`"));
    }
    assert_eq!(api.running.now(), 0);
}

#[tokio::test]
async fn a_higher_level_changes_nothing() {
    let api = Api::new();
    // Nothing is known of it, so READ_WRITE asks.
    let body = json!({"tool": "fake.write", "level": "FULL"});
    let result = api.post("calls-a", "/v1/calls", body).await.is(200);
    assert_eq!(result["outcome"], "approval_pending", "{result}");
    api.post("calls-a", "/v1/calls", json!({"tool": "fake.echo", "level": "ROOT"}))
        .await
        .is_problem(400, "`level` is `ROOT`: expected one of");
}

#[tokio::test]
async fn a14_tools_outside_the_callers_set_stay_outside_whatever_the_request_names() {
    let api = Api::new();
    let body = json!({"tool": "fake.blob", "tools": ["fake.blob"]});
    let answer = api.post("calls-b", "/v1/calls", body).await;
    answer.is_problem(403, "");
    let result = &answer.json()["result"];
    assert_eq!((&result["outcome"], &result["status"]), (&json!("not_allowed"), &json!("error")));
    assert_eq!(result["executed"], "no");
    api.get("calls-b", "/v1/tools/fake.blob").await.is_problem(404, "no tool");
    api.call("calls-b", "fake.echo").await.is(200);
}

#[tokio::test]
async fn a14_a_tool_that_is_not_shown_is_as_one_that_isnt_there() {
    let api = Api::new();
    let told = async |tool: &str| {
        // One letter away from a tool of each kind.
        let calls = json!({"calls": [{"tool": tool, "callId": "c"}]});
        let batch = api.post("calls-b", "/v1/batches", calls).await;
        let one = api.post("calls-b", "/v1/calls", json!({"tool": tool, "callId": "c"})).await;
        let shown = api.get("calls-b", &format!("/v1/tools/{tool}")).await;
        [batch, one, shown].map(|answer| {
            let (status, text) = (answer.status, answer.text.replace(tool, "NAME"));
            let mut kept = String::new();
            for (number, part) in text.split("\"durationMs\":").enumerate() {
                let digits = if number == 0 { "" } else { "0123456789.null" };
                kept.push_str(part.trim_start_matches(|c| digits.contains(c)));
            }
            (status, kept)
        })
    };
    let (hidden, missing) = (told("fake.blob").await, told("fake.blub").await);
    assert_eq!(hidden, missing);
    assert!(!format!("{hidden:?}").contains("did you mean"), "{hidden:?}");
    assert_eq!(told("fake_blob").await, told("fake_blub").await);
}

#[tokio::test]
async fn a14_a_request_can_name_fewer_tools() {
    let api = Api::new();
    let call = |tools: serde_json::Value| json!({"tool": "fake.echo", "tools": tools});
    api.post("calls-a", "/v1/calls", call(json!([]))).await.is_problem(403, "");
    api.post("calls-a", "/v1/calls", call(json!(["fake.blob"]))).await.is_problem(403, "");
    api.post("calls-a", "/v1/calls", call(json!(["fake_echo"]))).await.is(200);
}

#[tokio::test]
async fn a_batch_can_only_narrow_either() {
    let api = Api::new();
    let body = json!({"calls": [{"tool": "fake.echo", "permissionLevel": "FULL"}]});
    api.post("calls-a", "/v1/batches", body).await.is_problem(400, "unknown member");
    let body = json!({"calls": [{"tool": "fake.blob"}, {"tool": "fake.echo"}]});
    let results = api.post("calls-b", "/v1/batches", body).await.is(200);
    assert_eq!(results["results"][0]["outcome"], "not_allowed", "{results}");
    assert_eq!(results["results"][1]["outcome"], "success", "{results}");
}
