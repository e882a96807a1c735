//! Instances made ahead: that calls get them, that nothing else changes by it, and their bounds.

use std::time::Duration;

use super::*;
use crate::contract::attempt::{Attempt, AttemptEnd, End};
use crate::contract::limits::LimitKind;
use crate::sandbox::codec::Words;
use crate::sandbox::store::nobodys;
use crate::sandbox::{Access, CompileIn, Entry, Sandbox, SandboxSettings, SandboxedTool};
use serde_json::json;

const COUNTER: &str = include_str!("../../../../tests/guests/wat/counter.wat");

/// What a start does, and a function that answers 7.
fn starting(imports: &str, arguments: &str, start: &str) -> String {
    format!(
        r#"(component
          {imports}
          (core module $m
            (import "host" "ask" (func $ask {arguments}))
            (memory (export "memory") 1)
            (func (export "seven") (result i32) (i32.const 7))
            (func $start {start})
            (start $start))
          (core instance $i (instantiate $m (with "host" (instance (export "ask" (func $ask))))))
          (func (export "seven") (result u32) (canon lift (core func $i "seven"))))"#
    )
}

/// A start that asks `interface` for what `function` gives, which takes nothing.
fn asking(interface: &str, function: &str, result: &str, core: &str) -> String {
    let imports = format!(
        r#"(import "{interface}" (instance $w (export "{function}" (func (result {result})))))
           (core func $ask (canon lower (func $w "{function}")))"#
    );
    starting(&imports, &format!("(result {core})"), "(drop (call $ask))")
}

