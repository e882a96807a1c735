//! Every number that belljar promises, measured in one run: bare wasmtime, the whole way, its parts,
//! and peers, in lanes that take turns.
//!
//! Measures; asserts that answers are right and nothing about time. Names of parts have it measure
//! only those. Prints a table, then one line for each goal; writes the figures as JSON below
//! `target`, and with `BELLJAR_WRITE_DOCS` set, after a whole run, into `docs/benchmarks.md`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark that can't run says why by ending"
)]

#[path = "lanes/alone.rs"]
mod alone;
#[path = "lanes/bare.rs"]
mod bare;
#[path = "lanes/bench.rs"]
mod bench;
#[path = "lanes/calls.rs"]
mod calls;
#[path = "lanes/deadline.rs"]
mod deadline;
#[path = "lanes/engines.rs"]
mod engines;
#[path = "lanes/figures.rs"]
mod figures;
#[path = "lanes/foreign.rs"]
mod foreign;
#[path = "lanes/goals.rs"]
mod goals;
#[path = "lanes/growth.rs"]
mod growth;
#[path = "lanes/guests.rs"]
mod guests;
#[path = "lanes/hosts.rs"]
mod hosts;
#[path = "lanes/loading.rs"]
mod loading;
#[path = "lanes/machine.rs"]
mod machine;
#[path = "lanes/memory.rs"]
mod memory;
#[path = "lanes/parallel.rs"]
mod parallel;
#[path = "lanes/payload.rs"]
mod payload;
#[path = "lanes/peers.rs"]
mod peers;
#[path = "lanes/ready.rs"]
mod ready;
#[path = "lanes/report.rs"]
mod report;
#[path = "lanes/serving.rs"]
mod serving;
#[path = "lanes/starting.rs"]
mod starting;
#[path = "lanes/wasi.rs"]
mod wasi;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use self::bench::Bench;

/// As the program `belljar` has it, for every lane of this process.
#[cfg(feature = "cli")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A part by its name.
type Part = (&'static str, fn(&mut Bench));

/// What can be measured, in the order of a whole run.
const PARTS: [Part; 11] = [
    ("calls", calls::measure),
    ("payload", payload::measure),
    ("foreign", foreign::measure),
    ("ready", ready::measure),
    ("parallel", parallel::measure),
    ("deadline", deadline::measure),
    ("growth", growth::measure),
    ("loading", loading::measure),
    ("starting", starting::measure),
    ("serving", serving::measure),
    ("memory", memory::measure),
];

#[expect(clippy::print_stderr, reason = "so that whoever waits sees how far it is")]
fn main() -> ExitCode {
    // Cargo hands over a `--bench` of its own.
    let given: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    if let [option, name] = &given[..]
        && option == alone::OPTION
    {
        alone::answer(name);
        return ExitCode::SUCCESS;
    }
    let known = |name: &String| PARTS.iter().any(|(part, _)| part == name);
    if let Some(unknown) = given.iter().find(|name| !known(name)) {
        let parts = PARTS.map(|(part, _)| part).join(", ");
        eprintln!("there is no part `{unknown}`: expected some of {parts}");
        return ExitCode::from(2);
    }
    let wanted = |part: &str| given.is_empty() || given.iter().any(|name| name == part);
    let mut bench = Bench::new(given.is_empty());
    let mut is_right = true;
    for (name, measure) in PARTS.iter().filter(|(name, _)| wanted(name)) {
        eprintln!("{name}, after {:.0?} …", bench.began.elapsed());
        // The others are still worth their time; the run has failed all the same.
        if catch_unwind(AssertUnwindSafe(|| measure(&mut bench))).is_err() {
            bench.figures.fail(name);
            bench.figures.miss(format!("everything of `{name}`"), "it failed; see above");
            is_right = false;
        }
    }
    report::finish(&bench, is_right);
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
