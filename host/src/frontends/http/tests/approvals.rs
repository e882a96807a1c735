//! What people are asked, and what they answer over http.

use serde_json::{Value, json};

use super::kit::{Answer, Api, HOST_PATH};

/// Makes a call that a person is asked about; the id of the request.
async fn asked(api: &Api, token: &str, arguments: Value) -> String {
    let body = json!({"tool": "fake.write", "arguments": arguments});
    let result = api.post(token, "/v1/calls", body).await.is(200);
    assert_eq!(result["outcome"], "approval_pending", "{result}");
    result["approval"]["approval"].as_str().unwrap().to_owned()
}

async fn decide(api: &Api, token: &str, id: &str, decision: Value) -> Answer {
    api.post(token, &format!("/v1/approvals/{id}/decision"), decision).await
}

async fn repeat(api: &Api, arguments: Value) -> Value {
    let body = json!({"tool": "fake.write", "arguments": arguments});
    api.post("calls-a", "/v1/calls", body).await.is(200)
}

#[tokio::test]
async fn t30_what_waits_is_listed_shown_and_answered_in_the_tokens_name() {
    let api = Api::new();
    let id = asked(&api, "calls-a", json!({"n": 1})).await;
    let listed = api.get("approves", "/v1/approvals?state=pending").await.is(200);
    assert_eq!(listed["approvals"][0]["id"], id);
    let shown = api.get("operates", &format!("/v1/approvals/{id}")).await.is(200);
    assert_eq!(shown["request"]["arguments"], json!({"n": 1}));
    let entry = decide(&api, "approves", &id, json!({"decision": "once"})).await.is(200);
    assert_eq!(entry["decided"]["approver"], json!({"name": "approves", "channel": "http"}));
    let result = repeat(&api, json!({"n": 1})).await;
    assert_eq!((&result["outcome"], &result["content"]), (&json!("success"), &json!(r#"{"n":1}"#)));
    assert_eq!(result["approval"]["approver"]["name"], "approves");
    let again = repeat(&api, json!({"n": 1})).await;
    assert_eq!(again["outcome"], "approval_pending", "an answer admits one call: {again}");
}

#[tokio::test]
async fn t37_a_token_doesnt_answer_for_the_caller_whose_calls_it_makes() {
    let api = Api::new();
    let id = asked(&api, "calls-a", json!({})).await;
    for decision in [
        json!({"decision": "once"}),
        json!({"decision": "always", "scope": "tool"}),
        json!({"decision": "edit", "argumentsJson": "{}"}),
        json!({"decision": "answer", "content": "x"}),
    ] {
        decide(&api, "both-a", &id, decision).await.is_problem(403, "may not approve it");
    }
    let body = json!({"ids": [id], "decision": {"decision": "once"}});
    let many = api.post("both-a", "/v1/approvals/decisions", body).await.is(200);
    assert_eq!(many["results"][0]["problem"]["status"], 403, "{many}");
    assert_eq!(repeat(&api, json!({})).await["outcome"], "approval_pending");
    // It may always refuse its own.
    decide(&api, "both-a", &id, json!({"decision": "deny"})).await.is(200);
    assert_eq!(repeat(&api, json!({})).await["outcome"], "approval_declined");
}

#[tokio::test]
async fn t37_it_does_where_the_operator_says_so() {
    let mut config = super::kit::config("");
    config.approvals.self_approval = true;
    let api = Api::configured(config);
    let id = asked(&api, "both-a", json!({})).await;
    decide(&api, "both-a", &id, json!({"decision": "once"})).await.is(200);
}

#[tokio::test]
async fn an_answer_that_means_nothing_or_comes_too_late_is_refused() {
    let api = Api::new();
    let id = asked(&api, "calls-a", json!({})).await;
    for (decision, status) in [
        (json!({"decision": "maybe"}), 400),
        (json!({}), 400),
        (json!({"decision": "once", "reason": "x"}), 400),
        (json!({"decision": "deny", "reason": null}), 400),
        (json!({"decision": "always"}), 400),
        (json!({"decision": "session"}), 422),
        (json!({"decision": "edit", "argumentsJson": "["}), 422),
        (json!({"decision": "always", "scope": "tool", "expiresUnixMs": 1}), 422),
        (json!({"decision": "always", "scope": {"pattern": {"no": "x"}}}), 422),
        (json!({"decision": "deny", "reason": "x".repeat(5_000)}), 422),
    ] {
        decide(&api, "approves", &id, decision).await.is_problem(status, "");
    }
    decide(&api, "approves", "aaaaaaaaaaaa", json!({"decision": "once"})).await.is_problem(404, "");
    decide(&api, "approves", "x", json!({"decision": "once"})).await.is_problem(404, "");
    decide(&api, "approves", &id, json!({"decision": "cancel"})).await.is(200);
    let late = decide(&api, "approves", &id, json!({"decision": "once"})).await;
    late.is_problem(409, "answered already");
}

#[tokio::test]
async fn t32_many_are_answered_at_once_each_with_an_answer_of_its_own_where_it_has_one() {
    let api = Api::new();
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(asked(&api, "calls-a", json!({"n": number})).await);
    }
    let body = json!({
        "ids": ids,
        "decision": {"decision": "once"},
        "overrides": {ids[1].clone(): {"decision": "deny", "reason": "not that one"}},
    });
    let many = api.post("approves", "/v1/approvals/decisions", body).await.is(200);
    let told: Vec<_> = many["results"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(told, ids.iter().map(|id| json!(id)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    for number in (0..5).rev() {
        let outcome = if number == 1 { "approval_declined" } else { "success" };
        assert_eq!(repeat(&api, json!({"n": number})).await["outcome"], outcome, "{number}");
    }
}

#[tokio::test]
async fn many_are_bounded_and_each_named_once() {
    let api = Api::new();
    let once = json!({"decision": "once"});
    let twice = json!({"ids": ["aaaaaaaaaaaa", "aaaaaaaaaaaa"], "decision": once});
    api.post("approves", "/v1/approvals/decisions", twice).await.is_problem(400, "twice");
    let ids: Vec<_> = (0..1_001).map(|n| format!("aaaaaaaa{}", letters(n))).collect();
    let many = json!({"ids": ids, "decision": once});
    api.post("approves", "/v1/approvals/decisions", many).await.is_problem(400, "at most 1000");
    let both = json!({"ids": [], "tool": "fake.write", "decision": once});
    api.post("approves", "/v1/approvals/decisions", both).await.is_problem(400, "one of them");
}

fn letters(mut number: u32) -> String {
    let mut letters = String::new();
    for _ in 0..4 {
        letters.push(char::from(b'a' + u8::try_from(number % 26).unwrap()));
        number /= 26;
    }
    letters
}

#[tokio::test]
async fn t33_an_answer_for_good_covers_what_waits_and_can_be_taken_back() {
    let api = Api::new();
    let first = asked(&api, "calls-a", json!({"n": 1})).await;
    asked(&api, "calls-a", json!({"n": 2})).await;
    let always = json!({"decision": "always", "scope": "tool"});
    decide(&api, "approves", &first, always).await.is(200);
    assert_eq!(repeat(&api, json!({"n": 2})).await["outcome"], "success");
    assert_eq!(repeat(&api, json!({"n": 3})).await["outcome"], "success");
    let listed = api.get("approves", "/v1/remembered").await.is(200);
    assert_eq!(listed["remembered"][0]["id"], first);
    let path = format!("/v1/remembered/{first}");
    assert_eq!(api.delete("approves", &path).await.status, 204);
    api.delete("approves", &path).await.is_problem(404, "nothing is remembered");
    assert_eq!(repeat(&api, json!({"n": 4})).await["outcome"], "approval_pending");
}

#[tokio::test]
async fn t37_a_no_is_not_taken_back_for_the_caller_that_it_is_about() {
    let api = Api::new();
    let id = asked(&api, "calls-a", json!({})).await;
    let never = json!({"decision": "deny-always", "scope": "tool"});
    decide(&api, "both-a", &id, never).await.is(200);
    let path = format!("/v1/remembered/{id}");
    api.delete("both-a", &path).await.is_problem(403, "may not approve it");
    assert_eq!(repeat(&api, json!({"n": 2})).await["outcome"], "denied");
    assert_eq!(api.delete("approves", &path).await.status, 204);
    assert_eq!(repeat(&api, json!({"n": 3})).await["outcome"], "approval_pending");
    // A yes it may always give up.
    let id = asked(&api, "calls-a", json!({"n": 4})).await;
    let always = json!({"decision": "always", "scope": "tool"});
    decide(&api, "approves", &id, always).await.is(200);
    assert_eq!(api.delete("both-a", &format!("/v1/remembered/{id}")).await.status, 204);
}

#[tokio::test]
async fn where_the_folders_of_a_tool_lie_is_shown_to_who_approves_and_to_no_caller() {
    let api = Api::new();
    let body = json!({"tool": "fake.disk", "callId": "c", "background": true});
    let mut told = api.post("calls-a", "/v1/calls", body).await.text;
    told += &api.get("calls-a", "/v1/calls/c?wait=60000").await.text;
    let listed = api.get("approves", "/v1/approvals").await;
    let id = listed.json()["approvals"][0]["id"].as_str().unwrap().to_owned();
    let shown = api.get("approves", &format!("/v1/approvals/{id}")).await;
    assert!(shown.text.contains(HOST_PATH), "{shown:?}");
    let once = decide(&api, "approves", &id, json!({"decision": "once"})).await;
    assert!(once.text.contains(HOST_PATH), "who approves sees what is approved: {once:?}");
    let again = json!({"tool": "fake.disk"});
    told += &api.post("calls-a", "/v1/calls", again).await.is(200).to_string();
    for path in ["/v1/tools", "/v1/tools/fake.disk"] {
        told += &api.get("calls-a", path).await.text;
    }
    told += &api.seen_by("calls-a").await;
    assert!(told.contains("ToolApprovalRequest") && told.contains("fake.disk"), "{told}");
    assert!(!told.contains(HOST_PATH), "{told}");
}

#[tokio::test]
async fn where_nobody_is_asked_a_call_is_declined() {
    let mut config = super::kit::config("");
    config.approvals.http = crate::config::HttpApprovals::Deny;
    let api = Api::configured(config);
    let result = api.call("calls-a", "fake.write").await.is(200);
    assert_eq!(result["outcome"], "approval_declined", "{result}");
}

#[tokio::test]
async fn declared_secrets_are_not_shown() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "swordfish-1234").unwrap();
    let secret = format!("[secrets.word]\nfrom = \"file:{}\"\n", file.path().display());
    let api = Api::with(&secret);
    let id = asked(&api, "calls-a", json!({"password": "swordfish-1234"})).await;
    for path in ["/v1/approvals".to_owned(), format!("/v1/approvals/{id}")] {
        let text = api.get("approves", &path).await.text;
        assert!(text.contains("password") && !text.contains("swordfish"), "{text}");
    }
    let entry = decide(&api, "approves", &id, json!({"decision": "cancel"})).await.text;
    assert!(!entry.contains("swordfish"), "{entry}");
}
