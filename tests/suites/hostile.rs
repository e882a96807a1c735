//! Every row of the table of hostile guests, against a whole host.

mod run;
mod spoiled;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use belljar::contract::limits::LimitKind;

use crate::guests::built;
use crate::guests::outcomes::{
    BURDENS, CHANGES, FILES, Guest, HARMLESS, REACH, RESULTS, Row, SECTIONS, Section, WORK,
};

use run::Stage;

/// How much later than its deadline a call may end.
const OVERSHOOT: Duration = Duration::from_millis(100);
/// A machine that is busy with other things may be late itself; a host that is, is so each time.
const TRIES: usize = 20;

/// Runs every row of a section and says all that went wrong at once.
async fn hold(section: Section) {
    let code = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for row in section.rows {
        if let Err(error) = run::row(row, code.path()).await {
            wrong.push(format!("{:?} {} {}: {error:#}", row.guest, row.tool, row.arguments));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), section.rows.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_ends_at_its_deadline_or_with_its_fuel() {
    hold(WORK).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn burdens_are_bounded() {
    hold(BURDENS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_and_bombs_end_one_call() {
    hold(RESULTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_plugin_is_refused_and_nothing_is_reached() {
    hold(REACH).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_outside_the_grants_stay_out_of_reach() {
    hold(FILES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_granted_to_be_read_is_not_changed() {
    hold(CHANGES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_deadlines_hold_while_both_cores_are_busy() {
    let code = tempfile::tempdir().unwrap();
    let _busy = Busy::new(2);
    for row in WORK.rows {
        let Some(deadline) = deadline(row) else { continue };
        let stage = Stage::start(row, code.path()).unwrap();
        let mut late = Duration::MAX;
        for _ in 0..TRIES {
            let began = Instant::now();
            stage.call(row).await;
            late = late.min(began.elapsed().saturating_sub(deadline));
            if late <= OVERSHOOT {
                break;
            }
        }
        assert!(late <= OVERSHOOT, "{:?} {}: {late:?} late, {TRIES} times", row.guest, row.tool);
    }
}

fn deadline(row: &Row) -> Option<Duration> {
    let met = row.met.filter(|met| met.kind == LimitKind::AttemptDeadline)?;
    met.set.map(Duration::from_millis)
}

/// Threads that do nothing but keep cores busy, until dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn new(threads: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..threads {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(stop)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn every_guest_has_its_row() {
    let rows = || SECTIONS.iter().flat_map(|section| section.rows);
    let names = std::fs::read_dir(built::root().join("tests/guests/wat")).unwrap();
    for file in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let name =
            file.strip_suffix(".wat").unwrap_or_else(|| panic!("`{file}` is no component text"));
        let has_row = rows().any(|row| matches!(row.guest, Guest::Wat(known) if known == name));
        assert!(has_row, "`tests/guests/wat/{file}` has no row in `tests/guests/outcomes`");
    }
    for name in built::RUST.into_iter().filter(|name| !HARMLESS.contains(name)) {
        assert!(rows().any(|row| row.guest == Guest::Rust(name)), "`{name}` has no row");
    }
}
