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
        answer.is_problem(400, &format!("unknown field `{member}`"));
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
        .is_problem(400, "unknown variant `ROOT`");
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
    api.post("calls-a", "/v1/batches", body).await.is_problem(400, "unknown field");
    let body = json!({"calls": [{"tool": "fake.blob"}, {"tool": "fake.echo"}]});
    let results = api.post("calls-b", "/v1/batches", body).await.is(200);
    assert_eq!(results["results"][0]["outcome"], "not_allowed", "{results}");
    assert_eq!(results["results"][1]["outcome"], "success", "{results}");
}
