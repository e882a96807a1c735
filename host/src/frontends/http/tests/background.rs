//! Calls that nobody waits for.

use serde_json::{Value, json};

use super::kit::{Answer, Api, config, until};
use crate::frontends::http::background::RUNNING_MAX_OF_ONE;
use crate::storage::ListFilter;

async fn begin(api: &Api, token: &str, tool: &str, id: &str) -> Answer {
    let body = json!({"tool": tool, "callId": id, "background": true});
    api.post(token, "/v1/calls", body).await
}

async fn ended(api: &Api, token: &str, path: &str) -> Value {
    let standing = api.get(token, &format!("{path}?wait=60000")).await.is(200);
    assert_eq!(standing["state"], "ended", "{standing}");
    standing["result"].clone()
}

#[tokio::test]
async fn a_background_call_is_answered_at_once_and_looked_up_later() {
    let api = Api::new();
    let answer = begin(&api, "calls-a", "fake.blob", "x/1").await;
    assert_eq!(answer.is(202), json!({"callId": "x/1", "state": "running"}));
    let path = answer.header("location").unwrap().to_owned();
    assert_eq!(path, "/v1/calls/x%2F1");
    let result = ended(&api, "calls-a", &path).await;
    assert_eq!((&result["callId"], &result["outcome"]), (&json!("x/1"), &json!("success")));
    assert!(result["attachments"][0].get("bytes").is_none(), "they have their own address");
    assert_eq!(api.get("calls-a", "/v1/results/x%2F1/0").await.text, "<script>");
}

#[tokio::test]
async fn only_its_caller_sees_a_background_call() {
    let api = Api::new();
    begin(&api, "calls-a", "fake.hang", "mine").await.is(202);
    for path in ["/v1/calls/mine", "/v1/calls/yours"] {
        api.get("calls-b", path).await.is_problem(404, "no background call");
        api.delete("calls-b", path).await.is_problem(404, "no background call");
    }
    // Another caller's call of the same id is another call.
    begin(&api, "calls-b", "fake.echo", "mine").await.is(202);
    assert_eq!(ended(&api, "calls-b", "/v1/calls/mine").await["content"], "{}");
    let mine = api.get("calls-a", "/v1/calls/mine").await.is(200);
    assert_eq!(mine["state"], "running");
}

#[tokio::test]
async fn a_background_call_is_cancelled_by_either_way() {
    let api = Api::new();
    for (id, by_delete) in [("one", true), ("two", false)] {
        begin(&api, "calls-a", "fake.hang", id).await.is(202);
        until(|| api.running.now() == 1).await;
        let path = format!("/v1/calls/{id}");
        let answer = match by_delete {
            true => api.delete("calls-a", &path).await,
            false => api.post("calls-a", &format!("{path}/cancel"), json!({})).await,
        };
        assert_eq!(answer.is(202)["state"], "cancelling");
        assert_eq!(ended(&api, "calls-a", &path).await["outcome"], "interrupted");
        assert_eq!(api.running.now(), 0);
    }
}

#[tokio::test]
async fn nobody_answers_for_a_background_call_that_was_cancelled_while_it_waited() {
    let mut config = config("");
    config.approvals.hand_back_ms = 600_000;
    let api = Api::configured(config);
    let _watched = api.app.host.events();
    begin(&api, "calls-a", "fake.write", "one").await.is(202);
    let approvals = api.app.host.approvals();
    until(|| !approvals.list(&ListFilter::pending()).unwrap().is_empty()).await;
    let id = approvals.list(&ListFilter::pending()).unwrap().remove(0).id;
    api.delete("calls-a", "/v1/calls/one").await.is(202);
    assert_eq!(ended(&api, "calls-a", "/v1/calls/one").await["outcome"], "cancelled");
    let path = format!("/v1/approvals/{id}/decision");
    let once = json!({"decision": "once"});
    api.post("approves", &path, once).await.is_problem(409, "was withdrawn");
}

#[tokio::test]
async fn an_id_names_one_background_call_of_its_caller() {
    let api = Api::new();
    begin(&api, "calls-a", "fake.hang", "x").await.is(202);
    begin(&api, "calls-a", "fake.hang", "x").await.is_problem(409, "held already");
}

#[tokio::test]
async fn a_caller_has_so_many_background_calls_running_and_no_more() {
    let api = Api::new();
    for number in 0..RUNNING_MAX_OF_ONE {
        begin(&api, "calls-a", "fake.hang", &format!("c{number}")).await.is(202);
    }
    begin(&api, "calls-a", "fake.hang", "more").await.is_problem(429, "are running");
    begin(&api, "calls-b", "fake.hang", "more").await.is(202);
    api.delete("calls-a", "/v1/calls/c0").await.is(202);
    ended(&api, "calls-a", "/v1/calls/c0").await;
    begin(&api, "calls-a", "fake.hang", "more").await.is(202);
}

#[tokio::test]
async fn a_wait_is_bounded() {
    let api = Api::new();
    begin(&api, "calls-a", "fake.hang", "x").await.is(202);
    let standing = api.get("calls-a", "/v1/calls/x?wait=1").await.is(200);
    assert_eq!(standing["state"], "running");
    api.get("calls-a", "/v1/calls/x?wait=60001").await.is_problem(400, "`wait`");
    api.get("calls-a", "/v1/calls/x?wait=-1").await.is_problem(400, "the query");
}
