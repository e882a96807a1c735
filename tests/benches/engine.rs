//! What the engine adds to a call: batches beside bare wasmtime, gate, events and audit log beside a
//! runner that answers at once, cancelling with busy cores, and a long queue of approvals.
//!
//! Measures only; asserts nothing about time. Prints a table, then the figures as one line of JSON.
//! Names of parts (`steps`, `batches`, `cancelling`, `queue`) have it measure only those.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that can't run says why by ending"
)]

#[path = "bare.rs"]
mod bare;
#[path = "engine/queue.rs"]
mod queue;
#[path = "engine/steps.rs"]
mod steps;

use std::sync::Arc;
use std::time::{Duration, Instant};

use belljar::Host;
use belljar::app::{Setup, start};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::bare::BareLane;

const CALLS: usize = 1000;
const ROUNDS: usize = 20;
/// `engine.concurrency`'s default.
const CONCURRENCY: usize = 8;
const ARGUMENTS: &str = r#"{"algorithm":"crc32","text":"abc"}"#;

fn calls(count: usize) -> Vec<ToolInvocation> {
    let call = |number: usize| {
        let id = format!("bench-{number}").parse().expect("a call id");
        let mut call = ToolInvocation::new(id, "codec.hash", ARGUMENTS);
        call.permission_level = PermissionLevel::ReadOnly;
        call
    };
    (0..count).map(call).collect()
}

async fn batch(host: &Host) -> Duration {
    let calls = calls(CALLS);
    let began = Instant::now();
    let results = host.batch(calls).await;
    let took = began.elapsed();
    assert!(results.iter().all(|result| result.outcome == Outcome::Success), "{results:?}");
    took
}

/// Bare calls, at most `at_once` of them at a time, each a task of its own.
async fn bare_batch(lane: &BareLane, count: usize, at_once: usize) -> Duration {
    let places = Arc::new(Semaphore::new(at_once));
    let began = Instant::now();
    let mut running = Vec::with_capacity(count);
    for _ in 0..count {
        let place = Arc::clone(&places).acquire_owned().await.expect("it is never closed");
        let lane = lane.clone();
        running.push(tokio::spawn(async move {
            lane.call().await;
            drop(place);
        }));
    }
    for call in running {
        call.await.expect("a call");
    }
    began.elapsed()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

fn per_second(took: Duration) -> f64 {
    (CALLS as f64 / took.as_secs_f64()).round()
}

/// A batch beside bare wasmtime with as many calls at once, round by round in turn.
async fn batches(folder: &std::path::Path, figures: &mut Map<String, Value>) {
    let mut setup = Setup { builtins: true, ..Setup::default() };
    setup.config.state = Some(folder.join("batches"));
    let host = start(&setup).expect("a host").host;
    let codec = belljar_builtin::all().iter().find(|builtin| builtin.name == "codec");
    let lane = BareLane::new(codec.expect("codec is embedded").wasm);
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(bare_batch(&lane, CALLS, CONCURRENCY).await);
        whole.push(batch(&host).await);
    }
    let (bare, whole) = (per_second(median(bare)), per_second(median(whole)));
    figures.insert("batchCallsPerSecond".into(), json!({"bare": bare, "batch": whole}));
    figures.insert("batchRatio".into(), json!((whole / bare * 100.0).round() / 100.0));
}

/// From a cancel to the result, while as many other guests as there are cores spin.
async fn cancelling(folder: &std::path::Path, figures: &mut Map<String, Value>) {
    let spin =
        wat::parse_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/guests/wat/loops.wat"))
            .expect("component text");
    let path = folder.join("loops.wasm");
    std::fs::write(&path, spin).expect("a file");
    let host = Host::builder().without_builtins().plugin(&path).start().expect("a host");
    let spinning = |id: String| {
        let mut call = ToolInvocation::new(id.parse().expect("a call id"), "loops.spin", "{}");
        call.permission_level = PermissionLevel::Full;
        let (host, cancel) = (host.clone(), CancellationToken::new());
        let token = cancel.clone();
        (tokio::spawn(async move { host.call_with(call, token).await }), cancel)
    };
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let busy: Vec<_> = (0..cores).map(|n| spinning(format!("busy-{n}"))).collect();
    let mut took = Vec::new();
    for number in 0..200 {
        let (running, cancel) = spinning(format!("cancelled-{number}"));
        tokio::time::sleep(Duration::from_millis(5)).await;
        let began = Instant::now();
        cancel.cancel();
        let result = running.await.expect("a result");
        took.push(began.elapsed());
        assert!(matches!(result.outcome, Outcome::Interrupted | Outcome::Cancelled), "{result:?}");
    }
    for (running, cancel) in busy {
        cancel.cancel();
        running.await.expect("a result");
    }
    took.sort_unstable();
    let ms = |per_mille: usize| {
        let at = (took.len() - 1) * per_mille / 1000;
        (took[at].as_secs_f64() * 1e5).round() / 100.0
    };
    figures.insert("cancelMs".into(), json!({"p50": ms(500), "p99": ms(990)}));
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let mut figures = Map::new();
    // Cargo hands over a `--bench` of its own.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|arg| arg == part);
    runtime.expect("a runtime").block_on(async {
        if wanted("steps") {
            steps::measure(folder.path(), &mut figures).await;
        }
        if wanted("batches") {
            batches(folder.path(), &mut figures).await;
        }
        if wanted("cancelling") {
            cancelling(folder.path(), &mut figures).await;
        }
        if wanted("queue") {
            queue::measure(folder.path(), &mut figures).await;
        }
    });
    println!("| figure | value |");
    println!("|---|---|");
    for (name, value) in &figures {
        println!("| {name} | {value} |");
    }
    println!("{}", Value::Object(figures));
}
