//! Batches of calls that do as they are told, on a paused clock.

mod property;

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::*;
use crate::contract::outcome::Executed;

/// What a call does.
#[derive(Debug, Clone)]
enum Act {
    /// Answers after so many milliseconds, or is interrupted.
    Answer(u64),
    /// Like `Answer`, but takes so many more to end once it is cancelled.
    Linger(u64, u64),
    /// Waits for a person for so many milliseconds, then answers after so many more.
    Ask(u64, u64),
    /// Traps after so many milliseconds.
    Trap(u64),
    /// Panics after so many milliseconds.
    Panic(u64),
    /// Panics before there is anything to await.
    PanicAtOnce,
}

/// Calls by their ids (`c0`, `c1`…), and what was seen of them.
struct Stage {
    acts: Vec<Act>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Begun calls by place, in the order in which they began.
    begun: Vec<usize>,
    ended: Vec<usize>,
    /// Who was at work whenever a call began to work, that call last.
    crowds: Vec<Vec<usize>>,
    at_work: Vec<usize>,
    /// Who had begun and not ended whenever a call began, that call last.
    gatherings: Vec<Vec<usize>>,
    live: Vec<usize>,
    /// Calls that began though the batch was cancelled.
    late: usize,
}

/// Ends a call however its future ends.
struct Running<'a>(&'a Stage, usize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut seen = self.0.seen.lock().unwrap();
        seen.live.retain(|place| *place != self.1);
        seen.at_work.retain(|place| *place != self.1);
        seen.ended.push(self.1);
    }
}

impl Stage {
    fn new(acts: Vec<Act>) -> Self {
        Self { acts, seen: Mutex::default() }
    }

    fn call(
        &self,
        call: ToolInvocation,
        cancel: CancellationToken,
        mut slot: Slot,
    ) -> impl Future<Output = ToolResult> + Send {
        let place: usize = call.call_id.as_str()[1..].parse().unwrap();
        let running = self.begin(place, &cancel);
        let act = self.acts[place].clone();
        if matches!(act, Act::PanicAtOnce) {
            // Unlike `panic!`, wakes no hook that prints.
            std::panic::resume_unwind(Box::new("at once"));
        }
        async move {
            let _running = running;
            if let Act::Ask(ms, _) = act {
                self.leave(place);
                let person = async {
                    tokio::select! {
                        () = cancel.cancelled() => {}
                        () = sleep(Duration::from_millis(ms)) => {}
                    }
                };
                slot.aside(person).await;
                if !cancel.is_cancelled() {
                    self.work(place);
                }
            }
            let (ms, linger) = match act {
                Act::Ask(_, ms) | Act::Answer(ms) | Act::Trap(ms) | Act::Panic(ms) => (ms, 0),
                Act::Linger(ms, linger) => (ms, linger),
                Act::PanicAtOnce => (0, 0),
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    sleep(Duration::from_millis(linger)).await;
                    return ToolResult::refused(call.call_id, Outcome::Interrupted, "stopped");
                }
                () = sleep(Duration::from_millis(ms)) => {}
            }
            match act {
                Act::Panic(_) => std::panic::resume_unwind(Box::new("later".to_owned())),
                Act::Trap(_) => ToolResult::refused(call.call_id, Outcome::Crashed, "trap"),
                _ => ToolResult::new(call.call_id, Outcome::Success, format!("answer {place}")),
            }
        }
    }

    fn begin(&self, place: usize, cancel: &CancellationToken) -> Running<'_> {
        let mut seen = self.seen.lock().unwrap();
        seen.late += usize::from(cancel.is_cancelled());
        seen.begun.push(place);
        seen.live.push(place);
        let gathering = seen.live.clone();
        seen.gatherings.push(gathering);
        drop(seen);
        self.work(place);
        Running(self, place)
    }

    fn work(&self, place: usize) {
        let mut seen = self.seen.lock().unwrap();
        seen.at_work.push(place);
        let crowd = seen.at_work.clone();
        seen.crowds.push(crowd);
    }

    fn leave(&self, place: usize) {
        self.seen.lock().unwrap().at_work.retain(|it| *it != place);
    }

    fn seen(self) -> Seen {
        self.seen.into_inner().unwrap()
    }
}

