//! Attempts of one call: how many, within what time, and what they say together.

use serde_json::json;

use super::kit::*;
use crate::contract::attempt::End;
use crate::contract::effects::Effect;
use crate::contract::limits::LimitKind;
use crate::contract::outcome::{Executed, Outcome};
use crate::engine::EngineSettings;

fn host_retrying(retries: u32) -> Host {
    let settings = EngineSettings { retries: Some(retries), ..EngineSettings::default() };
    Setup { settings, ..Setup::default() }.host()
}

#[tokio::test(start_paused = true)]
async fn b5_a_call_is_tried_once_more_than_it_is_retried() {
    for retries in [0, 1, 4] {
        let mut host = host_retrying(retries);
        host.runner.behave(|_| overloaded());
        let result = host.call(call("c1", "fake.write", "{}")).await;
        assert_eq!((result.outcome, result.attempts), (Outcome::Overloaded, retries + 1));
        assert_eq!((result.executed, host.runner.runs()), (Executed::No, retries as usize + 1));
        assert_eq!(host.told_of("ToolCallInvoke")[0]["attempts"], retries + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_succeeds_is_the_calls_result() {
    let mut host = host_retrying(4);
    host.runner.behave(|attempt| if attempt.number < 3 { overloaded() } else { fine() });
    let result = host.call(call("c1", "fake.write", "{}")).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::Success, 3));
    assert_eq!((result.content.as_str(), result.executed), ("fine", Executed::Yes));
    let retried = host.told_of("AttemptRetried");
    let numbers: Vec<_> = retried.iter().map(|event| event["number"].clone()).collect();
    assert_eq!(numbers, [json!(2), json!(3)], "the attempts that follow");
    assert_eq!(retried[0]["afterOutcome"], "overloaded");
    let pause = retried[0]["delayMs"].as_u64().unwrap();
    let handed = host.runner.handed();
    let paused = (handed[1].at - handed[0].at).as_millis();
    assert!((0..=1).contains(&(paused - u128::from(pause))), "{paused} {pause}");
}

#[tokio::test(start_paused = true)]
async fn t25_a_tool_that_is_not_idempotent_never_runs_twice() {
    let host = host_retrying(5);
    host.runner.behave(|_| Act(0, End::Host("lost".to_owned())));
    let result = host.call(call("c1", "fake.write", "{}")).await;
    assert_eq!((result.outcome, host.runner.runs()), (Outcome::HostFault, 1));

    let host = host_retrying(5);
    host.runner.behave(|attempt| match attempt.number {
        1 => overloaded(),
        _ => Act(0, End::Host("lost".to_owned())),
    });
    let result = host.call(call("c2", "fake.write", "{}")).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::HostFault, 2));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_run_may_have_run_whatever_later_attempts_say() {
    let host = host_retrying(3);
    host.runner.behave(|attempt| match attempt.number {
        1 => Act(0, End::Host("lost".to_owned())),
        _ => overloaded(),
    });
    host.tools.change("fake.write", |tool| tool.effects.idempotent = Effect::claimed(true));
    let result = host.call(call("c1", "fake.write", "{}")).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::Overloaded, 4));
    assert_eq!(result.executed, Executed::Maybe);
}

#[tokio::test(start_paused = true)]
async fn t12_b6_each_attempt_has_its_deadline_and_all_of_them_the_calls() {
    let host = host_retrying(5);
    host.tools.change("fake.read", |tool| {
        tool.limits.set(LimitKind::CallDeadline, 50_000).unwrap();
    });
    host.runner.behave(|_| fine_after(100_000));
    let result = host.call(call("c1", "fake.read", "{}")).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::TimedOut, 2));
    assert_eq!(result.duration_ms, Some(50_000));
    let handed = host.runner.handed();
    assert_eq!((handed[0].due_in_ms, handed[0].due_by), (30_000, LimitKind::AttemptDeadline));
    let paused = (handed[1].at - handed[0].at).as_millis() - 30_000;
    assert!((375..=625).contains(&paused), "{paused}");
    assert_eq!((handed[1].due_in_ms, handed[1].due_by), (20_000 - paused, LimitKind::CallDeadline));
}

#[tokio::test(start_paused = true)]
async fn what_ends_the_same_way_again_is_not_retried() {
    let host = host_retrying(5);
    host.runner.behave(|_| trap());
    let result = host.call(call("c1", "fake.read", "{}")).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::Crashed, 1));
    host.runner.behave(|_| panic!("a runner that panics"));
    let result = host.call(call("c2", "fake.read", r#"{"n":1}"#)).await;
    assert_eq!((result.outcome, result.attempts), (Outcome::HostFault, 1));
}
