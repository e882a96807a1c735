//! Calls that become tasks: when, whose they are, what ends them, and what is asked by them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{Client, Desk};
use crate::config::McpApprovals;
use crate::contract::approval::{ApprovalDecision, ApprovalState, Approver, Channel};
use crate::contract::outcome::Outcome;
use crate::events::{EventKind, Seen, unix_ms};
use crate::frontends::mcp::{McpBounds, McpSettings};
use crate::storage::{ApprovalStore as _, ListFilter};

/// A client that takes tasks, and shows forms.
fn taking(desk: &Desk) -> Client {
    let mut client = desk.connect();
    client.capabilities = json!({
        "elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}},
    });
    client
}

fn bounded(change: impl FnOnce(&mut McpBounds)) -> McpSettings {
    let mut settings = McpSettings::default();
    change(&mut settings.bounds);
    settings
}

/// Makes a call that becomes a task, and gives its id.
async fn task(client: &mut Client, tool: &str, arguments: Value) -> String {
    let made = client.call("make", tool, arguments).await;
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    made["result"]["taskId"].as_str().unwrap().to_owned()
}

async fn get(client: &mut Client, id: &str) -> Value {
    let answer = client.ask("get", "tasks/get", json!({"taskId": id})).await;
    answer["result"].clone()
}

