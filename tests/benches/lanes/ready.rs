//! Ready instances: calls that arrive a millisecond apart, so that the next instance can be made
//! before its call is there. C′ and D without them arrive so too.
//!
//! One thread; between two calls it waits on tokio's interval of 1 ms, which fires at the next
//! millisecond of its timer, and whatever prepares instances has that time.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::{MissedTickBehavior, interval};

use super::bare::Bare;
use super::bench::{Bench, FEW_ROUNDS, Lane, p50, rounds};
use super::figures::{Times, over};
use super::foreign::TOOL;
use super::guests::{Foreign, JS, PYTHON};
use super::hosts::{Plan, call};

const PART: &str = "ready";
const CALLS: usize = 300;
const WARM: usize = 20;
const GAP: Duration = Duration::from_millis(1);
/// Instances that are made ahead in a host by default, of which each plugin has up to two.
const AHEAD: u32 = 8;

const BARE: &str = "C′, 1 ms apart";
const WHOLE: &str = "D, 1 ms apart";
const READY: &str = "D with ready instances, 1 ms apart";
/// D with ready instances beside C′.
pub(crate) const RATIO: &str = "D with ready instances / C′, 1 ms apart: p50";

/// The lane of another language.
pub(crate) fn ready(foreign: Foreign) -> String {
    format!("{}, {READY}", foreign.language)
}

/// Calls a gap apart. The first few are for filling what is made ahead.
fn apart(runtime: &Runtime, mut call: impl AsyncFnMut(usize) -> Duration) -> Times {
    runtime.block_on(async {
        let mut ticks = interval(GAP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut times = Vec::with_capacity(CALLS);
        for number in 0..WARM + CALLS {
            ticks.tick().await;
            let took = call(number).await;
            if number >= WARM {
                times.push(took);
            }
        }
        Times::new(times)
    })
}

/// Measures Rust, JavaScript and Python so.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = std::rc::Rc::clone(&bench.runtime);
    let runtime = runtime.as_ref();
    let bare = Bare::new(bench.engine(), bench.guests.rust(), "nop");
    let plugins =
        || [("bench", bench.rust_file()), (JS.plugin, JS.path()), (PYTHON.plugin, PYTHON.path())];
    let fresh = Plan::of(plugins()).start(bench, "apart");
    let ahead = Plan::of(plugins()).with_sandbox(&[("ready_instances", AHEAD)]);
    let ahead = ahead.map(|plan| plan.start(bench, "ready"));
    let tools = [None, Some(JS), Some(PYTHON)].map(|foreign| match foreign {
        None => (String::new(), "bench.nop".to_owned(), ""),
        Some(it) => (format!("{}, ", it.language), format!("{}.{TOOL}", it.plugin), "1"),
    });
    let mut lanes: Vec<Lane<'_>> = vec![Box::new(|round| {
        let call = async |_: usize| bare.call(&[], <[_]>::is_empty).await;
        round.times(BARE, &apart(runtime, call));
    })];
    let hosts = [(WHOLE, Some(&fresh)), (READY, ahead.as_ref().ok())];
    for (lane, app) in hosts {
        for (language, tool, answer) in &tools {
            let Some(app) = app else { continue };
            lanes.push(Box::new(move |round| {
                let call = async |number: usize| {
                    let is_right = |it: &belljar::contract::result::ToolResult| {
                        answer.is_empty() || it.content == *answer
                    };
                    call(&app.host, number, (tool, "{}"), is_right).await
                };
                round.times(&format!("{language}{lane}"), &apart(runtime, call));
            }));
        }
    }
    rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    let figures = &mut bench.figures;
    if let Err(why) = ahead {
        let lanes = [RATIO.to_owned(), p50(&ready(JS)), p50(&ready(PYTHON))];
        lanes.into_iter().for_each(|lane| figures.miss(lane, why.clone()));
    }
    figures.combine(PART, "D / C′, 1 ms apart: p50", "", (&p50(WHOLE), &p50(BARE)), over);
    figures.combine(PART, RATIO, "", (&p50(READY), &p50(BARE)), over);
}
