//! Calls that a person is asked about, by each setting and in both eras.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{Client, Desk, writer};
use crate::config::McpApprovals;
use crate::contract::approval::{ApprovalDecision, ApprovalState, Approver, Channel, Decided};
use crate::events::EventKind;
use crate::frontends::mcp::McpSettings;
use crate::storage::{ApprovalStore as _, ListFilter};

fn runs(desk: &Desk) -> usize {
    desk.runner.begun.load(Ordering::SeqCst)
}

fn outcome(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["belljar/result"]["outcome"]
}

/// A modern client that shows forms.
fn with_forms(desk: &Desk) -> Client {
    let mut client = desk.connect();
    client.capabilities = json!({"elicitation": {"form": {}}});
    client
}

/// The same call again, with an answer.
fn answered(asked: &Value, arguments: &Value, said: &Value) -> Value {
    json!({"name": "fake_write", "arguments": arguments,
        "requestState": asked["result"]["requestState"], "inputResponses": {"approval": said}})
}

fn approve() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

#[tokio::test]
async fn queue_hands_back_and_the_repeat_runs_once_somebody_approved() {
    let desk = Desk::asking(McpApprovals::Queue);
    let mut client = desk.connect();
    let waits = client.call(1, "fake_write", json!({"a": 1})).await;
    assert_eq!(
        (outcome(&waits), &waits["result"]["isError"]),
        (&json!("approval_pending"), &json!(true))
    );
    let pending = desk.host.approvals().list(&ListFilter::pending()).unwrap();
    let ann = Approver { name: "ann".into(), channel: Channel::Terminal };
    desk.host.approvals().decide(&pending[0].id, ApprovalDecision::Once, ann).unwrap();
    assert_eq!(outcome(&client.call(2, "fake_write", json!({"a": 1})).await), "success");
    assert_eq!(outcome(&client.call(3, "fake_write", json!({"a": 1})).await), "approval_pending");
    assert_eq!(runs(&desk), 1);
}

#[tokio::test]
async fn deny_declines_at_once() {
    let desk = Desk::asking(McpApprovals::Deny);
    let refused = with_forms(&desk).call(1, "fake_write", json!({})).await;
    assert_eq!((outcome(&refused), runs(&desk)), (&json!("approval_declined"), 0));
}

#[tokio::test]
async fn t37_client_lets_through_and_says_in_whose_name() {
    let desk = Desk::asking(McpApprovals::Client);
    let done = desk.connect().call(1, "fake_write", json!({})).await;
    assert_eq!((outcome(&done), runs(&desk)), (&json!("success"), 1));
    let approver = &done["result"]["_meta"]["belljar/result"]["approval"]["approver"];
    assert_eq!(*approver, json!({"name": "mcp's client", "channel": "mcp"}));
}

#[tokio::test]
async fn elicit_without_forms_hands_back() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = desk.connect();
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        client.capabilities = capabilities;
        assert_eq!(outcome(&client.call(1, "fake_write", json!({})).await), "approval_pending");
    }
}

#[tokio::test]
async fn t39_the_modern_client_is_shown_a_form_whose_text_hides_nothing() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let asked =
        with_forms(&desk).call(1, "fake_write", json!({"to": "a\u{202e}b\nstate  fine"})).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let request = &result["inputRequests"]["approval"];
    assert_eq!(
        (&request["method"], &request["params"]["mode"]),
        (&json!("elicitation/create"), &json!("form"))
    );
    let message = request["params"]["message"].as_str().unwrap();
    assert!(message.contains("fake.write") && message.contains("<U+202E>"), "{message}");
    assert!(
        !message.contains('\u{202e}')
            && !message.lines().any(|line| line.starts_with("state  fine"))
    );
    let fields = &request["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["decision"]["enum"], json!(["deny", "approve"]));
    assert_eq!(runs(&desk), 0);
}

#[tokio::test]
async fn the_modern_answer_runs_the_call_once_and_its_state_counts_once() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = with_forms(&desk);
    let arguments = json!({"a": 1, "b": 2});
    let asked = client.call(1, "fake_write", arguments).await;
    // Equal arguments, written another way.
    let retry = answered(&asked, &json!({"b": 2, "a": 1}), &approve());
    let done = client.ask(2, "tools/call", retry.clone()).await;
    assert_eq!((outcome(&done), runs(&desk)), (&json!("success"), 1));
    let replayed = client.ask(3, "tools/call", retry).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    assert!(replayed["error"]["message"].as_str().unwrap().contains("used before"));
    assert_eq!(runs(&desk), 1);
}