/// A start that asks `interface` for a `resource` by `function`.
fn asking_for(interface: &str, function: &str, resource: &str) -> String {
    let home = match resource {
        "input-stream" => "wasi:io/streams@0.2.0",
        "network" => "wasi:sockets/network@0.2.0",
        _ => interface,
    };
    let ask = format!(r#"(export "{function}" (func (result (own $r))))"#);
    let declared = format!(r#"(export "{resource}" (type $r (sub resource)))"#);
    let imports = if home == interface {
        format!(r#"(import "{interface}" (instance $w {declared} {ask}))"#)
    } else {
        format!(
            r#"(import "{home}" (instance $h (export "{resource}" (type (sub resource)))))
               (alias export $h "{resource}" (type $t))
               (import "{interface}" (instance $w
                 (alias outer 1 $t (type $t))
                 (export "{resource}" (type $r (eq $t))) {ask}))"#
        )
    };
    let lowered = format!(r#"{imports} (core func $ask (canon lower (func $w "{function}")))"#);
    starting(&lowered, "(result i32)", "(drop (call $ask))")
}

fn attempt(limits: &[(LimitKind, u64)]) -> Attempt {
    let mut all = Limits::default();
    for (kind, value) in limits {
        all.set(*kind, *value).unwrap();
    }
    nobodys(Arc::new(all), Instant::now() + Duration::from_secs(30)).unwrap()
}

fn sandbox(ready_instances: u32) -> Sandbox {
    let settings = SandboxSettings { ready_instances, ..SandboxSettings::default() };
    Sandbox::with(CompileIn::ThisProcess, settings, None).unwrap()
}

/// The tools of one plugin.
fn tools(sandbox: &Sandbox, component: &str) -> Vec<SandboxedTool> {
    let compiled = Arc::new(sandbox.compile(&wat::parse_str(component).unwrap()).unwrap());
    let tool = |function| {
        let entry = Arc::new(Entry::plan(&function, &Words::default(), false).unwrap());
        SandboxedTool::new(Arc::clone(&compiled), &function, entry, Access::default())
    };
    compiled.functions().into_iter().map(tool).collect()
}

fn tool(sandbox: &Sandbox, component: &str) -> SandboxedTool {
    tools(sandbox, component).remove(0)
}

async fn call(sandbox: &Sandbox, tool: &SandboxedTool) -> AttemptEnd {
    sandbox.run(tool, attempt(&[])).await
}

fn answer(end: &AttemptEnd) -> serde_json::Value {
    match &end.end {
        End::Returned(returned) => returned.value.clone().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Waits until a plugin has its instances.
async fn filled(tool: &SandboxedTool) {
    for _ in 0..1_000_000 {
        if tool.compiled.shelf.len() == PLUGIN_READY {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("no instance was made ahead");
}

/// Calls so often that instances are made ahead, and waits for them.
async fn warmed(sandbox: &Sandbox, tool: &SandboxedTool) {
    for _ in 0..OFTEN_CALLS {
        call(sandbox, tool).await;
    }
    filled(tool).await;
}

/// Lets the keeper of a plugin come to rest.
async fn settled() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_plugin_that_is_called_often_has_instances_ready_and_each_call_a_fresh_one() {
    let sandbox = sandbox(8);
    let tool = tool(&sandbox, COUNTER);
    let fresh = call(&sandbox, &tool).await;
    warmed(&sandbox, &tool).await;
    for _ in 0..20 {
        let before = tool.compiled.shelf.len();
        let end = call(&sandbox, &tool).await;
        assert_eq!(answer(&end), json!(1), "nothing of an earlier call is left");
        assert_eq!(end.usage.fuel, fresh.usage.fuel, "its start is counted like any other");
        assert_eq!(end.usage.peak_memory_bytes, fresh.usage.peak_memory_bytes);
        assert!(before > 0 && tool.compiled.shelf.len() < before, "it was one made ahead");
        filled(&tool).await;
    }
}

#[tokio::test]
async fn a_start_that_asks_anything_of_the_host_is_never_made_ahead() {
    let asks = [
        asking("wasi:clocks/monotonic-clock@0.2.0", "now", "u64", "i64"),
        asking("wasi:random/random@0.2.0", "get-random-u64", "u64", "i64"),
        asking("belljar:tool/invocation@0.1.0", "attempt", "u32", "i32"),
        asking_for("wasi:sockets/instance-network@0.2.0", "instance-network", "network"),
        asking_for("wasi:http/types@0.2.0", "[constructor]fields", "fields"),
        asking_for("wasi:cli/stdin@0.2.0", "get-stdin", "input-stream"),
    ];
    for component in asks {
        let sandbox = sandbox(8);
        let tool = tool(&sandbox, &component);
        for _ in 0..2 * OFTEN_CALLS {
            assert_eq!(answer(&call(&sandbox, &tool).await), json!(7));
            settled().await;
        }
        assert_eq!(tool.compiled.shelf.len(), 0, "{component}");
        assert!(tool.compiled.shelf.unfit.load(Ordering::Acquire), "{component}");
    }
}

#[tokio::test]
async fn a_start_that_asks_nothing_is_made_ahead_though_it_imports() {
    let import = asking("wasi:random/random@0.2.0", "get-random-u64", "u64", "i64");
    let quiet = import.replace("(drop (call $ask))", "");
    let sandbox = sandbox(8);
    let tool = tool(&sandbox, &quiet);
    warmed(&sandbox, &tool).await;
    assert_eq!(answer(&call(&sandbox, &tool).await), json!(7));
}

#[tokio::test]
async fn a_call_under_other_limits_gets_none_that_was_made_under_these() {
    let sandbox = sandbox(8);
    let busy = r#"(component
      (core module $m
        (memory 32)
        (func (export "seven") (result i32) (i32.const 7))
        (func $start (local $left i32)
          (local.set $left (i32.const 1000))
          (loop $again
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $again (local.get $left))))
        (start $start))
      (core instance $i (instantiate $m))
      (func (export "seven") (result u32) (canon lift (core func $i "seven"))))"#;
    let tool = tool(&sandbox, busy);
    warmed(&sandbox, &tool).await;
    for (kind, value) in [(LimitKind::Memory, 1 << 20), (LimitKind::Fuel, 1000)] {
        let end = sandbox.run(&tool, attempt(&[(kind, value)])).await;
        let text = format!("{:?}", end.end);
        assert!(text.contains(&format!("Limit({kind:?}")), "{text}");
        assert_eq!(tool.compiled.shelf.len(), PLUGIN_READY);
    }
}

#[tokio::test]
async fn tools_of_one_plugin_under_limits_of_their_own_each_find_one() {
    let sandbox = sandbox(8);
    let tool = tool(&sandbox, COUNTER);
    warmed(&sandbox, &tool).await;
    let small = [(LimitKind::Memory, 64 << 20)];
    sandbox.run(&tool, attempt(&small)).await;
    settled().await;
    for limits in [&small[..], &[], &small, &[]] {
        assert!(tool.compiled.shelf.has(&attempt(limits).limits), "{limits:?}");
        sandbox.run(&tool, attempt(limits)).await;
        settled().await;
    }
}

#[tokio::test]
async fn a_start_that_is_refused_memory_is_never_made_ahead() {
    let sandbox = sandbox(8);
    let greedy = r#"(component
      (core module $m
        (memory 1)
        (global $grew (mut i32) (i32.const 0))
        (func (export "grew") (result i32) (i32.ne (global.get $grew) (i32.const -1)))
        (func $start (global.set $grew (memory.grow (i32.const 5000))))
        (start $start))
      (core instance $i (instantiate $m))
      (func (export "grew") (result u32) (canon lift (core func $i "grew"))))"#;
    let tool = tool(&sandbox, greedy);
    for _ in 0..2 * OFTEN_CALLS {
        assert_eq!(answer(&call(&sandbox, &tool).await), json!(0));
        settled().await;
    }
    assert!(tool.compiled.shelf.is_unfit());
    let large = attempt(&[(LimitKind::Memory, 1 << 30)]);
    assert_eq!(answer(&sandbox.run(&tool, large).await), json!(1));
}

#[tokio::test]
async fn where_permits_are_scarce_no_ended_call_keeps_one() {
    let settings = SandboxSettings { plugin_calls: 2, ..SandboxSettings::default() };
    let sandbox = Sandbox::with(CompileIn::ThisProcess, settings, None).unwrap();
    let tool = tool(&sandbox, COUNTER);
    for _ in 0..2 * OFTEN_CALLS {
        call(&sandbox, &tool).await;
        assert_eq!(sandbox.calls_in_use(), 0, "without giving way once");
    }
}

#[tokio::test]
async fn where_none_are_wanted_none_are_made() {
    let sandbox = sandbox(0);
    let tool = tool(&sandbox, COUNTER);
    for _ in 0..2 * OFTEN_CALLS {
        call(&sandbox, &tool).await;
        settled().await;
    }
    assert_eq!(tool.compiled.shelf.len(), 0);
}

#[tokio::test]
async fn all_plugins_together_have_no_more_than_the_host_may() {
    let sandbox = sandbox(3);
    let tools: Vec<_> = (0..4).map(|_| tool(&sandbox, COUNTER)).collect();
    for _ in 0..OFTEN_CALLS {
        for tool in &tools {
            call(&sandbox, tool).await;
            settled().await;
        }
    }
    let ready: usize = tools.iter().map(|tool| tool.compiled.shelf.len()).sum();
    assert_eq!(ready, 3);
    assert_eq!((sandbox.instances_ready(), sandbox.instances_in_use()), (3, Some(0)));
}

#[tokio::test]
async fn what_is_ready_holds_no_more_memory_than_it_may() {
    let sandbox = sandbox(64);
    let large = COUNTER.replace("(memory 1)", "(memory 3000)");
    let tools: Vec<_> = (0..4).map(|_| tool(&sandbox, &large)).collect();
    for tool in &tools {
        for _ in 0..OFTEN_CALLS {
            call(&sandbox, tool).await;
            settled().await;
        }
    }
    let ready: usize = tools.iter().map(|tool| tool.compiled.shelf.len()).sum();
    // 3,000 pages are 187.5 MiB, of which two fit into 512 MiB.
    assert_eq!(ready, 2);
    assert_eq!(sandbox.ready().0.bytes.load(Ordering::Acquire), 2 * 3000 * 65_536);
}

#[tokio::test]
async fn under_pressure_nothing_is_made_ahead() {
    let most = SandboxSettings { calls: 2048, plugin_calls: 2048, ..SandboxSettings::default() };
    let sandbox = Sandbox::with(CompileIn::ThisProcess, most, None).unwrap();
    let (tool, other) = (tool(&sandbox, COUNTER), tool(&sandbox, COUNTER));
    let mut held = Vec::new();
    for _ in 0..sandbox.ready().0.processors {
        held.push(sandbox.permits().acquire(&other.compiled.permits).await.unwrap());
    }
    for _ in 0..2 * OFTEN_CALLS {
        call(&sandbox, &tool).await;
        settled().await;
    }
    assert_eq!(tool.compiled.shelf.len(), 0);
    drop(held);
    warmed(&sandbox, &tool).await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_calls_any_more_is_let_go() {
    let sandbox = sandbox(8);
    let tool = tool(&sandbox, COUNTER);
    warmed(&sandbox, &tool).await;
    tokio::time::sleep(IDLE + Duration::from_secs(1)).await;
    assert_eq!(tool.compiled.shelf.len(), 0);
    assert_eq!((sandbox.instances_ready(), sandbox.instances_in_use()), (0, Some(0)));
    warmed(&sandbox, &tool).await;
}

#[tokio::test]
async fn a_plugin_that_goes_takes_its_instances_along() {
    let sandbox = sandbox(8);
    let tool = tool(&sandbox, COUNTER);
    warmed(&sandbox, &tool).await;
    drop(tool);
    settled().await;
    assert_eq!(sandbox.instances_in_use(), Some(0));
    assert_eq!(sandbox.instances_ready(), 0);
}

/// A tool that ends at once, and one that never does.
const SPINS: &str = r#"(component
  (core module $m
    (func (export "quick") (result i32) (i32.const 7))
    (func (export "spin") (result i32) (loop $on (br $on)) (i32.const 7)))
  (core instance $i (instantiate $m))
  (func (export "quick") (result u32) (canon lift (core func $i "quick")))
  (func (export "spin") (result u32) (canon lift (core func $i "spin"))))"#;

/// A call that is due in so many milliseconds.
fn due(ms: u64) -> Attempt {
    Attempt { deadline: Instant::now() + Duration::from_millis(ms), ..attempt(&[]) }
}

/// The tool that never ends, with instances of its plugin ready.
async fn spinning(sandbox: &Sandbox) -> SandboxedTool {
    let mut both = tools(sandbox, SPINS);
    warmed(sandbox, &both[0]).await;
    both.remove(1)
}

#[tokio::test]
async fn a_claimed_instance_ends_at_its_own_calls_deadline() {
    let sandbox = sandbox(8);
    let tool = spinning(&sandbox).await;
    let text = format!("{:?}", sandbox.run(&tool, due(20)).await.end);
    assert!(tool.compiled.shelf.len() < PLUGIN_READY, "it had one that was made ahead");
    assert!(text.contains("Limit(AttemptDeadline"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claimed_instance_ends_with_its_cancelled_or_dropped_call() {
    let sandbox = sandbox(8);
    let tool = spinning(&sandbox).await;
    let cancelled = due(20_000);
    let (cancel, began) = (cancelled.cancel.clone(), Instant::now());
    let (runs, called) = (sandbox.clone(), tool.clone());
    let running = tokio::spawn(async move { runs.run(&called, cancelled).await });
    while sandbox.calls_in_use() == 0 {
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    let end = running.await.unwrap();
    assert!(matches!(end.end, End::Interrupted | End::Refused(_)), "{:?}", end.end);
    assert_eq!(tool.compiled.shelf.len(), 1);
    let dropped = tokio::time::timeout(Duration::from_millis(20), sandbox.run(&tool, due(20_000)));
    assert!(dropped.await.is_err());
    assert_eq!(tool.compiled.shelf.len(), 0, "each had one that was made ahead");
    while sandbox.instances_in_use() != Some(0) || sandbox.calls_in_use() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(began.elapsed() < Duration::from_secs(15), "neither ran to its deadline");
}
