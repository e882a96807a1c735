//! Guests that hold a thread where nothing can stop them: one long instruction, a long name. The
//! answer is on time, and what it costs is bounded.

use std::time::{Duration, Instant};

use belljar::app::{App, Setup};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::limits::{LimitKind, Limits};
use belljar::contract::outcome::Outcome;
use belljar::events::{EventKind, Seen};

use super::harness;
use crate::guests::built;

/// Fills fresh memory of 2 GiB in one instruction, which takes seconds.
const FILL: &str = r#"(component
  (core module $m
    (memory 32768)
    (func (export "fill")
      (memory.fill (i32.const 0) (i32.const 1) (i32.const 0x7fffffff))))
  (core instance $i (instantiate $m))
  (func (export "fill") (canon lift (core func $i "fill"))))"#;

fn invocation(tool: &str) -> ToolInvocation {
    let mut call = ToolInvocation::new("c".parse().unwrap(), tool, "{}");
    call.permission_level = PermissionLevel::Full;
    call
}

/// A busy machine may begin the guest when its time is over; an answer that waits does so each time.
const TRIES: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_does_not_wait_for_one_long_instruction() {
    let wasm = wat::parse_str(FILL).unwrap();
    let folder = harness::folder_with(&[("long", &wasm)]);
    let mut limits = Limits::default();
    limits.set(LimitKind::Memory, 3 << 30).unwrap();
    let app = harness::start(&Setup { limits, ..harness::plugins(&folder) });
    let mut seen = Vec::new();
    while seen.len() < TRIES {
        let (answered, ended) = fill(&app).await;
        // The permit is kept as long as the instruction lasts, the answer isn't.
        if answered < ended / 2 || ended < Duration::from_millis(400) {
            return;
        }
        seen.push((answered, ended));
    }
    panic!("each answer waited: {seen:?}");
}

/// When its answer came and when it was gone, from its beginning.
async fn fill(app: &App) -> (Duration, Duration) {
    let mut call = invocation("long.fill");
    call.timeout = Some(Duration::from_millis(50));
    // Where the guest is polled, as any frontend has it: in a task.
    let host = app.host.clone();
    let began = Instant::now();
    let result = tokio::spawn(async move { host.call(call).await }).await.unwrap();
    let answered = began.elapsed();
    assert_eq!(result.outcome, Outcome::TimedOut, "{result:?}");
    while app.sandbox.calls_in_use() > 0 {
        assert!(began.elapsed() < Duration::from_secs(120), "the guest never ends");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (answered, began.elapsed())
}

#[tokio::test]
async fn fuel_is_told_where_it_is_known_and_not_where_it_would_be_a_guess() {
    let folder = harness::folder_with(&[("loops", &built::wat("loops"))]);
    let app = harness::start(&harness::plugins(&folder));
    let mut call = invocation("loops.spin");
    call.timeout = Some(Duration::from_millis(50));
    let late = app.host.call(call).await;
    assert_eq!((late.outcome, late.usage.unwrap().fuel), (Outcome::TimedOut, None));
    let mut limits = Limits::default();
    limits.set(LimitKind::Fuel, 1_000_000).unwrap();
    let app = harness::start(&Setup { limits, ..harness::plugins(&folder) });
    let spent = app.host.call(invocation("loops.spin")).await;
    assert_eq!(spent.outcome, Outcome::OutOfFuel);
    assert_eq!(spent.usage.unwrap().fuel, Some(1_000_000));
}

#[tokio::test]
async fn a_backtrace_of_megabytes_of_names_is_never_made() {
    // The longest name that is compiled, in each frame of what calls itself.
    let name = "n".repeat(100_000);
    let text = format!(
        r#"(component
          (core module $m
            (func ${name} (param $deep i32)
              (if (i32.eqz (local.get $deep)) (then (unreachable)))
              (call ${name} (i32.sub (local.get $deep) (i32.const 1))))
            (func (export "f") (call ${name} (i32.const 100))))
          (core instance $i (instantiate $m))
          (func (export "f") (canon lift (core func $i "f"))))"#
    );
    let folder = harness::folder_with(&[("named", &wat::parse_str(&text).unwrap())]);
    let app = harness::start(&harness::plugins(&folder));
    let mut events = app.host.events();
    let result = app.host.call(invocation("named.f")).await;
    assert_eq!(result.outcome, Outcome::Crashed);
    assert!(result.content.len() < 1000, "{}", result.content.len());
    let mut notes = Vec::new();
    while let Some(Seen::Event(event)) = events.try_next() {
        if let EventKind::AuthorNote { text } = &event.kind {
            notes.push(text.clone());
        }
    }
    assert_eq!(notes.len(), 1);
    // Some hundred bytes of each of some twenty frames.
    assert!(notes[0].contains("nnn") && notes[0].len() < 10_000, "{}", notes[0].len());
}
