//! What one call costs: bare wasmtime (A, C′), the whole way (D), D with one part after another left
//! out, and peers (E, F). All of them take turns.

use std::cell::RefCell;

use super::bench::{Bench, Lane, ROUNDS, p50, p99, times, warm_rounds};
use super::engines::{self, ALL, On, Part};
use super::figures::{Figures, less, over};
use super::hosts::{Plan, nop};
use super::peers::{Extism, processes};

const PART: &str = "calls";
const CALLS: usize = 1000;
/// Calls of a lane that is far slower, and so needs fewer for its median.
const SLOW_CALLS: usize = 200;
/// What is shorter than reading the clock is timed so many at once.
const AT_ONCE: u32 = 100;

pub(crate) const TYPED: &str = "A, typed call on a prepared instance";
pub(crate) const BARE: &str = "C′, bare wasmtime, fresh store";
pub(crate) const WHOLE: &str = "D, the whole way";
pub(crate) const EXTISM_FRESH: &str = "E, extism, new plugin for each call";
pub(crate) const EXTISM_REUSED: &str = "E, extism, one plugin reused";
pub(crate) const PROCESS: &str = "F, a new process for each call";
const SANDBOX: &str = "the sandbox alone";
const ARGUMENTS: &str = "arguments alone: parse, check, hash";
const SETTLE: &str = "normalise alone";

/// D by the engine that the lanes below are made of: what they lack, they lack beside this one.
const JOINED: (&str, On) = ("D joined by hand", ALL);
/// The same with a part left out, and what the part is called among the costs.
const LESS: [(&str, &str, On); 4] = [
    ("D without audit log", "cost: audit log", On { audit: false, ..ALL }),
    ("D without gate", "cost: gate", On { gate: false, ..ALL }),
    ("D without check of arguments", "cost: check of arguments", On { check: false, ..ALL }),
    ("D without sandbox", "cost: sandbox with the call in it", On { sandbox: false, ..ALL }),
];
const WATCHED: (&str, On) = ("D with a watcher of events", On { watched: true, ..ALL });
const NOTHING: (&str, On) = (
    "D with none of these four",
    On { audit: false, gate: false, check: false, sandbox: false, watched: false },
);

/// D − C′, in which all that belljar adds is.
pub(crate) const ADDED: &str = "D − C′: p50";
/// How even D is.
pub(crate) const EVEN: &str = "D: p99 / p50";
pub(crate) const OVER_EXTISM: &str = "extism fresh / D: p50";
pub(crate) const OVER_PROCESS: &str = "fork+exec / D: p50";

/// Measures all of it.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = std::rc::Rc::clone(&bench.runtime);
    let runtime = runtime.as_ref();
    let bare = super::bare::Bare::new(bench.engine(), bench.guests.rust(), "nop");
    let app = Plan::rust(bench).start(bench, "calls");
    let parts: Vec<(&str, Part)> = LESS
        .iter()
        .map(|(name, _, on)| (*name, *on))
        .chain([JOINED, WATCHED, NOTHING])
        .map(|(name, on)| (name, Part::new(&app, &bench.folder(name), on)))
        .collect();
    let tool = engines::loaded(&app);
    let mut prepared = runtime.block_on(bare.prepared());
    let extism = RefCell::new(Extism::start());
    let mut lanes: Vec<Lane<'_>> = vec![
        Box::new(|round| {
            let count = CALLS / 10;
            let times = times(runtime, count, async |_: usize| prepared.call(AT_ONCE).await);
            round.times(TYPED, &times);
        }),
        Box::new(|round| {
            let call = async |_: usize| bare.call(&[], <[_]>::is_empty).await;
            round.times(BARE, &times(runtime, CALLS, call));
        }),
        Box::new(|round| {
            let call = async |number: usize| nop(&app.host, number).await;
            round.times(WHOLE, &times(runtime, CALLS, call));
        }),
        Box::new(|round| {
            let call = async |_: usize| engines::in_sandbox(&app, &tool).await;
            round.times(SANDBOX, &times(runtime, CALLS, call));
        }),
        Box::new(|round| {
            let read = async |_: usize| engines::read_arguments(&tool, "{}", AT_ONCE);
            round.times(ARGUMENTS, &times(runtime, CALLS / 10, read));
            let settle = async |_: usize| engines::settle_ends(&tool, AT_ONCE);
            round.times(SETTLE, &times(runtime, CALLS / 10, settle));
        }),
        Box::new(|round| {
            round.times(EXTISM_FRESH, &extism.borrow_mut().times("fresh", SLOW_CALLS));
        }),
        Box::new(|round| {
            round.times(EXTISM_REUSED, &extism.borrow_mut().times("reused", CALLS));
        }),
        Box::new(|round| round.times(PROCESS, &processes(SLOW_CALLS))),
    ];
    for (name, part) in &parts {
        lanes.push(Box::new(move |round| {
            let call = async |number: usize| part.call(number).await;
            round.times(name, &times(runtime, CALLS, call));
        }));
    }
    warm_rounds(PART, ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    derive(&mut bench.figures);
}

/// What is made of the lanes' figures.
fn derive(figures: &mut Figures) {
    let (whole, bare) = (p50(WHOLE), p50(BARE));
    figures.combine(PART, ADDED, "µs", (&whole, &bare), less);
    let joined = p50(JOINED.0);
    for (name, cost, _) in LESS {
        figures.combine(PART, cost, "µs", (&joined, &p50(name)), less);
    }
    let sandbox = "cost: sandbox over C′";
    figures.combine(PART, sandbox, "µs", (&p50(SANDBOX), &bare), less);
    figures.combine(PART, "cost: a watcher of events", "µs", (&p50(WATCHED.0), &joined), less);
    let started = "D − D joined by hand: p50";
    figures.combine(PART, started, "µs", (&whole, &joined), less);
    figures.combine(PART, "D / C′: p50", "", (&whole, &bare), over);
    figures.combine(PART, EVEN, "", (&p99(WHOLE), &whole), over);
    figures.combine(PART, "C′: p99 / p50", "", (&p99(BARE), &bare), over);
    figures.combine(PART, OVER_EXTISM, "", (&p50(EXTISM_FRESH), &whole), over);
    figures.combine(PART, "D / extism reused: p50", "", (&whole, &p50(EXTISM_REUSED)), over);
    figures.combine(PART, OVER_PROCESS, "", (&p50(PROCESS), &whole), over);
}