#[tokio::test]
async fn t36_an_altered_or_foreign_state_and_other_arguments_run_nothing() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = with_forms(&desk);
    let asked = client.call(1, "fake_write", json!({"a": 1})).await;
    let state = asked["result"]["requestState"].as_str().unwrap().to_owned();
    let mut altered = state.clone();
    let last = altered.pop().unwrap();
    altered.push(if last == 'A' { 'B' } else { 'A' });
    let retry = |arguments: Value, state: &str| {
        json!({"name": "fake_write", "arguments": arguments, "requestState": state,
            "inputResponses": {"approval": approve()}})
    };
    let wrong = [
        retry(json!({"a": 1}), &altered),
        retry(json!({"a": 1}), ""),
        retry(json!({"a": 1}), "nothing.of.ours"),
        retry(json!({"a": 2}), &state),
    ];
    for params in wrong {
        let answer = client.ask(2, "tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let mut another = with_forms(&desk);
    let answer = another.ask(3, "tools/call", retry(json!({"a": 1}), &state)).await;
    assert_eq!(answer["error"]["code"], -32602, "another session: {answer}");
    assert_eq!(runs(&desk), 0);
    let done = client.ask(4, "tools/call", retry(json!({"a": 1}), &state)).await;
    assert_eq!(outcome(&done), "success", "what was refused used nothing up");
}

#[tokio::test]
async fn the_modern_no_its_reason_and_its_cancel_are_told_apart() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = with_forms(&desk);
    let deny = json!({"action": "accept", "content": {"decision": "deny", "reason": "not today"}});
    for (said, expected) in [
        (deny, "approval_declined"),
        (json!({"action": "decline"}), "approval_declined"),
        (json!({"action": "cancel"}), "cancelled"),
    ] {
        let arguments = json!({"said": said});
        let asked = client.call(1, "fake_write", arguments.clone()).await;
        let ended = client.ask(2, "tools/call", answered(&asked, &arguments, &said)).await;
        assert_eq!(outcome(&ended), expected, "{said}: {ended}");
        let text = ended["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.contains("not today"), said.get("content").is_some(), "{text}");
    }
    assert_eq!(runs(&desk), 0);
}

#[tokio::test]
async fn a_state_without_a_usable_answer_asks_again_or_is_refused() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = with_forms(&desk);
    let asked = client.call(1, "fake_write", json!({})).await;
    let mut retry = answered(&asked, &json!({}), &approve());
    retry.as_object_mut().unwrap().remove("inputResponses");
    let again = client.ask(2, "tools/call", retry).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    for said in [
        json!(7),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"decision": "yes"}}),
    ] {
        let answer = client.ask(3, "tools/call", answered(&asked, &json!({}), &said)).await;
        assert_eq!(answer["error"]["code"], -32602, "{said}: {answer}");
    }
    assert_eq!(runs(&desk), 0);
}

#[tokio::test]
async fn the_older_client_is_asked_while_its_call_is_open() {
    let desk = Desk::asking(McpApprovals::Elicit);
    for (said, expected, ran) in [
        (approve(), "success", 1),
        (json!({"action": "decline"}), "approval_declined", 1),
        (json!({"action": "cancel"}), "cancelled", 1),
        (json!({"action": "accept", "content": {}}), "approval_pending", 1),
    ] {
        let mut client = desk.shaken("2025-06-18", json!({"elicitation": {}})).await;
        client
            .send(1, "tools/call", json!({"name": "fake_write", "arguments": {"said": said}}))
            .await;
        let asked = client.next().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        client
            .line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": said}).to_string())
            .await;
        let ended = client.next().await;
        assert_eq!((&ended["id"], outcome(&ended)), (&json!(1), &json!(expected)), "{ended}");
        assert_eq!(runs(&desk), ran);
    }
}

#[tokio::test]
async fn who_answers_elsewhere_first_ends_the_wait_of_an_older_client() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = desk.shaken("2025-11-25", json!({"elicitation": {}})).await;
    client.send(1, "tools/call", json!({"name": "fake_write"})).await;
    let asked = client.next().await;
    let pending = desk.host.approvals().list(&ListFilter::pending()).unwrap();
    let ann = Approver { name: "ann".into(), channel: Channel::Terminal };
    desk.host.approvals().decide(&pending[0].id, ApprovalDecision::Once, ann).unwrap();
    let ended = client.until_id(1).await;
    assert_eq!(outcome(&ended), "success", "{ended}");
    client
        .line(
            &json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
                .to_string(),
        )
        .await;
    assert_eq!(outcome(&client.call(2, "fake_read", json!({})).await), "success");
}

