//! Calls that are handed over together, each through the whole engine.

use std::sync::atomic::Ordering;

use super::kit::*;
use crate::contract::approval::{ApprovalDecision, RememberScope};
use crate::contract::attempt::{End, GuestFault};
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::ToolResult;
use crate::engine::EngineSettings;
use crate::events::EventKind;

fn ids(results: &[ToolResult]) -> Vec<&str> {
    results.iter().map(|result| result.call_id.as_str()).collect()
}

fn outcomes(results: &[ToolResult]) -> Vec<Outcome> {
    results.iter().map(|result| result.outcome).collect()
}

/// Calls `a` to `e` of a tool, each with its own number.
fn five(tool: &str) -> Vec<ToolInvocation> {
    let of = |(n, id): (usize, &str)| call(id, tool, &format!(r#"{{"n":{n}}}"#));
    ["a", "b", "c", "d", "e"].into_iter().enumerate().map(of).collect()
}

fn host_at(concurrency: usize) -> Host {
    let parallel_tools = vec!["fake.write".to_owned()];
    let settings = EngineSettings { concurrency, parallel_tools, ..EngineSettings::default() };
    Setup { settings, ..Setup::default() }.host()
}

#[tokio::test(start_paused = true)]
async fn t10_a23_a_panic_or_a_trap_in_one_call_leaves_the_others_alone() {
    let bad: [(Outcome, fn() -> Act); 2] =
        [(Outcome::HostFault, || panic!("in call b")), (Outcome::Crashed, trap)];
    for (outcome, act) in bad {
        let host = host_at(5);
        host.runner.behave(move |attempt| match attempt.call_id.as_str() {
            "b" => act(),
            _ => fine_after(10),
        });
        let results = host.batch(five("fake.read")).await;
        assert_eq!(ids(&results), ["a", "b", "c", "d", "e"]);
        let mut expected = [Outcome::Success; 5];
        expected[1] = outcome;
        assert_eq!(outcomes(&results), expected);
        assert_eq!(host.runner.runs(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn t10_a_panic_while_the_batch_is_planned_ends_that_call_alone() {
    let host = host_at(5);
    host.tools.change("fake.write", |tool| tool.parallel.locks = vec!["n".to_owned()]);
    let mut calls = five("fake.read");
    calls[1].tool_name = "panics.here".to_owned();
    calls[3] = call("d", "fake.write", r#"{"panic":1}"#);
    let results = host.batch(calls).await;
    let (good, bad) = (Outcome::Success, Outcome::HostFault);
    assert_eq!(outcomes(&results), [good, bad, good, bad, good]);
    assert_eq!((results[1].executed, results[3].executed), (Executed::No, Executed::No));
}

#[tokio::test(start_paused = true)]
async fn b12_every_refusal_of_a_batch_is_wrapped_and_bears_its_calls_id() {
    let host = host_at(5);
    let mut calls = five("fake.read");
    calls[0].tool_name = "nobodys".to_owned();
    calls[1].arguments_json = "{".to_owned();
    calls[2].allowed_tools = Some(Vec::new());
    calls[3].tool_name = "fake.write".to_owned();
    calls[3].permission_level = PermissionLevel::ReadOnly;
    let mut heard = Vec::new();
    let cancel = tokio_util::sync::CancellationToken::new();
    let hear = |place: usize, result: &ToolResult| heard.push((place, result.call_id.to_string()));
    let results = host.engine.batch(calls, cancel, hear).await;
    assert_eq!(ids(&results), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        outcomes(&results),
        [
            Outcome::NotFound,
            Outcome::InvalidArguments,
            Outcome::NotAllowed,
            Outcome::ApprovalDeclined,
            Outcome::Success
        ]
    );
    for result in &results[..4] {
        assert_eq!(result.error_message.as_deref(), Some(result.content.as_str()));
        assert_eq!((result.executed, result.attempts), (Executed::No, 0));
    }
    heard.sort();
    assert_eq!(heard.len(), 5);
    assert!(heard.iter().all(|(place, id)| *id == results[*place].call_id.to_string()));
}

#[tokio::test(start_paused = true)]
async fn a22_each_call_of_a_batch_has_its_own_time() {
    let host = host_at(5);
    host.runner.behave(|attempt| match attempt.call_id.as_str() {
        "a" => fine_after(300),
        "b" => fine_after(100),
        _ => fine_after(200),
    });
    let results = host.batch(five("fake.read")).await;
    let took: Vec<_> = results.iter().map(|result| result.duration_ms.unwrap()).collect();
    assert_eq!(took, [300, 100, 200, 200, 200]);
    assert_eq!(host.runner.most.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn b10_what_is_not_proven_safe_runs_alone_and_in_order() {
    let host = Host::new();
    host.runner.behave(|_| fine_after(10));
    let results = host.batch(five("fake.write")).await;
    assert_eq!(outcomes(&results), [Outcome::Success; 5]);
    let order: Vec<_> = host.runner.handed().into_iter().map(|it| it.call_id).collect();
    assert_eq!(order, ["a", "b", "c", "d", "e"]);
    assert_eq!(host.runner.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn t7_identical_calls_of_a_batch_share_one_run_where_that_is_on() {
    for (share_identical, runs) in [(false, 3), (true, 2)] {
        let settings = EngineSettings { share_identical, ..EngineSettings::default() };
        let host = Setup { settings, ..Setup::default() }.host();
        let calls = vec![
            call("a", "fake.pay", r#"{"n":1}"#),
            call("b", "fake.pay", r#"{"n":2}"#),
            call("c", "fake_pay", r#" {"n":1} "#),
        ];
        let results = host.batch(calls).await;
        assert_eq!(ids(&results), ["a", "b", "c"]);
        assert_eq!(outcomes(&results), [Outcome::Success; 3]);
        assert_eq!(host.runner.runs(), runs, "{share_identical}");
        let ran = if share_identical { Executed::No } else { Executed::Yes };
        assert_eq!((results[2].executed, results[2].content.as_str()), (ran, "fine"));
    }
}

#[tokio::test(start_paused = true)]
async fn t11_nothing_of_a_batch_runs_after_its_return() {
    let host = host_at(2);
    host.runner.behave(|attempt| match attempt.call_id.as_str() {
        "a" => Act(50, End::Guest(GuestFault::Trapped("late".to_owned()))),
        _ => fine_after(10),
    });
    host.batch(five("fake.read")).await;
    assert_eq!(host.runner.alive.load(Ordering::SeqCst), 0);
    assert_eq!(host.runner.most.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn t32_five_pending_calls_are_answered_in_any_order_each_with_its_own() {
    let mut host = host_at(5);
    let calls =
        five("fake.write").into_iter().map(|of| asking(of.call_id.as_str(), &of.arguments_json));
    let batch = host.start_batch(calls.collect());
    let mut requests = std::collections::BTreeMap::new();
    for _ in 0..5 {
        let (call_id, id) = host.asked().await;
        requests.insert(call_id, id);
    }
    assert_eq!(host.pending().len(), 5);
    for (call_id, decision) in [
        ("d", ApprovalDecision::Once),
        ("a", deny("no")),
        ("e", ApprovalDecision::Cancel),
        ("b", edit(r#"{"n":7}"#)),
        ("c", ApprovalDecision::Answer { content: "said".to_owned() }),
    ] {
        host.decide(&requests[call_id], decision);
    }
    let results = batch.await.unwrap();
    assert_eq!(ids(&results), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        outcomes(&results),
        [
            Outcome::ApprovalDeclined,
            Outcome::Success,
            Outcome::Success,
            Outcome::Success,
            Outcome::Cancelled
        ]
    );
    let ran: std::collections::BTreeMap<_, _> =
        host.runner.handed().into_iter().map(|it| (it.call_id, it.arguments)).collect();
    let expected = [("b", r#"{"n":7}"#), ("d", r#"{"n":3}"#)];
    assert_eq!(ran, expected.map(|(id, with)| (id.to_owned(), with.to_owned())).into());
    assert_eq!((results[2].content.as_str(), results[2].executed), ("said", Executed::No));
}

#[tokio::test(start_paused = true)]
async fn t33_who_says_always_answers_what_waits_already() {
    let mut host = host_at(5);
    let calls =
        five("fake.write").into_iter().map(|of| asking(of.call_id.as_str(), &of.arguments_json));
    let batch = host.start_batch(calls.collect());
    let mut last = None;
    for _ in 0..5 {
        last = Some(host.asked().await.1);
    }
    host.decide(&last.unwrap(), always(RememberScope::Tool));
    let results = batch.await.unwrap();
    assert_eq!(outcomes(&results), [Outcome::Success; 5]);
    assert_eq!((host.runner.runs(), host.pending().len()), (5, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_holds_no_slot() {
    let mut host = host_at(1);
    let calls = vec![asking("a", "{}"), call("b", "fake.read", "{}"), call("c", "fake.read", "{}")];
    let batch = host.start_batch(calls);
    let (mut asked, mut ended) = (None, Vec::new());
    while asked.is_none() || ended.len() < 2 {
        host.until(|call_id, kind| match kind {
            EventKind::ToolApprovalRequest { request_id, .. } => {
                asked = Some(request_id.clone());
                Some(())
            }
            EventKind::ToolCallInvoke(_) => {
                ended.push(call_id.to_owned());
                Some(())
            }
            _ => None,
        })
        .await;
    }
    assert_eq!(ended, ["b", "c"]);
    host.decide(&asked.unwrap(), ApprovalDecision::Once);
    let results = batch.await.unwrap();
    assert_eq!(outcomes(&results), [Outcome::Success; 3]);
    assert_eq!(host.runner.most.load(Ordering::SeqCst), 1, "still one at a time");
}
