//! The whole way of a call, some hundred times over, for a counter of instructions to watch.
//!
//! `tests/benches/instructions/run` has it counted and compares. Measures nothing itself; what comes
//! before [`counted_calls`] isn't counted.

#![expect(clippy::expect_used, reason = "a benchmark that can't run says why by ending")]

use belljar::Host;
use belljar::app::{PluginSource, Setup, start};
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::outcome::Outcome;
use tokio::runtime::Runtime;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Enough for the allocator and the tables of every part to have settled.
const WARM_UP_CALLS: usize = 500;
const CALLS: usize = 1000;

fn calls(count: usize) -> Vec<ToolInvocation> {
    let call = |number: usize| {
        let id = format!("counted-{number:04}").parse().expect("a call id");
        let mut call = ToolInvocation::new(id, "nop.nop", "{}");
        call.permission_level = PermissionLevel::ReadOnly;
        call
    };
    (0..count).map(call).collect()
}

async fn run(host: &Host, calls: Vec<ToolInvocation>) {
    for call in calls {
        let result = host.call(call).await;
        assert_eq!(result.outcome, Outcome::Success, "{result:?}");
    }
}

/// The counter goes by this name.
#[inline(never)]
fn counted_calls(runtime: &Runtime, host: &Host, calls: Vec<ToolInvocation>) {
    runtime.block_on(run(host, calls));
}

#[expect(clippy::print_stdout, reason = "the script divides by it")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nop.wasm");
    let nop = wat::parse_str(include_str!("instructions/nop.wat")).expect("component text");
    std::fs::write(&path, nop).expect("a file");
    let mut setup = Setup { plugins: vec![PluginSource { name: None, path }], ..Setup::default() };
    setup.config.sandbox.ready_instances = 0;
    setup.config.state = Some(folder.path().join("state"));
    let host = start(&setup).expect("a host").host;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(run(&host, calls(WARM_UP_CALLS)));
    counted_calls(&runtime, &host, calls(CALLS));
    println!("calls: {CALLS}");
}
