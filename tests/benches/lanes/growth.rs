//! What a call costs with 10, 100, 1,000 and 10,000 tools loaded: the same tool every time, found
//! among so many.

use std::path::PathBuf;

use super::bench::{Bench, Lane, ROUNDS, p50, times, warm_rounds};
use super::figures::over;
use super::hosts::{Plan, nop};

const PART: &str = "growth";
const CALLS: usize = 1000;
const TOOLS: [usize; 4] = [10, 100, 1000, 10_000];
/// The guest's own.
const OWN: usize = 5;
/// One plugin may have 256.
const TOOLS_EACH: usize = 250;
/// Two of them name a plugin: names that differ by less may look alike.
const SYLLABLES: [&str; 8] = ["ba", "de", "fu", "ki", "mo", "na", "re", "tu"];

/// The goal's.
pub(crate) const RATIO: &str = "D with 10,000 tools / with 10: p50";

/// A component with so many functions, all the same.
fn many(count: usize) -> Vec<u8> {
    let mut text = String::from(
        "(component (core module $m (func (export \"f\") (result i32) i32.const 7))\n\
         (core instance $i (instantiate $m))\n",
    );
    for number in 0..count {
        text.push_str(&format!(
            "(func (export \"tool-number{number}\") (result u32) (canon lift (core func $i \"f\")))\n"
        ));
    }
    text.push(')');
    wat::parse_str(&text).expect("component text")
}

/// As many plugins as it takes for so many more tools.
fn fillers(bench: &Bench, tools: usize) -> Vec<(String, PathBuf)> {
    let mut plugins = Vec::new();
    let mut left = tools;
    while left > 0 {
        let count = left.min(TOOLS_EACH);
        let path = bench.folder(&format!("{count}-tools.wasm"));
        if !path.exists() {
            std::fs::write(&path, many(count)).expect("a file");
        }
        let number = plugins.len();
        let syllable = |at: usize| SYLLABLES[at % SYLLABLES.len()];
        plugins.push((format!("{}{}la", syllable(number), syllable(number / 8)), path));
        left -= count;
    }
    plugins
}

fn lane(tools: usize) -> String {
    format!("D with {tools} tools loaded")
}

/// Measures all of them.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = std::rc::Rc::clone(&bench.runtime);
    let runtime = runtime.as_ref();
    let apps = TOOLS.map(|tools| {
        let fillers = fillers(bench, tools - OWN);
        let fillers = fillers.iter().map(|(name, path)| (name.as_str(), path.clone()));
        let plan = Plan::of(fillers.chain([("bench", bench.rust_file())]));
        let app = plan.start(bench, &format!("growth-{tools}"));
        assert_eq!(app.host.tools().len(), tools);
        (tools, app)
    });
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for (tools, app) in &apps {
        let call = async |number: usize| nop(&app.host, number).await;
        lanes.push(Box::new(move |round| {
            round.times(&lane(*tools), &times(runtime, CALLS, call));
        }));
    }
    warm_rounds(PART, ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    let [few, .., many] = TOOLS.map(|tools| p50(&lane(tools)));
    bench.figures.combine(PART, RATIO, "", (&many, &few), over);
}
