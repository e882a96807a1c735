//! The steps of a call with a runner that ends as it is told, and a paused clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::Engine;
use super::ports::{FoundTool, ToolLookup, ToolRunner};
use crate::contract::arguments::{ArgumentCheck, ArgumentFailure};
use crate::contract::attempt::{Attempt, AttemptEnd, End, ReturnCase, Returned};
use crate::contract::descriptor::{ToolDescriptor, example};
use crate::contract::effects::Effect;
use crate::contract::ids::ToolId;
use crate::contract::invocation::{PermissionLevel, SessionTool, ToolInvocation};
use crate::contract::limits::LimitKind;
use crate::contract::outcome::{Executed, Outcome};
use crate::contract::result::Usage;
use crate::events::{EventBus, EventKind, Seen};

fn descriptor(read_only: bool) -> ToolDescriptor {
    let effect = if read_only { Effect::proven(true) } else { Effect::assumed(false) };
    example("fake.tool", effect)
}

struct OneTool(ToolDescriptor);

impl ToolLookup for OneTool {
    fn find(&self, name: &str) -> Option<FoundTool> {
        let known = name == "fake.tool" || name == "fake_tool";
        let check = Arc::new(RefuseBad) as Arc<dyn ArgumentCheck>;
        known.then(|| FoundTool { descriptor: Arc::new(self.0.clone()), check })
    }

    fn near(&self, _name: &str) -> Vec<String> {
        vec!["fake.tool".into()]
    }
}

struct RefuseBad;

impl ArgumentCheck for RefuseBad {
    fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        match args.get("bad") {
            None => Ok(args),
            Some(_) => Err(vec![ArgumentFailure::new("/bad", "isn't wanted")]),
        }
    }
}

type Behaviour = Box<dyn Fn(&Attempt) -> End + Send + Sync>;

struct Told {
    runs: AtomicUsize,
    seen: Mutex<Vec<String>>,
    behave: Behaviour,
    pause: Option<Duration>,
}

#[async_trait::async_trait]
impl ToolRunner for Told {
    async fn run(&self, _tool: &ToolId, attempt: Attempt) -> AttemptEnd {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().unwrap().push(attempt.arguments.canonical().to_owned());
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
        }
        let end = (self.behave)(&attempt);
        AttemptEnd { end, usage: Usage::default(), missing_grants: Vec::new() }
    }
}

fn answered(_: &Attempt) -> End {
    let value = Some(Value::String("fine".into()));
    End::Returned(Returned {
        case: ReturnCase::Plain,
        value,
        wrapped: true,
        attachments: Vec::new(),
    })
}

fn engine(
    read_only: bool,
    behave: Behaviour,
    pause: Option<Duration>,
) -> (Engine, Arc<Told>, EventBus) {
    let told = Told { runs: AtomicUsize::new(0), seen: Mutex::default(), behave, pause };
    let (told, bus) = (Arc::new(told), EventBus::new(|| 0));
    (engine_of(descriptor(read_only), &told, &bus), told, bus)
}

fn engine_of(tool: ToolDescriptor, told: &Arc<Told>, bus: &EventBus) -> Engine {
    Engine::new(Arc::new(OneTool(tool)), Arc::clone(told) as _, bus.clone())
}

fn call(tool: &str, arguments: &str) -> ToolInvocation {
    let mut call = ToolInvocation::new("c1".parse().unwrap(), tool, arguments);
    call.permission_level = PermissionLevel::Full;
    call
}

