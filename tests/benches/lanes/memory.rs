//! Memory of calls: what each of a thousand sleeping ones takes, and whether a million calls leave
//! anything behind. Each in a process of its own.

use std::time::Duration;

use tokio::runtime::Builder;

use super::alone::{ask, resident_bytes};
use super::bench::{Bench, FEW_ROUNDS, Lane, rounds, two_workers};
use super::figures::over;
use super::hosts::{Plan, call, nop, sandbox_config};

const PART: &str = "memory";
/// The two lanes, as the processes are asked for them.
pub(crate) const SLEEPING: &str = "sleeping";
pub(crate) const GROWING: &str = "growing";

/// Calls that sleep at once.
const ASLEEP: u32 = 1000;
const PLACES: [(&str, u32); 3] =
    [("concurrency", ASLEEP), ("plugin_concurrency", ASLEEP), ("ready_instances", 0)];
/// Calls before memory is looked at first, and at last.
const EARLY: usize = 10_000;
const LATE: usize = 1_000_000;

/// The goals'.
pub(crate) const EACH: &str = "memory for each of 1,000 sleeping calls";
pub(crate) const GROWTH: &str = "memory after 1,000,000 calls / after 10,000";

/// Bytes for each sleeping call.
pub(crate) fn sleeping() -> Vec<f64> {
    let bench = Bench::new(false);
    let plan = Plan::rust(&bench).with_sandbox(&PLACES).expect("this build takes it");
    let app = plan.start(&bench, SLEEPING);
    let runtime = two_workers();
    let each = runtime.block_on(async {
        for number in 0..100 {
            nop(&app.host, number).await;
        }
        let before = resident_bytes();
        let asleep = (0..ASLEEP).map(|number| {
            let host = app.host.clone();
            tokio::spawn(async move {
                let asked = ("bench.sleep", r#"{"ms":2000}"#);
                call(&host, 1000 + number as usize, asked, |_| true).await
            })
        });
        let asleep: Vec<_> = asleep.collect();
        while app.sandbox.calls_in_use() < ASLEEP as usize {
            assert!(asleep.iter().any(|it| !it.is_finished()), "they never slept together");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The last one has its place, and a moment to come to its sleep.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let (after, in_use) = (resident_bytes(), app.sandbox.calls_in_use());
        assert_eq!(in_use, ASLEEP as usize, "some had woken already");
        for call in asleep {
            call.await.expect("its end");
        }
        assert!(after > before, "a thousand calls that sleep take memory");
        (after - before) / f64::from(ASLEEP)
    });
    vec![each]
}

/// Bytes after few calls and after many.
pub(crate) fn growing() -> Vec<f64> {
    let bench = Bench::new(false);
    let app = Plan::rust(&bench).start(&bench, GROWING);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let calls = |numbers: std::ops::Range<usize>| {
        runtime.block_on(async {
            for number in numbers {
                nop(&app.host, number).await;
            }
        });
        resident_bytes()
    };
    vec![calls(0..EARLY), calls(EARLY..LATE)]
}

/// Measures both.
pub(crate) fn measure(bench: &mut Bench) {
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    match sandbox_config(&PLACES) {
        Ok(_) => lanes.push(Box::new(|round| round.add(EACH, "KiB", ask(SLEEPING)[0] / 1024.0))),
        Err(why) => bench.figures.miss(EACH, why),
    }
    rounds(PART, FEW_ROUNDS, &mut bench.figures, &mut lanes);
    let (early, late) = ("memory after 10,000 calls", "memory after 1,000,000 calls");
    let mut lanes: Vec<Lane<'_>> = vec![Box::new(|round| {
        let bytes = ask(GROWING);
        round.add(early, "MiB", bytes[0] / f64::from(1 << 20));
        round.add(late, "MiB", bytes[1] / f64::from(1 << 20));
    })];
    // It takes as long as all the others together, and what leaks does so every time.
    rounds(PART, 1, &mut bench.figures, &mut lanes);
    drop(lanes);
    bench.figures.combine(PART, GROWTH, "", (late, early), over);
}
