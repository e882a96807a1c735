//! What a call costs: the whole way of a call beside bare wasmtime, interleaved in one run.
//!
//! Both lanes run `codec.hash` (crc32 of three bytes) of the same embedded component under the same
//! engine settings, in a fresh store each time, with fuel and epochs on. The bare lane holds nothing
//! else: no lookup, no JSON, no gate, no permit, no deadline, no events. Prints a table, then the
//! figures as one line of JSON. Measures only; asserts nothing about time.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that can't run says why by ending"
)]

#[path = "bare.rs"]
mod bare;

use std::time::{Duration, Instant};

use belljar::Host;
use belljar::app::{Setup, start};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;

use self::bare::{BareLane, EXPECTED};

const ROUNDS: usize = 60;
const CALLS_A_ROUND: usize = 200;
const WARM_UP_CALLS: usize = 2000;
const ARGUMENTS: &str = r#"{"algorithm":"crc32","text":"abc"}"#;

async fn whole_call(host: &Host, number: usize) {
    let id = format!("bench-{number}").parse().expect("a call id");
    let mut call = ToolInvocation::new(id, "codec.hash", ARGUMENTS);
    call.permission_level = PermissionLevel::Full;
    let result = host.call(call).await;
    assert_eq!(result.outcome, Outcome::Success, "{result:?}");
    assert!(result.content.contains(EXPECTED), "{}", result.content);
}

/// In microseconds; `per_mille` as in 999 for p99.9.
fn percentile(sorted: &[Duration], per_mille: usize) -> f64 {
    sorted[(sorted.len() - 1) * per_mille / 1000].as_secs_f64() * 1e6
}

#[expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
fn report(bare: &mut [Duration], whole: &mut [Duration], cold: Duration, warm: Duration) {
    bare.sort_unstable();
    whole.sort_unstable();
    println!("calls a lane: {}", bare.len());
    println!("| percentile | bare wasmtime, µs | the whole way, µs | ratio |");
    println!("|---|---|---|---|");
    let mut figures = serde_json::Map::new();
    for (name, per_mille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)] {
        let (bare, whole) = (percentile(bare, per_mille), percentile(whole, per_mille));
        println!("| {name} | {bare:.1} | {whole:.1} | {:.2} |", whole / bare);
        let rounded = |us: f64| (us * 10.0).round() / 10.0;
        let figure = serde_json::json!({"bareUs": rounded(bare), "wholeUs": rounded(whole)});
        figures.insert(name.to_owned(), figure);
    }
    println!("start with three builtins: compiled {cold:.1?}, from kept code {warm:.1?}");
    println!("{}", serde_json::Value::Object(figures));
}

fn starts(folder: &std::path::Path) -> (Duration, Duration) {
    let setup =
        Setup { builtins: true, code_folder: Some(folder.join("code")), ..Setup::default() };
    let once = || {
        let began = Instant::now();
        start(&setup).expect("a host");
        began.elapsed()
    };
    (once(), once())
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let (cold, warm) = starts(folder.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let app = start(&Setup { builtins: true, ..Setup::default() }).expect("a host");
    let codec = belljar_builtin::all().iter().find(|builtin| builtin.name == "codec");
    let bare_lane = BareLane::new(codec.expect("codec is embedded").wasm);
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        for number in 0..WARM_UP_CALLS {
            bare_lane.call().await;
            whole_call(&app.host, number).await;
        }
        for _ in 0..ROUNDS {
            for _ in 0..CALLS_A_ROUND {
                let began = Instant::now();
                bare_lane.call().await;
                bare.push(began.elapsed());
            }
            for number in 0..CALLS_A_ROUND {
                let began = Instant::now();
                whole_call(&app.host, number).await;
                whole.push(began.elapsed());
            }
        }
    });
    report(&mut bare, &mut whole, cold, warm);
}