/// The task once it stands otherwise.
async fn no_longer(client: &mut Client, id: &str, status: &str) -> Value {
    loop {
        let told = get(client, id).await;
        if told["status"] != status {
            return told;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn update(client: &mut Client, id: &str, said: Value) -> Value {
    client.ask("update", "tasks/update", json!({"taskId": id, "inputResponses": said})).await
}

fn approve() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

fn outcome(result: &Value) -> &Value {
    &result["_meta"]["belljar/result"]["outcome"]
}

/// Waits until a tool runs: a call can be a task before that.
pub(super) async fn begun(desk: &Desk) {
    while runs(desk) == 0 {
        tokio::task::yield_now().await;
    }
}

fn runs(desk: &Desk) -> usize {
    desk.runner.begun.load(Ordering::SeqCst)
}

fn pending(desk: &Desk) -> usize {
    desk.host.approvals().list(&ListFilter::pending()).unwrap().len()
}

/// A result without what differs from call to call.
fn alike(mut result: Value) -> Value {
    let told = result["_meta"]["belljar/result"].as_object_mut().unwrap();
    for once in ["callId", "durationMs", "usage"] {
        told.remove(once);
    }
    result
}

#[tokio::test]
async fn the_extension_is_said_to_be_there_to_the_era_that_has_it() {
    let desk = Desk::new();
    let told = desk.connect().ask(1, "server/discover", json!({})).await;
    let capabilities = &told["result"]["capabilities"];
    assert_eq!(capabilities["extensions"]["io.modelcontextprotocol/tasks"], json!({}), "{told}");
    assert!(capabilities.get("tasks").is_none());
    let mut older = desk.shaken("2025-11-25", json!({})).await;
    let answer = older.ask(1, "tasks/get", json!({"taskId": "x"})).await;
    assert!(answer["error"].is_object(), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_is_answered_directly_and_leaves_no_task() {
    let desk = Desk::new();
    let mut client = taking(&desk);
    let done = client.call(1, "fake_read", json!({})).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(desk.frontend.shared.tasks.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_is_a_task_that_ends_with_the_result_of_a_direct_call() {
    let desk = Desk::new();
    let mut client = taking(&desk);
    let made = client.call(1, "fake_slow", json!({})).await["result"].take();
    let id = made["taskId"].as_str().unwrap().to_owned();
    assert_eq!((&made["resultType"], &made["status"]), (&json!("task"), &json!("working")));
    assert_eq!((&made["ttlMs"], &made["pollIntervalMs"]), (&json!(3_600_000), &json!(1_000)));
    for never in ["result", "error", "inputRequests", "requestState", "task"] {
        assert!(made.get(never).is_none(), "{made}");
    }
    let stands = get(&mut client, &id).await;
    assert_eq!((&stands["status"], &stands["resultType"]), (&json!("working"), &json!("complete")));
    desk.runner.released.cancel();
    let ended = no_longer(&mut client, &id, "working").await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let direct = client.call(2, "fake_slow", json!({})).await["result"].take();
    assert_eq!(alike(ended["result"].clone()), alike(direct));
    assert_eq!(runs(&desk), 2);
}

#[tokio::test]
async fn a_call_that_fails_is_a_completed_task_with_its_error() {
    let desk = Desk::with(bounded(|it| it.task_grace = Duration::ZERO));
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_fails", json!({"slow": true})).await;
    desk.runner.released.cancel();
    let ended = no_longer(&mut client, &id, "working").await;
    assert_eq!(
        (&ended["status"], &ended["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
}

#[tokio::test]
async fn who_did_not_say_it_takes_tasks_gets_none_and_may_ask_for_none() {
    let desk = Desk::with(bounded(|it| it.task_grace = Duration::ZERO));
    let mut client = desk.connect();
    client.capabilities = json!({"extensions": {"another": {}}});
    client.send(1, "tools/call", json!({"name": "fake_slow"})).await;
    let answer = client.ask(2, "tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    desk.runner.released.cancel();
    let done = client.until_id(1).await;
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
}

#[tokio::test]
async fn progress_is_told_until_a_call_is_a_task_and_not_after() {
    let desk = Desk::with(bounded(|it| it.task_grace = Duration::from_millis(1)));
    let mut client = taking(&desk);
    let params = json!({"name": "fake_slow", "_meta": {"progressToken": 7}});
    let id = client.ask(1, "tools/call", params).await["result"]["taskId"].take();
    begun(&desk).await;
    let seen = desk.runner.seen.lock().unwrap().clone();
    let progress = crate::contract::sink::Progress { done: 1, total: None, message: None };
    seen[0].sink.progress(progress);
    desk.runner.released.cancel();
    let ended = no_longer(&mut client, id.as_str().unwrap(), "working").await;
    assert_eq!(ended["status"], "completed", "and nothing was told between: {ended}");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_task_stops_its_call_and_is_acknowledged_as_often_as_it_is_asked() {
    let desk = Desk::new();
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_slow", json!({})).await;
    for _ in 0..2 {
        let told = client.ask(2, "tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(told["result"], json!({"resultType": "complete"}));
        let ended = no_longer(&mut client, &id, "working").await;
        assert_eq!(ended["status"], "cancelled", "{ended}");
    }
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn to_all_but_its_connection_a_task_isnt_there() {
    let desk = Desk::new();
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_slow", json!({})).await;
    let mut other = taking(&desk);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = |id: &str| json!({"taskId": id, "inputResponses": {}});
        let theirs = other.ask(1, method, params(&id)).await;
        let nobodys = other.ask(1, method, params("mcp-task-0")).await;
        assert_eq!(theirs["error"]["code"], -32602, "{theirs}");
        assert_eq!(theirs, nobodys);
    }
    assert_eq!(get(&mut client, &id).await["status"], "working");
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_call_beyond_the_tasks_of_its_caller_is_answered_directly() {
    let desk = Desk::with(bounded(|it| {
        (it.task_grace, it.tasks_of_one) = (Duration::from_millis(1), 1);
    }));
    let mut client = taking(&desk);
    let first = task(&mut client, "fake_slow", json!({})).await;
    client.send(2, "tools/call", json!({"name": "fake_slow"})).await;
    while runs(&desk) < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(get(&mut client, &first).await["status"], "working");
    desk.runner.released.cancel();
    assert_eq!(client.until_id(2).await["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_runs_longer_than_it_may_is_stopped_and_failed_and_forgotten_in_time() {
    let desk = Desk::with(bounded(|it| {
        (it.task_ttl, it.task_kept) = (Duration::from_secs(5), Duration::from_secs(60));
    }));
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_slow", json!({})).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    let ended = no_longer(&mut client, &id, "working").await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("at most 5 s"), "{ended}");
    assert!(ended["ttlMs"].as_u64().unwrap() >= 65_000, "it is kept after its end: {ended}");
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 1);
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(get(&mut client, &id).await.is_null());
    assert_eq!(desk.frontend.shared.tasks.len(), 0);
}

#[tokio::test]
async fn a_call_that_asks_is_a_task_at_once_and_its_answer_counts_once() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_write", json!({"a": 1})).await;
    let asked = get(&mut client, &id).await;
    assert_eq!(asked["status"], "input_required", "{asked}");
    let request = &asked["inputRequests"]["approval"];
    assert_eq!(request["method"], "elicitation/create");
    assert!(request["params"]["message"].as_str().unwrap().contains("fake.write"), "{request}");
    assert_eq!(runs(&desk), 0);
    let ignored = update(&mut client, &id, json!({"unknown": {"x": 1}})).await;
    assert_eq!(ignored["result"], json!({"resultType": "complete"}));
    for unusable in [json!(7), json!({"action": "accept", "content": {"decision": "yes"}})] {
        let refused = update(&mut client, &id, json!({"approval": unusable})).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(get(&mut client, &id).await["status"], "input_required", "it is still asked");
    for _ in 0..3 {
        let taken = update(&mut client, &id, json!({"approval": approve()})).await;
        assert_eq!(taken["result"], json!({"resultType": "complete"}));
    }
    let ended = no_longer(&mut client, &id, "working").await;
    assert_eq!(
        (&ended["status"], outcome(&ended["result"])),
        (&json!("completed"), &json!("success"))
    );
    assert!(ended.get("inputRequests").is_none());
    assert_eq!((runs(&desk), pending(&desk)), (1, 0));
}

#[tokio::test]
async fn a_no_by_a_task_is_a_completed_one_and_runs_nothing() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_write", json!({})).await;
    update(&mut client, &id, json!({"approval": {"action": "decline"}})).await;
    let mut ended = no_longer(&mut client, &id, "input_required").await;
    if ended["status"] == "working" {
        ended = no_longer(&mut client, &id, "working").await;
    }
    assert_eq!(outcome(&ended["result"]), "approval_declined", "{ended}");
    assert_eq!(runs(&desk), 0);
}

#[tokio::test]
async fn with_queue_a_task_names_its_request_and_only_somebody_else_answers_it() {
    let desk = Desk::asking(McpApprovals::Queue);
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_write", json!({})).await;
    let stands = get(&mut client, &id).await;
    let request = desk.host.approvals().list(&ListFilter::pending()).unwrap()[0].id.clone();
    assert_eq!(stands["status"], "working");
    assert!(stands["statusMessage"].as_str().unwrap().contains(&request.to_string()), "{stands}");
    update(&mut client, &id, json!({"approval": approve()})).await;
    assert_eq!(desk.host.approvals().show(&request).unwrap().state, ApprovalState::Pending);
    let ann = Approver { name: "ann".into(), channel: Channel::Terminal };
    desk.host.approvals().decide(&request, ApprovalDecision::Once, ann).unwrap();
    let ended = no_longer(&mut client, &id, "working").await;
    assert_eq!(outcome(&ended["result"]), "success", "{ended}");
    assert!(ended.get("statusMessage").is_none());
    assert_eq!(runs(&desk), 1);
}

#[tokio::test]
async fn cancelling_a_task_that_asks_withdraws_its_question_and_the_next_call_asks_anew() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = taking(&desk);
    for _ in 0..2 {
        let id = task(&mut client, "fake_write", json!({})).await;
        assert_eq!(
            (get(&mut client, &id).await["status"].take(), pending(&desk)),
            (json!("input_required"), 1)
        );
        client.ask(2, "tasks/cancel", json!({"taskId": id})).await;
        let ended = no_longer(&mut client, &id, "input_required").await;
        assert_eq!(ended["status"], "cancelled", "{ended}");
        assert_eq!((runs(&desk), pending(&desk)), (0, 0));
    }
}

#[tokio::test]
async fn whoever_runs_the_server_hears_once_of_what_waits_in_the_queue() {
    let desk = Desk::asking(McpApprovals::Queue);
    let mut notices = desk.host.approvals().notices();
    let mut client = taking(&desk);
    for _ in 0..2 {
        task(&mut client, "fake_write", json!({})).await;
    }
    let notice = notices.try_recv().unwrap();
    assert_eq!(notice.tool.to_string(), "fake.write");
    assert!(notices.try_recv().is_err(), "they share it");
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut notices = desk.host.approvals().notices();
    task(&mut taking(&desk), "fake_write", json!({})).await;
    assert!(notices.try_recv().is_err(), "the client asks");
}

#[tokio::test]
async fn at_the_end_of_its_connection_nobody_answers_a_task_that_waits_while_another_runs() {
    let desk = Desk::asking(McpApprovals::Queue);
    let mut client = taking(&desk);
    task(&mut client, "fake_write", json!({})).await;
    assert_eq!(pending(&desk), 1);
    let slow = desk.host.approvals().list(&ListFilter::pending()).unwrap().remove(0);
    task(&mut client, "fake_slow", json!({})).await;
    client.shutdown.cancel();
    while pending(&desk) > 0 {
        tokio::task::yield_now().await;
    }
    let by = Approver { name: "ann".into(), channel: Channel::Http };
    let late = desk.host.approvals().decide(&slow.id, ApprovalDecision::Once, by);
    assert!(late.is_err(), "the other runs on: {late:?}");
    desk.runner.released.cancel();
}

#[tokio::test]
async fn an_answer_that_is_no_object_is_none() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_write", json!({})).await;
    for said in [json!(["accept", {"decision": "approve"}, null]), json!([]), json!("accept")] {
        let told = update(&mut client, &id, json!({"approval": said})).await;
        assert_eq!(told["error"]["code"], -32602, "{told}");
        assert!(!told.to_string().contains("struct"), "{told}");
    }
    assert_eq!(get(&mut client, &id).await["status"], "input_required");
    assert_eq!(runs(&desk), 0);
}

#[tokio::test]
async fn a_task_that_is_cancelled_leaves_its_question_to_the_identical_one() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = taking(&desk);
    let first = task(&mut client, "fake_write", json!({})).await;
    let second = task(&mut client, "fake_write", json!({})).await;
    assert_eq!(pending(&desk), 1, "they share it");
    client.ask(2, "tasks/cancel", json!({"taskId": first})).await;
    let ended = no_longer(&mut client, &first, "input_required").await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let stands = get(&mut client, &second).await;
    assert_eq!((&stands["status"], pending(&desk)), (&json!("input_required"), 1), "{stands}");
    update(&mut client, &second, json!({"approval": approve()})).await;
    let ended = no_longer(&mut client, &second, "input_required").await;
    assert!(["working", "completed"].contains(&ended["status"].as_str().unwrap()), "{ended}");
    no_longer(&mut client, &second, "working").await;
    assert_eq!((runs(&desk), pending(&desk)), (1, 0));
    assert_eq!(desk.frontend.shared.askers.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_connection_ends_its_tasks_within_the_drain() {
    let desk = Desk::with(McpSettings { drain: Duration::from_secs(3), ..McpSettings::default() });
    let mut events = desk.host.events();
    let mut client = taking(&desk);
    task(&mut client, "fake_slow", json!({})).await;
    task(&mut client, "fake_write", json!({})).await;
    let left = tokio::time::Instant::now();
    client.half_close().await;
    client.served.await.unwrap().unwrap();
    assert!(left.elapsed() >= Duration::from_secs(3), "they had their time");
    assert!(left.elapsed() < Duration::from_secs(4), "and no more: {:?}", left.elapsed());
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 1);
    assert_eq!((desk.frontend.shared.tasks.len(), pending(&desk)), (0, 0));
    let mut ends = Vec::new();
    while let Some(Seen::Event(event)) = events.try_next() {
        if let EventKind::ToolCallInvoke(report) = &event.kind {
            ends.push(report.outcome);
        }
    }
    assert_eq!(ends, [Outcome::ApprovalPending, Outcome::Interrupted], "each is on record");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_a_task_end_by_itself_where_it_is_quick() {
    let desk = Desk::new();
    let mut client = taking(&desk);
    task(&mut client, "fake_slow", json!({})).await;
    client.shutdown.cancel();
    desk.runner.released.cancel();
    client.served.await.unwrap().unwrap();
    assert_eq!(desk.runner.stopped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_answer_that_was_given_before_is_taken_up_by_a_call_that_takes_tasks() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = taking(&desk);
    let with_tasks = std::mem::replace(&mut client.capabilities, json!({"elicitation": {}}));
    let asked = client.call(1, "fake_write", json!({"a": 1})).await["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    client.capabilities = with_tasks.clone();
    let retry = json!({"name": "fake_write", "arguments": {"a": 1},
        "requestState": asked["requestState"], "inputResponses": {"approval": approve()}});
    let done = client.ask(2, "tools/call", retry).await;
    assert_eq!(outcome(&done["result"]), "success", "{done}");
    client.capabilities = json!({});
    let handed_back = client.call(3, "fake_write", json!({"a": 2})).await;
    assert_eq!(outcome(&handed_back["result"]), "approval_pending", "{handed_back}");
    let request = desk.host.approvals().list(&ListFilter::pending()).unwrap()[0].id.clone();
    let ann = Approver { name: "ann".into(), channel: Channel::Terminal };
    desk.host.approvals().decide(&request, ApprovalDecision::Once, ann).unwrap();
    client.capabilities = with_tasks;
    let done = client.call(4, "fake_write", json!({"a": 2})).await;
    assert_eq!((outcome(&done["result"]), runs(&desk)), (&json!("success"), 2), "{done}");
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_request_is_over_ends_and_runs_nothing() {
    let desk = Desk::asking(McpApprovals::Queue);
    let mut client = taking(&desk);
    let id = task(&mut client, "fake_write", json!({})).await;
    let request = desk.host.approvals().list(&ListFilter::pending()).unwrap()[0].id.clone();
    assert!(desk.store.withdraw(&request, "on purpose", unix_ms()).unwrap());
    let ended = no_longer(&mut client, &id, "working").await;
    assert_eq!(
        (&ended["status"], outcome(&ended["result"])),
        (&json!("completed"), &json!("approval_expired"))
    );
    assert_eq!(runs(&desk), 0);
}
