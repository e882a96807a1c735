//! The drainer: a thread that copies a lane to the log, in its own time.
//!
//! Calls never wait for it, but for the bound on what it hasn't copied yet. What it can't do it
//! tries again, and says meanwhile what is wrong.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::cursor::Cursor;
use super::error::JournalError;
use super::lane::{Lane, Room};
use super::lanes::Lanes;
use super::log::{Locked, Log};
use super::options::JournalOptions;
use super::record::{Interrupted, Record, Writing};
use super::recover::open_calls;
use super::retain;
use super::syncer::Syncer;
use crate::events::clock::Clock;

/// How long records gather before they are copied: waking a thread for each would cost more than
/// the record.
const PACE: Duration = Duration::from_millis(20);
/// Bytes that have gathered from which on it isn't waited for.
const GATHERED_MAX: u64 = 1024 * 1024;

/// What the handles of a journal and its threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) lane: Lane,
    pub(super) lanes: Lanes,
    pub(super) options: JournalOptions,
    pub(super) clock: Clock,
    pub(super) syncer: Syncer,
    /// Told after each pass of the drainer.
    pub(super) progress: Notify,
    /// The number of the last record that is in the log.
    pub(super) drained_number: AtomicU64,
    /// Notes that were refused since nobody can wait with them.
    pub(super) notes_dropped: AtomicU64,
    state: Mutex<State>,
    bell: Condvar,
    /// Whether the drainer sleeps until it is woken.
    is_idle: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    asked: bool,
    stop: bool,
    close: Option<oneshot::Sender<Result<(), JournalError>>>,
    trouble: Option<String>,
    /// What stays wrong though passes succeed.
    lasting: Option<String>,
    passes_failed: u64,
    gone: bool,
}

impl Shared {
    pub(super) fn new(lane: Lane, lanes: Lanes, options: JournalOptions, clock: Clock) -> Self {
        Self {
            lane,
            lanes,
            options,
            clock,
            syncer: Syncer::default(),
            progress: Notify::new(),
            drained_number: AtomicU64::new(0),
            notes_dropped: AtomicU64::new(0),
            state: Mutex::default(),
            bell: Condvar::new(),
            is_idle: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn writing(&self) -> Writing<'_> {
        Writing { at_unix_ms: (self.clock)(), redactor: &self.options.redactor }
    }

    /// Wakes the drainer if it sleeps, or if much has gathered.
    pub(super) fn appended(&self) {
        let is_much = self.lane.undrained() > GATHERED_MAX;
        if (self.is_idle.load(Ordering::SeqCst) && self.is_idle.swap(false, Ordering::SeqCst))
            || (is_much && !self.state().asked)
        {
            self.wake();
        }
    }

    /// Has the drainer copy now.
    pub(super) fn wake(&self) {
        self.state().asked = true;
        self.bell.notify_one();
    }

    /// Ends both threads, as a process that is killed does.
    pub(super) fn stop(&self) {
        self.state().stop = true;
        self.bell.notify_one();
        self.syncer.stop();
    }

    /// Has the drainer copy all, remove the lane and end.
    pub(super) fn ask_close(&self, told: oneshot::Sender<Result<(), JournalError>>) {
        let mut state = self.state();
        if !state.gone {
            state.close = Some(told);
        }
        self.bell.notify_one();
    }

    /// What is wrong with copying, and how many passes have failed so far.
    pub(super) fn trouble(&self) -> (Option<String>, u64) {
        let state = self.state();
        (state.trouble.clone(), state.passes_failed)
    }

    /// What stays wrong for as long as this process lives.
    pub(super) fn lasting_trouble(&self) -> Option<String> {
        self.state().lasting.clone()
    }

    /// Whether nothing is copied any more.
    pub(super) fn is_gone(&self) -> bool {
        self.state().gone
    }
}

/// Tells all who wait that the drainer is gone, however it went.
struct Going(Arc<Shared>);

impl Drop for Going {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.gone = true;
        // Whoever asked too late is told by the channel's end.
        state.close = None;
        drop(state);
        self.0.progress.notify_waiters();
        self.0.syncer.stop();
    }
}

/// The drainer's side.
#[derive(Debug)]
pub(super) struct Drainer {
    shared: Arc<Shared>,
    log: Log,
    cursor: Cursor,
    /// The segment for which retention has been looked after.
    retained_for: Option<u64>,
}

enum Next {
    Pass,
    Close(oneshot::Sender<Result<(), JournalError>>),
    Stop,
}