fn planned(place: usize, safety: Safety) -> BatchCall {
    let id = format!("c{place}").parse().unwrap();
    BatchCall {
        invocation: ToolInvocation::new(id, "fake.tool", "{}"),
        safety,
        locks: BTreeSet::new(),
        shares: None,
    }
}

fn all(count: usize, safety: Safety) -> Vec<BatchCall> {
    (0..count).map(|place| planned(place, safety)).collect()
}

fn key(name: usize) -> LockKey {
    LockKey::new("fake".parse().unwrap(), "path", &json!(name))
}

async fn run(stage: &Stage, calls: Vec<BatchCall>, cancel: &CancellationToken) -> Vec<ToolResult> {
    let call = |invocation, cancel, slot| stage.call(invocation, cancel, slot);
    run_batch(calls, 4.try_into().unwrap(), cancel, call, |_, _| {}).await
}

/// Runs a batch that nobody cancels.
async fn undisturbed(stage: &Stage, calls: Vec<BatchCall>) -> Vec<ToolResult> {
    run(stage, calls, &CancellationToken::new()).await
}

fn ids(results: &[ToolResult]) -> Vec<&str> {
    results.iter().map(|it| it.call_id.as_str()).collect()
}

fn outcomes(results: &[ToolResult]) -> Vec<Outcome> {
    results.iter().map(|it| it.outcome).collect()
}

