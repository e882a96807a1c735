//! What the audit log holds of a call: its start before it runs, and its end.
//!
//! The clock isn't paused where a call waits for the disk: it would run on meanwhile.

use serde_json::json;

use super::kit::*;
use crate::contract::approval::ApprovalDecision;
use crate::contract::attempt::ReturnCase;
use crate::contract::grants::Grants;
use crate::contract::ids::Digest;
use crate::contract::invocation::ApprovalMode;
use crate::contract::outcome::Outcome;
use crate::engine::EngineSettings;
use crate::engine::repeat::key_hash;
use crate::events::{Entry, Journal, JournalOptions};

struct Audited {
    host: Host,
    journal: Journal,
    folder: tempfile::TempDir,
}

fn audited() -> Audited {
    audited_with(EngineSettings::default())
}

fn audited_with(settings: EngineSettings) -> Audited {
    let folder = private_folder();
    let (journal, _) = Journal::open(folder.path(), JournalOptions::default(), || NOW).unwrap();
    let kept = (journal.clone(), folder.path().to_owned());
    let host = Setup { journal: Some(kept), settings, ..Setup::default() }.host();
    Audited { host, journal, folder }
}

impl Audited {
    async fn log(&self) -> Vec<Entry> {
        self.journal.flush().await.unwrap();
        log(self.folder.path())
    }
}