/// The pending request, answered with yes by another process: in the store, and told to nobody.
fn answered_by_another_process(desk: &Desk) {
    let pending = desk.host.approvals().list(&ListFilter::pending()).unwrap();
    let approver = Approver { name: "ann".into(), channel: Channel::Terminal };
    let (decision, at_unix_ms) = (ApprovalDecision::Once, crate::events::unix_ms());
    let decided = Decided { decision, approver, at_unix_ms, along: None };
    desk.store.decide(&pending[0].id, &decided, None).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_event_was_lost_is_looked_up_at_once() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = desk.shaken("2025-11-25", json!({"elicitation": {}})).await;
    client.send(1, "tools/call", json!({"name": "fake_write"})).await;
    client.next().await;
    // So that whoever watches has looked at the store before.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let asked = tokio::time::Instant::now();
    answered_by_another_process(&desk);
    for _ in 0..2_000 {
        desk.bus.publish(None, || EventKind::AuthorNote { text: "noise".into() });
    }
    assert_eq!(outcome(&client.until_id(1).await), "success");
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_by_another_process_ends_the_wait_soon() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = desk.shaken("2025-11-25", json!({"elicitation": {}})).await;
    client.send(1, "tools/call", json!({"name": "fake_write"})).await;
    client.next().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let asked = tokio::time::Instant::now();
    answered_by_another_process(&desk);
    assert_eq!(outcome(&client.until_id(1).await), "success");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn a_call_that_was_called_off_while_it_asked_leaves_no_answer_for_the_next() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = desk.shaken("2025-11-25", json!({"elicitation": {}})).await;
    client.send(1, "tools/call", json!({"name": "fake_write"})).await;
    client.next().await;
    client
        .line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    while !desk.host.approvals().list(&ListFilter::pending()).unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.send(2, "tools/call", json!({"name": "fake_write"})).await;
    loop {
        let told = client.next().await;
        assert!(told["id"] != 2 || told.get("method").is_some(), "it is asked about anew: {told}");
        if told["method"] == "elicitation/create" {
            return;
        }
    }
}

#[tokio::test]
async fn mc02_a_call_that_is_called_off_while_it_asks_withdraws_its_question() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut client = desk.shaken("2025-11-25", json!({"elicitation": {}})).await;
    client.send(1, "tools/call", json!({"name": "fake_write"})).await;
    client.next().await;
    let id = desk.host.approvals().list(&ListFilter::pending()).unwrap()[0].id.clone();
    client
        .line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    while desk.host.approvals().show(&id).unwrap().state == ApprovalState::Pending {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(outcome(&client.until_id_of(2, "fake_read").await), "success");
    assert_eq!(runs(&desk), 1);
}

#[tokio::test]
async fn t31_what_a_connection_asked_ends_with_it() {
    let desk = Desk::asking(McpApprovals::Queue);
    let mut client = desk.connect();
    client.call(1, "fake_write", json!({})).await;
    assert_eq!(desk.host.approvals().list(&ListFilter::pending()).unwrap().len(), 1);
    client.half_close().await;
    client.served.await.unwrap().unwrap();
    assert!(desk.host.approvals().list(&ListFilter::pending()).unwrap().is_empty());
}

#[tokio::test]
async fn a12_a_question_is_its_own_form_and_its_answers_are_the_result() {
    let desk = Desk::asking(McpApprovals::Elicit);
    let mut tool = writer("belljar.ask-user");
    tool.wire_name = "ask_user_questions".into();
    desk.tools.set(vec![tool]);
    let mut client = with_forms(&desk);
    let arguments =
        json!({"questions": [{"question": "Which?", "options": ["x", "y"]}, {"question": "Why?"}]});
    let asked = client.call(1, "ask_user_questions", arguments.clone()).await;
    let params = &asked["result"]["inputRequests"]["approval"]["params"];
    let fields = &params["requestedSchema"]["properties"];
    assert_eq!(
        (&fields["q1"]["enum"], &fields["q2"]["type"]),
        (&json!(["x", "y"]), &json!("string")),
        "{asked}"
    );
    assert_eq!(params["message"], "Which?\nWhy?");
    let retry = json!({"name": "ask_user_questions", "arguments": arguments,
        "requestState": asked["result"]["requestState"],
        "inputResponses": {"approval": {"action": "accept", "content": {"q1": "x", "q2": "so"}}}});
    let told = client.ask(2, "tools/call", retry).await;
    assert_eq!((outcome(&told), runs(&desk)), (&json!("success"), 0));
    assert_eq!(told["result"]["content"][0]["text"], "[\"x\",\"so\"]");
}

#[tokio::test]
async fn an_older_client_that_never_answers_is_handed_the_request() {
    let mut settings = McpSettings { approvals: McpApprovals::Elicit, ..McpSettings::default() };
    settings.bounds.elicitation = Duration::from_millis(20);
    let desk = Desk::with(settings);
    let mut client = desk.shaken("2025-11-25", json!({"elicitation": {}})).await;
    client.send(1, "tools/call", json!({"name": "fake_write"})).await;
    assert_eq!(outcome(&client.until_id(1).await), "approval_pending");
}
