//! JavaScript and Python components, each call in a fresh instance: bare and the whole way (H).

use super::bare::Bare;
use super::bench::{Bench, FEW_ROUNDS, Lane, p50, times, warm_rounds};
use super::figures::{less, over};
use super::guests::{Foreign, JS, PYTHON};
use super::hosts::{Plan, call};

const PART: &str = "foreign";
const CALLS: usize = 200;
/// Counts its own calls: any answer but 1 would be another call's instance.
pub(crate) const TOOL: &str = "next-number";

/// The lane of the whole way.
pub(crate) fn whole(foreign: Foreign) -> String {
    format!("H, {}, D", foreign.language)
}

/// Measures both.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = std::rc::Rc::clone(&bench.runtime);
    let runtime = runtime.as_ref();
    let both = [JS, PYTHON].map(|foreign| {
        (
            foreign,
            Bare::new(bench.heavy_engine(), &foreign.wasm(), TOOL),
            format!("{}.{TOOL}", foreign.plugin),
        )
    });
    let plugins = [JS, PYTHON].map(|foreign| (foreign.plugin, foreign.path()));
    let host = &Plan::of(plugins).start(bench, "foreign").host;
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for (foreign, bare, tool) in &both {
        let bare_call =
            async |_: usize| bare.call(&[], |results| format!("{results:?}") == "[U32(1)]").await;
        let whole_call = async |number: usize| {
            call(host, number, (tool, "{}"), |result| result.content == "1").await
        };
        lanes.push(Box::new(move |round| {
            let name = format!("H, {}, C′", foreign.language);
            round.times(&name, &times(runtime, CALLS, bare_call));
        }));
        lanes.push(Box::new(move |round| {
            round.times(&whole(*foreign), &times(runtime, CALLS, whole_call));
        }));
    }
    warm_rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    for foreign in [JS, PYTHON] {
        let language = foreign.language;
        let pair = (&*p50(&whole(foreign)), &*p50(&format!("H, {language}, C′")));
        let figures = &mut bench.figures;
        figures.combine(PART, format!("{language}, D − C′: p50"), "µs", pair, less);
        figures.combine(PART, format!("{language}, D / C′: p50"), "", pair, over);
    }
}