async fn outcome(read_only: bool, call: ToolInvocation) -> (Outcome, usize) {
    let (engine, told, _) = engine(read_only, Box::new(answered), None);
    let result = engine.call(call, CancellationToken::new()).await;
    assert_eq!(result.call_id.as_str(), "c1");
    (result.outcome, told.runs.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a10_a_name_resolves_to_the_registry_then_the_session_then_nobody() {
    assert_eq!(outcome(true, call("fake.tool", "")).await, (Outcome::Success, 1));
    assert_eq!(outcome(true, call("fake_tool", "")).await, (Outcome::Success, 1));
    let mut session = call("mine", "{}");
    session.session_tools = vec![SessionTool { name: "mine".into(), descriptor: None }];
    assert_eq!(outcome(true, session).await, (Outcome::Unavailable, 0));
    assert_eq!(outcome(true, call("nobodys", "{}")).await, (Outcome::NotFound, 0));
}

#[tokio::test]
async fn a_missing_tool_names_near_ones() {
    let (engine, ..) = engine(true, Box::new(answered), None);
    let result = engine.call(call("fake.tol\u{1b}", "{}"), CancellationToken::new()).await;
    assert_eq!(result.content, "Unknown tool: fake.tol<U+001B>; did you mean `fake.tool`?");
}

#[tokio::test]
async fn a14_the_allowed_set_is_checked_before_anything_is_told() {
    for (name, allowed, expected) in [
        ("fake.tool", vec!["fake_tool"], (Outcome::Success, 1)),
        ("fake.tool", vec!["other.tool"], (Outcome::NotAllowed, 0)),
        ("nobodys", vec!["other.tool"], (Outcome::NotAllowed, 0)),
        ("nobodys", vec!["nobodys"], (Outcome::NotFound, 0)),
    ] {
        let mut call = call(name, "{}");
        call.allowed_tools = Some(allowed.into_iter().map(str::to_owned).collect());
        assert_eq!(outcome(true, call).await, expected, "{name}");
    }
}

#[tokio::test]
async fn a14_a_tool_outside_the_set_answers_like_one_that_isnt_there_whatever_its_arguments() {
    let (engine, told, _) = engine(true, Box::new(answered), None);
    for arguments in ["{}", "{", r#"{"bad":1}"#] {
        let mut contents = Vec::new();
        for name in ["fake.tool", "fake_tool", "fake_loot"] {
            let mut call = call(name, arguments);
            call.allowed_tools = Some(vec!["other.tool".to_owned()]);
            let result = engine.call(call, CancellationToken::new()).await;
            assert_eq!(result.outcome, Outcome::NotAllowed, "{name} {arguments}");
            contents.push(result.content.replace(name, "it"));
        }
        contents.dedup();
        assert_eq!(contents.len(), 1, "{contents:?}");
    }
    assert_eq!(told.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn bad_arguments_never_reach_a_runner() {
    for bad in ["{", "null", "[]", "5", "\"{}\"", r#"{"a":1,"a":2}"#, r#"{"bad":1}"#] {
        let got = outcome(true, call("fake.tool", bad)).await;
        assert_eq!(got, (Outcome::InvalidArguments, 0), "{bad}");
    }
}

#[tokio::test]
async fn the_runner_sees_the_canonical_arguments() {
    let (engine, told, _) = engine(true, Box::new(answered), None);
    let raw = " { \"b\" : 5.0, \"a\" : \"\\u0041\" } ";
    engine.call(call("fake.tool", raw), CancellationToken::new()).await;
    assert_eq!(*told.seen.lock().unwrap(), [r#"{"a":"A","b":5}"#]);
}

#[tokio::test]
async fn a16_what_nobody_can_decide_is_declined() {
    for (read_only, level, expected) in [
        (true, PermissionLevel::ReadOnly, (Outcome::Success, 1)),
        (false, PermissionLevel::ReadOnly, (Outcome::ApprovalDeclined, 0)),
        (false, PermissionLevel::Smart, (Outcome::ApprovalDeclined, 0)),
        (false, PermissionLevel::Full, (Outcome::Success, 1)),
    ] {
        let mut call = call("fake.tool", "{}");
        call.permission_level = level;
        assert_eq!(outcome(read_only, call).await, expected, "{read_only} {level:?}");
    }
}

#[tokio::test]
async fn a17_a_panic_is_a_result() {
    let (engine, ..) = engine(true, Box::new(|_| panic!("secret /home/me")), None);
    let result = engine.call(call("fake.tool", "{}"), CancellationToken::new()).await;
    assert_eq!(result.outcome, Outcome::HostFault);
    assert!(result.content.starts_with("Tool execution failed: "), "{}", result.content);
    assert!(!result.content.contains("/home/me"), "{}", result.content);
    assert_eq!(result.attempts, 1);
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_it_began_does_not_run() {
    let (engine, told, _) = engine(true, Box::new(answered), None);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = engine.call(call("fake.tool", "{}"), cancel).await;
    assert_eq!((result.outcome, result.executed), (Outcome::Cancelled, Executed::No));
    assert_eq!(told.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn the_callers_timeout_only_tightens_the_deadline() {
    for (timeout, expected_s) in [(Some(1), 1), (Some(3600), 30), (None, 30)] {
        let start = tokio::time::Instant::now();
        let check = move |attempt: &Attempt| {
            let left = attempt.deadline.duration_since(start.into_std());
            assert_eq!(left, Duration::from_secs(expected_s));
            answered(attempt)
        };
        let (engine, ..) = engine(true, Box::new(check), None);
        let mut call = call("fake.tool", "{}");
        call.timeout = timeout.map(Duration::from_secs);
        let result = engine.call(call, CancellationToken::new()).await;
        assert_eq!(result.outcome, Outcome::Success, "{:?}", result.error_message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_due_at_the_nearer_of_its_own_deadline_and_its_attempts() {
    for (call_ms, attempt_ms, due_ms, due_by) in [
        (700, 30_000, 700, LimitKind::CallDeadline),
        (120_000, 300, 300, LimitKind::AttemptDeadline),
    ] {
        let start = tokio::time::Instant::now();
        let check = move |attempt: &Attempt| {
            let left = attempt.deadline.duration_since(start.into_std());
            assert_eq!(left, Duration::from_millis(due_ms));
            assert_eq!(attempt.deadline_kind, due_by);
            answered(attempt)
        };
        let (_, told, bus) = engine(true, Box::new(check), None);
        let mut tool = descriptor(true);
        tool.limits.set(LimitKind::CallDeadline, call_ms).unwrap();
        tool.limits.set(LimitKind::AttemptDeadline, attempt_ms).unwrap();
        let engine = engine_of(tool, &told, &bus);
        let result = engine.call(call("fake.tool", "{}"), CancellationToken::new()).await;
        assert_eq!(result.outcome, Outcome::Success, "{:?}", result.error_message);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_reported_as_interrupted() {
    let (engine, _told, bus) = engine(true, Box::new(answered), Some(Duration::from_secs(60)));
    let mut events = bus.watch();
    let call = engine.call(call("fake.tool", "{}"), CancellationToken::new());
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    let mut last = None;
    while let Some(Seen::Event(event)) = events.try_next() {
        last = Some(event);
    }
    match &last.unwrap().kind {
        EventKind::ToolCallInvoke(report) => {
            assert_eq!((report.outcome, report.attempts), (Outcome::Interrupted, 1));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn b16_every_call_ends_with_its_report() {
    let (engine, _told, bus) = engine(true, Box::new(answered), None);
    let mut events = bus.watch();
    engine.call(call("fake.tool", r#"{"x":1}"#), CancellationToken::new()).await;
    let mut kinds = Vec::new();
    while let Some(Seen::Event(event)) = events.try_next() {
        let json = serde_json::to_value(&*event).unwrap();
        kinds.push(json["type"].as_str().unwrap().to_owned());
        if json["type"] == "ToolCallInvoke" {
            assert_eq!(json["toolName"], "fake.tool");
            assert_eq!(json["arguments"], json!({"x": 1}));
            assert_eq!(json["attempts"], 1);
        }
    }
    assert_eq!(kinds, ["CallReceived", "Decision", "AttemptStarted", "ToolCallInvoke"]);
}