#[tokio::test(start_paused = true)]
async fn t1_results_come_in_the_order_of_the_calls_whatever_ends_first() {
    let stage = Stage::new(vec![Act::Answer(20), Act::Answer(30), Act::Answer(10)]);
    let results = undisturbed(&stage, all(3, Safety::Parallel)).await;
    assert_eq!(ids(&results), ["c0", "c1", "c2"]);
    assert_eq!(results[2].content, "answer 2");
    assert_eq!(stage.seen().ended, [2, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn t2_a_hundred_shuffled_timings_give_the_same_transcript() {
    let mut transcripts = BTreeSet::new();
    let mut finishes = BTreeSet::new();
    for round in 0..100 {
        // Multiples of a number that shares no factor with 97: another order each round.
        let ms = |place: u64| (round + 1) * (place + 1) * 31 % 97;
        let mut acts: Vec<Act> = (0..9).map(|place| Act::Answer(ms(place))).collect();
        acts[3] = Act::Trap(ms(3));
        acts[5] = Act::Panic(ms(5));
        let mut calls = all(9, Safety::Parallel);
        calls[6].safety = Safety::Sequential;
        for place in [0, 1, 8] {
            calls[place].locks.insert(key(0));
        }
        let stage = Stage::new(acts);
        let results = undisturbed(&stage, calls).await;
        transcripts.insert(serde_json::to_vec(&results).unwrap());
        finishes.insert(stage.seen().ended);
    }
    assert_eq!(transcripts.len(), 1);
    assert!(finishes.len() > 20, "the timings did differ: {}", finishes.len());
}

#[tokio::test(start_paused = true)]
async fn t4_the_same_tool_twice_runs_twice() {
    let stage = Stage::new(vec![Act::Answer(1), Act::Answer(1)]);
    let mut calls = all(2, Safety::Parallel);
    calls[1].invocation.arguments_json = r#"{"n":1}"#.to_owned();
    let results = undisturbed(&stage, calls).await;
    assert_eq!((&*results[0].content, &*results[1].content), ("answer 0", "answer 1"));
    assert_eq!(stage.seen().begun, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn b4_a_run_is_as_wide_as_its_cap_and_no_wider() {
    let begun = Instant::now();
    let stage = Stage::new(vec![Act::Answer(10); 20]);
    undisturbed(&stage, all(20, Safety::Parallel)).await;
    let widest = stage.seen().crowds.iter().map(Vec::len).max();
    assert_eq!(widest, Some(4));
    assert!(begun.elapsed() < Duration::from_millis(60), "five rounds of 10 ms");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_person_holds_no_slot() {
    let mut acts = vec![Act::Answer(10); 8];
    for act in &mut acts[..5] {
        *act = Act::Ask(1_000, 10);
    }
    let stage = Stage::new(acts);
    undisturbed(&stage, all(8, Safety::Parallel)).await;
    let seen = stage.seen();
    assert_eq!(seen.ended[..3], [5, 6, 7], "those that ask nobody aren't kept waiting");
    assert_eq!(seen.crowds.iter().map(Vec::len).max(), Some(4), "all five come back at once");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_does_not_wait_for_a_slot_to_end() {
    let mut acts = vec![Act::Linger(50, 500); 5];
    acts[0] = Act::Ask(5, 10);
    let stage = Stage::new(acts);
    let results = cancelled_after(&stage, all(5, Safety::Parallel), 20).await;
    assert_eq!(outcomes(&results), [Outcome::Interrupted; 5]);
    assert_eq!(stage.seen().ended[0], 0, "the others hold all four slots and linger");
}

#[tokio::test(start_paused = true)]
async fn a_sequential_call_that_waits_for_a_person_lets_nobody_pass() {
    let stage = Stage::new(vec![Act::Ask(1_000, 10), Act::Answer(10)]);
    undisturbed(&stage, all(2, Safety::Sequential)).await;
    assert_eq!(stage.seen().ended, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn b10_sequential_calls_run_alone_between_parallel_runs() {
    use Safety::{Parallel, Sequential};
    let safeties = [Parallel, Parallel, Sequential, Sequential, Parallel, Parallel];
    let calls = safeties.iter().enumerate().map(|(place, safety)| planned(place, *safety));
    let acts = [30, 10, 20, 10, 20, 10].map(Act::Answer);
    let stage = Stage::new(acts.to_vec());
    undisturbed(&stage, calls.collect()).await;
    let seen = stage.seen();
    assert_eq!(seen.crowds, [vec![0], vec![0, 1], vec![2], vec![3], vec![4], vec![4, 5]]);
    assert_eq!(seen.ended, [1, 0, 2, 3, 5, 4]);
}

#[tokio::test(start_paused = true)]
async fn t24_calls_that_share_a_key_run_in_order_and_take_no_slot_while_they_wait() {
    let stage = Stage::new(vec![Act::Answer(30); 7]);
    let mut calls = all(7, Safety::Parallel);
    for call in &mut calls[..5] {
        call.locks.insert(key(0));
    }
    calls[4].locks.insert(key(1));
    calls[5].locks.insert(key(1));
    undisturbed(&stage, calls).await;
    let seen = stage.seen();
    assert_eq!(seen.crowds[..2], [vec![0], vec![0, 6]], "the sixth waits behind the fifth");
    assert_eq!(seen.begun, [0, 6, 1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn t10_a_trap_or_a_panic_leaves_the_siblings_alone() {
    for bad in [Act::Trap(5), Act::Panic(5), Act::PanicAtOnce] {
        for safety in [Safety::Parallel, Safety::Sequential] {
            let mut acts = vec![Act::Answer(10); 5];
            acts[1] = bad.clone();
            let stage = Stage::new(acts);
            let results = undisturbed(&stage, all(5, safety)).await;
            let wanted =
                if matches!(bad, Act::Trap(_)) { Outcome::Crashed } else { Outcome::HostFault };
            let fine = Outcome::Success;
            assert_eq!(outcomes(&results), [fine, wanted, fine, fine, fine], "{bad:?}");
            assert_eq!(ids(&results), ["c0", "c1", "c2", "c3", "c4"]);
        }
    }
}

/// Cancels after so many milliseconds.
async fn cancelled_after(stage: &Stage, calls: Vec<BatchCall>, ms: u64) -> Vec<ToolResult> {
    let cancel = CancellationToken::new();
    let later = async {
        sleep(Duration::from_millis(ms)).await;
        cancel.cancel();
    };
    tokio::join!(run(stage, calls, &cancel), later).0
}

#[tokio::test(start_paused = true)]
async fn t8_cancelled_at_every_point_a_batch_still_has_a_result_for_each_call() {
    for ms in 0..45 {
        let stage = Stage::new(vec![Act::Answer(5); 10]);
        let mut calls = all(10, Safety::Sequential);
        for call in &mut calls[2..7] {
            call.safety = Safety::Parallel;
        }
        let results = cancelled_after(&stage, calls, ms).await;
        assert_eq!(results.len(), 10, "at {ms} ms");
        let begun = stage.seen().begun;
        for (place, result) in results.iter().enumerate() {
            assert_eq!(result.outcome == Outcome::Cancelled, !begun.contains(&place), "at {ms} ms");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn t8_a_batch_cancelled_before_it_begins_runs_nothing() {
    let (stage, cancel) = (Stage::new(vec![Act::Answer(1); 3]), CancellationToken::new());
    cancel.cancel();
    let mut calls = all(3, Safety::Parallel);
    calls[2].shares = Some(0);
    let results = run(&stage, calls, &cancel).await;
    assert_eq!(outcomes(&results), [Outcome::Cancelled; 3]);
    assert!(results.iter().all(|it| it.executed == Executed::No && it.duration_ms.is_none()));
    assert!(stage.seen().begun.is_empty());
}

#[tokio::test(start_paused = true)]
async fn t9_a_call_that_was_stopped_and_one_that_never_began_end_differently() {
    let stage = Stage::new(vec![Act::Answer(5), Act::Answer(50), Act::Answer(5)]);
    let results = cancelled_after(&stage, all(3, Safety::Sequential), 10).await;
    let wanted = [Outcome::Success, Outcome::Interrupted, Outcome::Cancelled];
    assert_eq!(outcomes(&results), wanted);
    assert_eq!((results[1].executed, results[2].executed), (Executed::Maybe, Executed::No));
}

#[tokio::test(start_paused = true)]
async fn t11_a_batch_returns_only_when_nothing_of_it_runs_any_more() {
    let stage = Stage::new(vec![Act::Linger(50, 30), Act::Answer(50), Act::Linger(50, 5)]);
    let begun = Instant::now();
    let results = cancelled_after(&stage, all(3, Safety::Parallel), 10).await;
    assert_eq!(outcomes(&results), [Outcome::Interrupted; 3]);
    assert!(begun.elapsed() >= Duration::from_millis(40));
    let seen = stage.seen();
    assert!(seen.live.is_empty());
    assert_eq!(seen.ended, [1, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn t11_a_dropped_batch_drops_its_calls() {
    let stage = Stage::new(vec![Act::Answer(50); 6]);
    let short = Duration::from_millis(10);
    let batch = undisturbed(&stage, all(6, Safety::Parallel));
    assert!(tokio::time::timeout(short, batch).await.is_err());
    let seen = stage.seen();
    assert_eq!(seen.begun.len(), 4);
    assert!(seen.live.is_empty());
}

#[tokio::test(start_paused = true)]
async fn t7_a_call_that_shares_an_answer_does_not_run() {
    let stage = Stage::new(vec![Act::Answer(10); 5]);
    let mut calls = all(5, Safety::Parallel);
    calls[1].safety = Safety::Sequential;
    calls[1].shares = Some(0);
    calls[4].shares = Some(0);
    // Neither is an earlier call that runs: both run themselves.
    calls[2].shares = Some(3);
    calls[3].shares = Some(1);
    let mut told = Vec::new();
    let call = |invocation, cancel, slot| stage.call(invocation, cancel, slot);
    let (width, cancel) = (4.try_into().unwrap(), CancellationToken::new());
    let results = run_batch(calls, width, &cancel, call, |place, _| told.push(place)).await;
    assert_eq!(ids(&results), ["c0", "c1", "c2", "c3", "c4"]);
    let contents: Vec<_> = results.iter().map(|it| it.content.as_str()).collect();
    assert_eq!(contents, ["answer 0", "answer 0", "answer 2", "answer 3", "answer 0"]);
    assert_eq!(results[1].executed, Executed::No);
    let seen = stage.seen();
    assert_eq!(seen.begun, [0, 2, 3]);
    assert_eq!(seen.crowds[2], [0, 2, 3], "a call that doesn't run parts nothing");
    told.sort_unstable();
    assert_eq!(told, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_none_has_no_results() {
    assert!(undisturbed(&Stage::new(Vec::new()), Vec::new()).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn b11_a_result_carries_the_id_of_its_call_whatever_the_call_says() {
    let wrong =
        |_, _, _| async { ToolResult::new("other".parse().unwrap(), Outcome::Success, "fine") };
    let calls = all(2, Safety::Parallel);
    let cancel = CancellationToken::new();
    let results = run_batch(calls, 1.try_into().unwrap(), &cancel, wrong, |_, _| {}).await;
    assert_eq!(ids(&results), ["c0", "c1"]);
}

#[test]
fn a_batch_may_move_between_threads() {
    fn is_send(_: impl Send) {}
    let (stage, cancel) = (Stage::new(Vec::new()), CancellationToken::new());
    is_send(run(&stage, Vec::new(), &cancel));
}
