//! The journal itself: what the rest of the host writes to.
//!
//! A call begins only once its record is written, and its end always has room. Nothing here waits
//! for the log; durable records wait for one sync of the lane.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use serde::Deserialize;
use tokio::sync::oneshot;

use super::drain::{Drainer, Shared};
use super::error::JournalError;
use super::lane::{Place, Room};
use super::lanes::Lanes;
use super::log::{Log, LogOptions};
use super::options::JournalOptions;
use super::private::make_private_folder;
use super::record::{CallFinished, CallStarted, Interrupted, Record};
use super::recover::{Recovered, recover_lanes};
use super::{frame, segment};
use crate::events::clock::Clock;

/// The audit log, open for writing. Clones are the same.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Handle>);

/// Stops the threads with the last clone: what is in the lane then is the next process's to copy.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    #[cfg(test)]
    threads: std::sync::Mutex<Vec<thread::JoinHandle<()>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// A call that has begun and whose end has room. Dropped without [`Self::finish`] it ends as
/// `interrupted`.
#[derive(Debug)]
pub struct OpenEntry {
    shared: Arc<Shared>,
    place: Place,
    is_finished: bool,
}

impl Journal {
    /// Opens the journal in an audit folder, which is made if it isn't there, and takes in what
    /// processes that are gone left. Several processes may have one folder open.
    ///
    /// # Errors
    /// If the folder can't be written, is open to others, has no room, or is from a newer belljar,
    /// or the listener of the options fails. A damaged log doesn't keep it from opening: what comes
    /// goes behind the damage, which `verify` names.
    pub fn open(
        audit: &Path,
        options: JournalOptions,
        clock: Clock,
    ) -> Result<(Self, Recovered), JournalError> {
        let lanes = Lanes::in_folder(audit);
        for folder in [audit, lanes.folder(), &segment::log_folder(audit)] {
            make_private_folder(folder)?;
        }
        let of_log = LogOptions {
            segment_max_len: options.segment_max_len,
            segment_max_age_ms: options.retention.segment_max_age_ms(),
            faults: options.faults.clone(),
        };
        let mut log = Log::open(audit, lanes.clone(), of_log)?;
        let (lane, recovered) = {
            let mut locked = log.lock()?;
            let recovered = recover_lanes(&lanes, &mut locked, clock(), &options.listener)?;
            (lanes.create(clock(), options.faults.clone())?, recovered)
        };
        let shared = Arc::new(Shared::new(lane, lanes, options, clock));
        let drainer = Drainer::new(shared.clone(), log);
        let syncing = shared.clone();
        let threads = [
            spawn("audit-drain", audit, move || drainer.run())?,
            spawn("audit-sync", audit, move || syncing.syncer.run())?,
        ];
        let handle = Handle {
            shared,
            #[cfg(test)]
            threads: std::sync::Mutex::new(threads.into()),
        };
        #[cfg(not(test))]
        drop(threads);
        Ok((Self(Arc::new(handle)), recovered))
    }

    /// Writes that a call begins, and keeps room for its end. Waits where too much hasn't been
    /// copied to the log yet. Safe to drop while it waits. It survives a power cut only once
    /// [`OpenEntry::sync`] says so.
    ///
    /// # Errors
    /// If it can't be written, has no room for its end, or earlier ends are still waiting for the
    /// disk. The call must not run then.
    pub async fn begin(&self, call: CallStarted<'_>) -> Result<OpenEntry, JournalError> {
        self.wait_for_drain().await?;
        let shared = &self.0.shared;
        let writing = shared.writing();
        let place = shared.lane.append(Room::Start, |buffer| writing.started(buffer, &call))?;
        let entry = OpenEntry { shared: shared.clone(), place, is_finished: false };
        shared.appended();
        Ok(entry)
    }

