//! How far a live lane has been copied to the log, and which of its files may go.
//!
//! Moves only over what the log has taken.

use std::collections::VecDeque;
use std::fs;
use std::sync::Arc;

use super::drain::Shared;
use super::error::JournalError;
use super::frame;
use super::lane_file::LaneFile;
use super::log::Locked;

/// Bytes of a lane that are read at a time; more than the longest frame.
const CHUNK_LEN: u64 = 256 * 1024;

/// A place in the files of a lane.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The files that are there, oldest first.
    files: VecDeque<Arc<LaneFile>>,
    /// Which of them comes next, and from where on.
    current: usize,
    offset: u64,
    next_number: u64,
}

impl Cursor {
    pub(super) fn new(file: Arc<LaneFile>) -> Self {
        Self { files: VecDeque::from([file]), current: 0, offset: 0, next_number: 1 }
    }

    /// The lane goes on in this file.
    pub(super) fn add(&mut self, file: Arc<LaneFile>) {
        self.files.push_back(file);
    }

    /// Makes what hasn't been copied survive a power cut.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.files.iter().skip(self.current).try_for_each(|file| file.sync())
    }

    /// Copies all that lies before `end` in the newest file.
    pub(super) fn copy(
        &mut self,
        shared: &Shared,
        log: &mut Locked<'_>,
        end: u64,
    ) -> Result<(), JournalError> {
        while let Some(file) = self.files.get(self.current).cloned() {
            let to = file.sealed_end().unwrap_or(end);
            while self.offset < to {
                self.copy_chunk(shared, log, &file, to)?;
            }
            if self.current + 1 == self.files.len() {
                return Ok(());
            }
            (self.current, self.offset) = (self.current + 1, 0);
        }
        Ok(())
    }

    fn copy_chunk(
        &mut self,
        shared: &Shared,
        log: &mut Locked<'_>,
        file: &LaneFile,
        to: u64,
    ) -> Result<(), JournalError> {
        let bytes = file.read(self.offset, to.min(self.offset + CHUNK_LEN))?;
        let mut frames: Vec<(&[u8], usize)> = frame::all(&bytes, 0).collect();
        let Some((_, read)) = frames.last().copied() else {
            let wrong = format!("no record lies at byte {}", self.offset);
            return Err(JournalError::Damaged { file: file.path().to_owned(), wrong });
        };
        let header = if self.offset == 0 { frames.remove(0).1 } else { 0 };
        let count = frames.len() as u64;
        let drained = log.drained(shared.lane.id());
        let records = (self.next_number..).zip(frames.into_iter().map(|(json, _)| json));
        let missing = records.filter(|(number, _)| *number > drained);
        log.append(shared.lane.id(), missing, (shared.clock)())?;
        self.offset += read as u64;
        self.next_number += count;
        shared.lane.count_drained((read - header) as u64);
        shared.progress.notify_waiters();
        Ok(())
    }

    /// The number of the last record that has been copied.
    pub(super) fn number(&self) -> u64 {
        self.next_number - 1
    }

    /// Whether the oldest file has been copied and none of its calls is open. Files go in their
    /// order, so that the end of a call never goes before its beginning.
    pub(super) fn can_remove(&self) -> bool {
        self.current > 0 && self.files.front().is_some_and(|file| !file.has_open_calls())
    }

    /// Removes the files that aren't needed any more.
    pub(super) fn remove_old(&mut self, log: &mut Locked<'_>) -> Result<(), JournalError> {
        while self.can_remove() {
            log.sync()?;
            let Some(file) = self.files.pop_front() else { return Ok(()) };
            self.current -= 1;
            fs::remove_file(file.path()).map_err(JournalError::on("remove", file.path()))?;
        }
        Ok(())
    }
}
