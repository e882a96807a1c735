//! How late a guest's end is after its deadline, while every core has another guest that spins.

use std::time::{Duration, Instant};

use belljar::Host;
use belljar::contract::outcome::Outcome;
use tokio_util::sync::CancellationToken;

use super::bench::{Bench, FEW_ROUNDS, Lane, cores, rounds, two_workers};
use super::figures::Times;
use super::hosts::{Plan, invocation};

const PART: &str = "deadline";
const CALLS: usize = 100;
const DEADLINE: Duration = Duration::from_millis(20);
/// Longer than a round takes, and no longer than a call may have.
const LONG: Duration = Duration::from_secs(25);

/// The goal's.
pub(crate) const OVERSHOOT: &str = "end after a deadline of 20 ms, every core spinning: p99";

/// A guest that spins until its deadline, or until it is cancelled.
async fn spin(
    host: Host,
    number: usize,
    deadline: Duration,
    cancel: CancellationToken,
) -> Duration {
    let mut call = invocation(number, "bench.spin", "{}");
    call.timeout = Some(deadline);
    let began = Instant::now();
    let result = host.call_with(call, cancel.clone()).await;
    let took = began.elapsed();
    let expected = if cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::TimedOut };
    assert_eq!(result.outcome, expected, "{result:?}");
    took.saturating_sub(deadline)
}

async fn overshoots(host: &Host) -> Times {
    let enough = CancellationToken::new();
    let spinning: Vec<_> = (0..cores())
        .map(|number| tokio::spawn(spin(host.clone(), CALLS + number, LONG, enough.clone())))
        .collect();
    let mut late = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let token = CancellationToken::new();
        let call = tokio::spawn(spin(host.clone(), number, DEADLINE, token));
        late.push(call.await.expect("its end"));
    }
    assert!(spinning.iter().all(|guest| !guest.is_finished()), "every core was busy");
    enough.cancel();
    for guest in spinning {
        guest.await.expect("its end");
    }
    Times::new(late)
}

/// Measures it.
pub(crate) fn measure(bench: &mut Bench) {
    let runtime = &two_workers();
    let mut plan = Plan::rust(bench);
    // It would refuse the eleventh call that ends so, which is what most of them are for.
    plan.config.engine.breaker_after = 0;
    let host = &plan.start(bench, "deadline").host;
    let mut lanes: Vec<Lane<'_>> = vec![Box::new(|round| {
        let late = runtime.block_on(overshoots(host));
        for (tail, per_mille) in [("p50", 500), ("p99", 990), ("max", 1000)] {
            let name = OVERSHOOT.replace("p99", tail);
            round.add(name, "ms", late.us(per_mille) / 1000.0);
        }
    })];
    rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
}