    /// Writes any other record. Waits as [`Self::begin`] does; `durable` waits for the disk as well.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn note(&self, record: Record<'_>, durable: bool) -> Result<(), JournalError> {
        self.wait_for_drain().await?;
        let shared = &self.0.shared;
        let writing = shared.writing();
        let place = shared.lane.append(Room::Note, |buffer| writing.record(buffer, &record))?;
        shared.appended();
        if durable {
            shared.syncer.sync(place.file).await?;
        }
        Ok(())
    }

    /// Writes any other record without waiting for anything: for whoever can't.
    ///
    /// # Errors
    /// If it can't be written, or twice as much hasn't been copied to the log as others wait at.
    /// Records refused for that are counted, and [`Self::problem`] tells how many.
    pub fn note_now(&self, record: &Record<'_>) -> Result<(), JournalError> {
        let shared = &self.0.shared;
        let undrained = shared.lane.undrained();
        if undrained >= shared.options.undrained_max_len.saturating_mul(2) {
            shared.notes_dropped.fetch_add(1, Ordering::Relaxed);
            let why = format!("{undrained} bytes of records have not been copied to it yet");
            return Err(JournalError::Behind(why));
        }
        let writing = shared.writing();
        shared.lane.append(Room::Note, |buffer| writing.record(buffer, record))?;
        shared.appended();
        Ok(())
    }

    /// Waits until all that has been written so far is in the log.
    ///
    /// # Errors
    /// If the drainer failed meanwhile; what was written is safe in the lane all the same.
    pub async fn flush(&self) -> Result<(), JournalError> {
        let shared = &self.0.shared;
        let last = shared.lane.last_number();
        let (_, failed_before) = shared.trouble();
        loop {
            let mut progress = pin!(shared.progress.notified());
            progress.as_mut().enable();
            if shared.drained_number.load(Ordering::Acquire) >= last {
                return Ok(());
            }
            match shared.trouble() {
                // The pass that was under way may have failed before this began; the next counts.
                (Some(trouble), failed) if failed > failed_before + 1 => {
                    return Err(JournalError::Behind(trouble));
                }
                _ if shared.is_gone() => return Err(JournalError::Closed),
                _ => shared.wake(),
            }
            progress.await;
        }
    }

    /// Copies everything to the log, ends calls that are still open as `interrupted`, and removes
    /// the lane. No clone takes records after this.
    ///
    /// # Errors
    /// If that fails; the next process that opens the journal makes up for it.
    pub async fn close(self) -> Result<(), JournalError> {
        let (told, done) = oneshot::channel();
        if self.0.shared.is_gone() {
            return Err(JournalError::Closed);
        }
        self.0.shared.ask_close(told);
        done.await.unwrap_or(Err(JournalError::Closed))
    }

    /// What keeps records from reaching the disk or the log, or has kept some from it.
    pub fn problem(&self) -> Option<String> {
        let shared = &self.0.shared;
        let (trouble, _) = shared.trouble();
        let (late, dropped) = (shared.lane.late(), shared.notes_dropped.load(Ordering::Relaxed));
        let late = (late > 0).then(|| format!("{late} ends of calls wait for the disk"));
        let dropped = (dropped > 0).then(|| format!("{dropped} records were dropped"));
        let lasting = shared.lasting_trouble().filter(|it| trouble.as_ref() != Some(it));
        let all: Vec<String> = [trouble, lasting, late, dropped].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Writes any other record and makes it survive a power cut before it returns. Blocks for as
    /// long as the disk takes: never on a thread that runs calls.
    ///
    /// # Errors
    /// If it can't be written or synced, or as much hasn't been copied to the log as others wait at.
    /// What can't be synced may be in the log all the same.
    pub fn note_synced(&self, record: &Record<'_>) -> Result<(), JournalError> {
        let shared = &self.0.shared;
        let undrained = shared.lane.undrained();
        if undrained >= shared.options.undrained_max_len {
            let why = format!("{undrained} bytes of records have not been copied to it yet");
            return Err(JournalError::Behind(why));
        }
        let writing = shared.writing();
        let place = shared.lane.append(Room::Note, |buffer| writing.record(buffer, record))?;
        shared.appended();
        place.file.sync()
    }

    async fn wait_for_drain(&self) -> Result<(), JournalError> {
        let shared = &self.0.shared;
        while shared.lane.undrained() >= shared.options.undrained_max_len {
            let mut progress = pin!(shared.progress.notified());
            progress.as_mut().enable();
            if shared.lane.undrained() < shared.options.undrained_max_len {
                return Ok(());
            }
            if let (Some(trouble), _) = shared.trouble() {
                return Err(JournalError::Behind(trouble));
            }
            if shared.is_gone() {
                return Err(JournalError::Closed);
            }
            shared.wake();
            progress.await;
        }
        Ok(())
    }
}

impl OpenEntry {
    /// Waits until the beginning survives a power cut. Safe to drop while it waits.
    ///
    /// # Errors
    /// If the disk fails, or the journal is closed. The call must not run then, and its end is still
    /// to be written.
    pub async fn sync(&self) -> Result<(), JournalError> {
        self.shared.syncer.sync(self.place.file.clone()).await
    }

    /// Writes how the call ended. Never fails: what the disk refuses is tried again, and no other
    /// call begins before it is written.
    pub fn finish(mut self, call: &CallFinished<'_>) {
        self.is_finished = true;
        let writing = self.shared.writing();
        let start = self.place.number;
        self.end(|buffer| writing.finished(buffer, start, call));
    }

    fn end(&self, write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) {
        // Refused only by a journal that has been closed, which has ended the call itself.
        self.shared.lane.append(Room::End, write).ok();
        self.place.file.call_ended();
        self.shared.appended();
    }

    /// The call's id and name, from where its beginning was written.
    fn names(&self) -> Option<(String, String)> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Names {
            call_id: String,
            tool_name: String,
        }
        let bytes = self.place.file.read(self.place.start, self.place.end).ok()?;
        let names: Names = serde_json::from_slice(bytes.get(frame::HEADER_LEN..)?).ok()?;
        Some((names.call_id, names.tool_name))
    }
}

impl Drop for OpenEntry {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // Without its names it stays open, for whoever closes or recovers the lane.
        if let Some((call_id, tool_name)) = self.names() {
            let (writing, start) = (self.shared.writing(), self.place.number);
            let end = Interrupted { start, call_id: &call_id, tool_name: &tool_name };
            self.end(|buffer| writing.interrupted(buffer, &end, false));
        }
    }
}

fn spawn(
    name: &str,
    audit: &Path,
    run: impl FnOnce() + Send + 'static,
) -> Result<thread::JoinHandle<()>, JournalError> {
    let made = thread::Builder::new().name(name.to_owned()).spawn(run);
    made.map_err(JournalError::on("start a thread for", audit))
}

#[cfg(test)]
impl Journal {
    /// Goes as a killed process does, and waits until it is gone.
    pub(super) fn kill(self) {
        let threads = std::mem::take(&mut *self.0.threads.lock().unwrap());
        drop(self);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