#[tokio::test]
async fn a_call_is_in_the_log_before_its_runner_is_entered_and_its_end_after() {
    let audited = audited();
    for (id, tool) in [("c1", "fake.read"), ("c2", "fake.write")] {
        audited.host.call(call(id, tool, r#"{"n":1}"#)).await;
        let log = audited.log().await;
        assert_eq!(kinds(&log, id), ["CallStarted", "CallFinished"]);
        let handed = audited.host.runner.handed();
        assert_eq!(handed.last().unwrap().logged, ["CallStarted"]);
    }
}

#[tokio::test]
async fn an_entry_says_what_ran_for_whom_and_how_it_ended() {
    let audited = audited();
    audited.host.runner.behave(|_| Act(0, returned(ReturnCase::Err, "no such city")));
    let mut paris = keyed(call("c1", "fake_write", r#"{"city":"Paris"}"#), "k");
    paris.trace_parent = Some("00-11-22-01".to_owned());
    let key_hash = key_hash(&paris, &Grants::default()).unwrap();
    let result = audited.host.call(paris).await;
    let log = audited.log().await;
    let (start, end) = (&log[0].fields, &log[1].fields);
    assert_eq!((&start["toolName"], &start["tool"]), (&json!("fake_write"), &json!("fake.write")));
    assert_eq!(start["pluginDigest"], json!(Digest::of(b"plugin")));
    assert_eq!(start["arguments"], json!({"city": "Paris"}));
    assert_eq!(start["caller"]["caller"], "bot");
    assert_eq!(start["traceParent"], "00-11-22-01");
    assert_eq!(start["idempotencyKeyHash"], json!(key_hash));
    assert_eq!((&end["outcome"], &end["executed"]), (&json!("tool_error"), &json!("yes")));
    assert_eq!(end["errorMessage"], "no such city");
    assert_eq!((&end["attempts"], &end["contentBytes"]), (&json!(1), &json!(result.content.len())));
    assert_eq!(end["contentHash"], json!(Digest::of(result.content.as_bytes())));
}

#[tokio::test]
async fn a_call_that_never_ran_is_in_the_log_as_refused_and_why() {
    let audited = audited();
    let host = &audited.host;
    let mut asked = asking("c3", "{}");
    asked.approval_mode = ApprovalMode::Deny;
    let mut outside = call("c4", "fake.read", "{}");
    outside.allowed_tools = Some(Vec::new());
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    host.call(call("c1", "nobodys", "{}")).await;
    host.call(call("c2", "fake.read", "{")).await;
    host.call(asked).await;
    host.call(outside).await;
    host.call(call("c5", "panics.here", "{}")).await;
    host.engine.call(call("c6", "fake.read", "{}"), cancel).await;
    let log = audited.log().await;
    let got: Vec<_> =
        log.iter().map(|it| (it.text("callId").unwrap(), &*it.kind, it.text("outcome"))).collect();
    let refused = |id, outcome: Outcome| (id, "CallRefused", Some(outcome.name()));
    assert_eq!(
        got,
        [
            refused("c1", Outcome::NotFound),
            refused("c2", Outcome::InvalidArguments),
            refused("c3", Outcome::ApprovalDeclined),
            refused("c4", Outcome::NotAllowed),
            refused("c5", Outcome::HostFault),
            refused("c6", Outcome::Cancelled),
        ]
    );
    assert_eq!(log[2].text("argumentsHash"), Some(&*Digest::of(b"{}").to_string()));
    assert!(log[0].text("reason").unwrap().contains("Unknown tool"));
    assert_eq!(log[0].text("argumentsHash"), None);
}

#[tokio::test]
async fn the_breakers_refusal_names_the_arguments() {
    let audited = audited();
    audited.host.runner.behave(|_| Act(0, returned(ReturnCase::Err, "no")));
    for _ in 0..11 {
        audited.host.call(call("c1", "fake.read", r#"{"n":1}"#)).await;
    }
    let log = audited.log().await;
    let last = log.last().unwrap();
    assert_eq!((&*last.kind, last.text("outcome")), ("CallRefused", Some("denied")));
    assert_eq!(last.text("argumentsHash"), Some(&*Digest::of(br#"{"n":1}"#).to_string()));
}

#[tokio::test]
async fn a_question_is_in_the_log_before_anybody_sees_it() {
    let mut audited = audited();
    let waiting = audited.host.start(asking("c1", "{}"));
    let (_, id) = audited.host.asked().await;
    let log = audited.log().await;
    assert_eq!(kinds(&log, "c1"), ["ApprovalRequested"]);
    assert_eq!(log[0].text("request"), Some(id.as_str()));
    audited.host.decide(&id, ApprovalDecision::Once);
    assert_eq!(waiting.await.unwrap().outcome, Outcome::Success);
    let log = audited.log().await;
    assert_eq!(kinds(&log, "c1"), ["ApprovalRequested", "CallStarted", "CallFinished"]);
    let of_request: Vec<_> = log.iter().filter(|it| it.text("request").is_some()).collect();
    assert_eq!((of_request.len(), &*of_request[1].kind), (2, "ApprovalDecided"));
    let start = log.iter().find(|entry| entry.kind == "CallStarted").unwrap();
    assert_eq!(start.fields["by"], "person", "{}", start.json);
    assert_eq!(start.fields["approval"], id.as_str(), "{}", start.json);
}

#[tokio::test]
async fn a_persons_no_is_in_the_log_with_its_reason_and_an_answer_in_the_tools_place_as_one() {
    let mut audited = audited();
    let no = ApprovalDecision::Deny { reason: Some("not on fridays".into()) };
    let answer = ApprovalDecision::Answer { content: "it is done".into() };
    for (call_id, decision) in [("c1", no), ("c2", answer)] {
        let waiting = audited.host.start(asking(call_id, "{}"));
        let (_, id) = audited.host.asked().await;
        audited.host.decide(&id, decision);
        waiting.await.unwrap();
    }
    let log = audited.log().await;
    let decided: Vec<_> = log.iter().filter(|it| it.kind == "ApprovalDecided").collect();
    assert_eq!(decided[0].text("reason"), Some("not on fridays"), "{}", decided[0].json);
    assert_eq!(decided[1].text("reason"), None, "{}", decided[1].json);
    assert_eq!(kinds(&log, "c1"), ["ApprovalRequested", "CallRefused"]);
    assert_eq!(kinds(&log, "c2"), ["ApprovalRequested", "CallAnswered"]);
}

#[tokio::test]
async fn an_edited_call_is_in_the_log_with_what_it_ran_with() {
    let mut audited = audited();
    let waiting = audited.host.start(asking("c1", r#"{"n":1}"#));
    let (_, id) = audited.host.asked().await;
    audited.host.decide(&id, edit(r#"{"n":2}"#));
    waiting.await.unwrap();
    let log = audited.log().await;
    let start = log.iter().find(|entry| entry.kind == "CallStarted").unwrap();
    assert_eq!(start.fields["arguments"], json!({"n": 2}));
}

#[tokio::test]
async fn a_panicking_call_leaves_an_ending() {
    let audited = audited();
    audited.host.runner.behave(|_| panic!("a runner that panics"));
    audited.host.call(call("c1", "fake.write", "{}")).await;
    let log = audited.log().await;
    assert_eq!(kinds(&log, "c1"), ["CallStarted", "CallFinished"]);
    assert_eq!(
        (log[1].text("outcome"), log[1].text("executed")),
        (Some("host_fault"), Some("maybe"))
    );
}

#[tokio::test]
async fn a_dropped_call_leaves_an_ending() {
    let mut audited = audited();
    audited.host.runner.behave(|_| fine_after(20_000));
    let running = audited.host.start(call("c1", "fake.write", "{}"));
    while audited.host.runner.runs() == 0 {
        tokio::task::yield_now().await;
    }
    running.abort();
    assert!(running.await.is_err());
    let log = audited.log().await;
    assert_eq!(kinds(&log, "c1"), ["CallStarted", "CallFinished"]);
    assert_eq!(
        (log[1].text("outcome"), log[1].text("executed")),
        (Some("interrupted"), Some("maybe"))
    );
    assert_eq!(audited.host.told_of("ToolCallInvoke").len(), 1);
}

#[tokio::test]
async fn a_repeat_that_gets_a_kept_result_starts_nothing() {
    let audited = audited();
    audited.host.call(keyed(call("c1", "fake.pay", "{}"), "k")).await;
    audited.host.call(keyed(call("c2", "fake.pay", "{}"), "k")).await;
    let log = audited.log().await;
    assert_eq!(kinds(&log, "c2"), ["CallAnswered"]);
    assert_eq!(log[2].text("outcome"), Some("success"));
    assert!(log[2].text("reason").unwrap().contains("not run again"), "{}", log[2].json);
}

#[tokio::test]
async fn what_shares_an_answer_or_never_began_is_in_the_log_and_told_as_well() {
    let settings = EngineSettings { share_identical: true, ..EngineSettings::default() };
    let mut audited = audited_with(settings);
    let calls = ["a", "b"].map(|id| call(id, "fake.write", "{}")).to_vec();
    let results = audited.host.batch(calls).await;
    assert_eq!(results.iter().filter(|it| it.outcome == Outcome::Success).count(), 2);
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let never = vec![call("c", "fake.read", "{}")];
    audited.host.engine.batch(never, cancel, |_, _| {}).await;
    let log = audited.log().await;
    assert_eq!(kinds(&log, "a"), ["CallStarted", "CallFinished"]);
    assert_eq!(kinds(&log, "b"), ["CallAnswered"], "it shares the answer");
    assert_eq!(kinds(&log, "c"), ["CallRefused"], "it never began");
    assert_eq!(audited.host.told_of("ToolCallInvoke").len(), 3);
}
