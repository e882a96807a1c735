//! Calls a second with 1, 2, 8 and 64 of them in flight on two worker threads: bare and the whole
//! way. Each in flight is a task that makes its next call when it has the answer of the last.

use std::time::Instant;

use tokio::runtime::Runtime;

use super::bare::Bare;
use super::bench::{Bench, FEW_ROUNDS, Lane, two_workers, warm_rounds};
use super::figures::over;
use super::hosts::{Plan, nop};

const PART: &str = "parallel";
const IN_FLIGHT: [usize; 4] = [1, 2, 8, 64];
/// Calls of a lane in a round, over all its tasks.
const CALLS: usize = 6400;
/// The sandbox's places, so that none of 64 calls waits for one.
const PLACES: [(&str, u32); 3] =
    [("concurrency", 64), ("plugin_concurrency", 64), ("ready_instances", 0)];

/// D beside C′ with so many in flight.
pub(crate) fn ratio(in_flight: usize) -> String {
    format!("D / C′, {in_flight} in flight: calls/s")
}

/// Calls a second, of so many tasks that each make the number of calls they are given.
fn rate<F>(runtime: &Runtime, in_flight: usize, calls: impl Fn(usize) -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let each = CALLS / in_flight;
    let began = Instant::now();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..in_flight).map(|_| tokio::spawn(calls(each))).collect();
        for task in tasks {
            task.await.expect("its calls");
        }
    });
    (each * in_flight) as f64 / began.elapsed().as_secs_f64()
}

/// Measures all of them.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = &two_workers();
    let bare = &Bare::new(bench.engine(), bench.guests.rust(), "nop");
    let plan = Plan::rust(bench).with_sandbox(&PLACES);
    let plan = plan.unwrap_or_else(|why| {
        // It is measured all the same: the calls that have no place wait for one.
        let name = "D, 64 in flight with a place for each";
        bench.figures.miss(name, format!("16 have one and the others wait; {why}"));
        Plan::rust(bench)
    });
    let host = &plan.start(bench, "parallel").host;
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for in_flight in IN_FLIGHT {
        lanes.push(Box::new(move |round| {
            let calls = |count| {
                let bare = bare.clone();
                async move {
                    for _ in 0..count {
                        bare.call(&[], <[_]>::is_empty).await;
                    }
                }
            };
            let name = format!("C′, {in_flight} in flight");
            round.add(name, "calls/s", rate(runtime, in_flight, calls));
        }));
        lanes.push(Box::new(move |round| {
            let calls = |count| {
                let host = host.clone();
                async move {
                    for number in 0..count {
                        nop(&host, number).await;
                    }
                }
            };
            let name = format!("D, {in_flight} in flight");
            round.add(name, "calls/s", rate(runtime, in_flight, calls));
        }));
    }
    warm_rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
    drop(lanes);
    for in_flight in IN_FLIGHT {
        let [whole, bare] = ["D", "C′"].map(|lane| format!("{lane}, {in_flight} in flight"));
        bench.figures.combine(PART, ratio(in_flight), "", (&whole, &bare), over);
    }
}
