//! What holds of every batch: random plans, timings, cancel points and panics.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

const CASES: u32 = 10_000;

#[derive(Debug, Clone)]
struct Case {
    calls: Vec<(Act, Safety, BTreeSet<usize>, Option<usize>)>,
    at_once: usize,
    cancel_ms: Option<u64>,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..12_u64).prop_map(Act::Answer),
        2 => (0..12_u64, 0..12_u64).prop_map(|(ms, linger)| Act::Linger(ms, linger)),
        2 => (0..12_u64, 0..12_u64).prop_map(|(wait, ms)| Act::Ask(wait, ms)),
        1 => (0..12_u64).prop_map(Act::Trap),
        1 => (0..12_u64).prop_map(Act::Panic),
        1 => Just(Act::PanicAtOnce),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let safety = prop_oneof![3 => Just(Safety::Parallel), 1 => Just(Safety::Sequential)];
    let locks = prop_oneof![
        2 => Just(BTreeSet::new()),
        1 => proptest::collection::btree_set(0..3_usize, 1..3),
    ];
    let shares = proptest::option::weighted(0.1, 0..10_usize);
    let calls = proptest::collection::vec((act(), safety, locks, shares), 0..10);
    (calls, 1..6_usize, proptest::option::of(0..40_u64))
        .prop_map(|(calls, at_once, cancel_ms)| Case { calls, at_once, cancel_ms })
}

fn plan(case: &Case) -> Vec<BatchCall> {
    let plan =
        |(place, (_, safety, locks, shares)): (usize, &(Act, Safety, BTreeSet<usize>, _))| {
            BatchCall {
                locks: locks.iter().map(|name| key(*name)).collect(),
                shares: *shares,
                ..planned(place, *safety)
            }
        };
    case.calls.iter().enumerate().map(plan).collect()
}

/// Who runs itself, by its own account: the model that the batch is held against.
fn runners(calls: &[BatchCall]) -> Vec<usize> {
    let mut own = Vec::new();
    for (place, call) in calls.iter().enumerate() {
        if !call.shares.is_some_and(|of| own.contains(&of)) {
            own.push(place);
        }
    }
    own
}

async fn hold(case: &Case) -> Result<(), TestCaseError> {
    let calls = plan(case);
    let own = runners(&calls);
    let stage = Stage::new(case.calls.iter().map(|it| it.0.clone()).collect());
    let (cancel, mut told) = (CancellationToken::new(), Vec::new());
    let batch = run_batch(
        calls.clone(),
        case.at_once.try_into().unwrap(),
        &cancel,
        |invocation, cancel, slot| stage.call(invocation, cancel, slot),
        |place, result| told.push((place, result.clone())),
    );
    let results = match case.cancel_ms {
        None => batch.await,
        Some(ms) => {
            let later = async {
                sleep(Duration::from_millis(ms)).await;
                cancel.cancel();
            };
            tokio::join!(batch, later).0
        }
    };
    let begun = stage.seen.lock().unwrap().begun.len();
    sleep(Duration::from_millis(100)).await;
    let seen = stage.seen();
    prop_assert_eq!(seen.begun.len(), begun, "nothing runs after the return");
    prop_assert!(seen.live.is_empty());
    prop_assert_eq!(seen.late, 0, "nothing begins after the cancel");
    each_has_its_result(case, &own, &seen, &results)?;
    told.sort_by_key(|(place, _)| *place);
    let told: Vec<_> = told.into_iter().map(|(_, result)| result).collect();
    prop_assert_eq!(told, results, "each result is told once");
    none_meet(case, &calls, &own, &seen)
}

fn each_has_its_result(
    case: &Case,
    own: &[usize],
    seen: &Seen,
    results: &[ToolResult],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(results.len(), case.calls.len());
    for (place, result) in results.iter().enumerate() {
        prop_assert_eq!(result.call_id.as_str(), format!("c{place}"));
        if !own.contains(&place) {
            prop_assert!(!seen.begun.contains(&place));
            prop_assert_eq!(result.executed, Executed::No);
            let of = &results[case.calls[place].3.unwrap()];
            prop_assert_eq!(of.outcome, result.outcome);
            continue;
        }
        let times = seen.begun.iter().filter(|it| **it == place).count();
        if case.cancel_ms.is_none() {
            prop_assert_eq!(times, 1);
        }
        let ended = match (&case.calls[place].0, result.outcome) {
            (_, Outcome::Cancelled) => times == 0,
            (_, Outcome::Interrupted) => times == 1 && case.cancel_ms.is_some(),
            (Act::Answer(_) | Act::Linger(..) | Act::Ask(..), Outcome::Success) => times == 1,
            (Act::Trap(_), Outcome::Crashed) => times == 1,
            (Act::Panic(_) | Act::PanicAtOnce, Outcome::HostFault) => times == 1,
            _ => false,
        };
        prop_assert!(ended, "{place} ended as {:?} and began {times} times", result.outcome);
    }
    Ok(())
}

/// Sequential calls meet nobody, runs don't overlap, keys keep calls apart and in order, and no
/// crowd is above the cap.
fn none_meet(
    case: &Case,
    calls: &[BatchCall],
    own: &[usize],
    seen: &Seen,
) -> Result<(), TestCaseError> {
    let safeties: Vec<_> = own.iter().map(|place| calls[*place].safety).collect();
    let runs = cut(&safeties);
    let run_of = |place: &usize| {
        let at = own.iter().position(|it| it == place).unwrap();
        runs.iter().position(|run| run.places.contains(&at)).unwrap()
    };
    for crowd in &seen.crowds {
        prop_assert!(crowd.len() <= case.at_once);
    }
    for gathering in &seen.gatherings {
        let newest = gathering.last().unwrap();
        prop_assert!(gathering.len() == 1 || calls[*newest].safety == Safety::Parallel);
        for other in &gathering[..gathering.len() - 1] {
            prop_assert_eq!(run_of(other), run_of(newest));
            prop_assert!(calls[*other].locks.is_disjoint(&calls[*newest].locks));
        }
    }
    for (at, place) in seen.begun.iter().enumerate() {
        for earlier in &seen.begun[..at] {
            prop_assert!(run_of(earlier) <= run_of(place));
            let apart = calls[*earlier].locks.is_disjoint(&calls[*place].locks)
                && calls[*place].safety == Safety::Parallel;
            prop_assert!(apart || earlier < place, "{earlier} began before {place}");
        }
    }
    Ok(())
}

#[test]
fn t8_ten_thousand_random_batches_keep_every_promise() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.unwrap();
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&case(), |case| runtime.block_on(hold(&case))).unwrap();
}