impl Shared {
    /// Waits until there is something to do.
    fn next(&self, was_busy: bool) -> Next {
        let mut state = self.state();
        if !was_busy {
            self.is_idle.store(true, Ordering::SeqCst);
            while !(state.asked || state.stop || state.close.is_some() || self.lane.undrained() > 0)
            {
                state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            self.is_idle.store(false, Ordering::SeqCst);
        } else if !state.asked && !state.stop && state.close.is_none() {
            let waited = self.bell.wait_timeout(state, PACE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.asked = false;
        match state.close.take() {
            _ if state.stop => Next::Stop,
            Some(told) => Next::Close(told),
            None => Next::Pass,
        }
    }
}

impl Drainer {
    pub(super) fn new(shared: Arc<Shared>, log: Log) -> Self {
        let cursor = Cursor::new(shared.lane.end().0);
        Self { shared, log, cursor, retained_for: None }
    }

    /// Works until the journal is closed or dropped.
    pub(super) fn run(mut self) {
        let going = Going(self.shared.clone());
        let mut was_busy = true;
        loop {
            match going.0.next(was_busy) {
                Next::Stop => return,
                Next::Close(told) => {
                    // Whoever is gone doesn't need the answer.
                    told.send(self.close()).ok();
                    return;
                }
                Next::Pass => was_busy = self.pass_and_tell(),
            }
        }
    }

    /// True if there was something to do, so that more may come soon.
    fn pass_and_tell(&mut self) -> bool {
        let done = self.pass();
        let mut state = self.shared.state();
        state.lasting = self.log.sync_failed().map(|why| JournalError::Unsynced(why).to_string());
        let was_busy = match done {
            Ok(was_busy) => {
                state.trouble = None;
                was_busy
            }
            Err(error) => {
                state.trouble = Some(error.to_string());
                state.passes_failed += 1;
                true
            }
        };
        drop(state);
        self.tell();
        was_busy
    }

    /// Tells those who wait how far the log is.
    fn tell(&self) {
        self.shared.drained_number.store(self.cursor.number(), Ordering::Release);
        self.shared.progress.notify_waiters();
    }

    fn pass(&mut self) -> Result<bool, JournalError> {
        let lane = &self.shared.lane;
        lane.write_late()?;
        // Where no room is left for another file the lane goes on in the one it has.
        if lane.go_on_after(self.shared.options.lane_file_max_len).unwrap_or(false) {
            self.cursor.add(lane.end().0);
        }
        let is_behind = lane.undrained() > 0;
        if !is_behind && !self.cursor.can_remove() && self.retained_for.is_some() {
            return Ok(false);
        }
        let (_, end) = lane.end();
        if is_behind {
            // The log never holds what its lane could still lose.
            self.cursor.sync()?;
        }
        let mut log = self.log.lock()?;
        self.cursor.copy(&self.shared, &mut log, end)?;
        if log.sync_failed().is_some() {
            // Nothing may go any more; what comes is copied all the same.
            return Ok(is_behind);
        }
        if self.retained_for != Some(log.first_seq()) {
            retain(&self.shared, &mut self.cursor, &mut log)?;
            self.retained_for = Some(log.first_seq());
        }
        self.cursor.remove_old(&mut log)?;
        Ok(is_behind)
    }

    /// Ends what is still open, copies the rest and removes the lane.
    fn close(&mut self) -> Result<(), JournalError> {
        // Retention too is a short process's to look after.
        self.pass()?;
        let shared = &self.shared;
        shared.lane.close();
        shared.lane.write_late()?;
        let open = open_calls(&shared.lanes.contents(shared.lane.id())?.records);
        for (start, call) in open.into_iter().filter(|(_, call)| !call.is_ended) {
            let writing = shared.writing();
            let (call_id, tool_name) = (&*call.call_id, &*call.tool_name);
            let end = Interrupted { start, call_id, tool_name };
            shared.lane.append_last(|buffer| writing.interrupted(buffer, &end, true))?;
        }
        shared.lane.write_late()?;
        let (_, end) = shared.lane.end();
        self.cursor.sync()?;
        let mut log = self.log.lock()?;
        self.cursor.copy(shared, &mut log, end)?;
        log.sync()?;
        shared.lanes.remove(shared.lane.folder(), false)?;
        drop(log);
        self.tell();
        Ok(())
    }
}

/// Removes what retention doesn't keep, once the log says so for good.
fn retain(shared: &Shared, cursor: &mut Cursor, log: &mut Locked<'_>) -> Result<(), JournalError> {
    let writing = shared.writing();
    let retention = shared.options.retention;
    let Some(due) = retain::due(log.folder(), retention, writing.at_unix_ms)? else {
        return Ok(());
    };
    let record = Record::Checkpoint {
        removed_through: due.keep_from - 1,
        link: &due.link,
        reason: "retention",
    };
    match shared.lane.append(Room::Note, |buffer| writing.record(buffer, &record)) {
        // A journal that is closing leaves it to the next.
        Err(JournalError::Closed) => return Ok(()),
        other => other?,
    };
    let (_, end) = shared.lane.end();
    cursor.sync()?;
    cursor.copy(shared, log, end)?;
    log.sync()?;
    retain::remove(log.folder(), due.keep_from)
}
