//! The lane: where a process puts its records, each by one write under one lock.
//!
//! Knows nothing of the log that `drain` copies it to, and never waits for it. An end that was
//! promised room is never refused: if the disk fails it is kept in memory and tried again.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::JournalError;
use super::frame;
use super::lane_file::{Faults, LaneFile};

/// The room that is kept for the end of each open call, in bytes: more than the bounds of its
/// fields add up to.
pub(super) const ENDING_MAX_LEN: u64 = 4096;
/// Room taken when a file is made: most processes of a command line run one call.
const FIRST_ROOM: u64 = 64 * 1024;
/// Room taken at a time after that.
const NEXT_ROOM: u64 = 1024 * 1024;

/// What room a record takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// Its own, and that of an end.
    Start,
    /// What its start was promised.
    End,
    /// Its own.
    Note,
}

/// Where a record was put.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: Arc<LaneFile>,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Rises by one from record to record of a lane, from 1.
    pub(super) number: u64,
}

/// The lane of a process.
#[derive(Debug)]
pub(super) struct Lane {
    id: String,
    folder: PathBuf,
    /// The lane's folder, locked: tells the others that its process lives.
    _held: File,
    faults: Faults,
    writer: Mutex<Writer>,
    /// Bytes put into it so far.
    written: AtomicU64,
    /// Of them, those that are in the log.
    drained: AtomicU64,
}

#[derive(Debug)]
struct Writer {
    file: Arc<LaneFile>,
    index: u64,
    end: u64,
    reserved: u64,
    /// Calls whose end has room kept for it.
    promised: u64,
    next_number: u64,
    buffer: Vec<u8>,
    /// Up to where a write that failed may have left something.
    spoilt_end: u64,
    /// Ends that the disk refused, in order. At most one for each open call.
    late: VecDeque<Vec<u8>>,
    closed: bool,
}

impl Lane {
    /// Makes the first file of a lane in a folder of its own, which `held` keeps locked.
    pub(super) fn create(
        folder: PathBuf,
        id: String,
        held: File,
        faults: Faults,
    ) -> Result<Self, JournalError> {
        let file = LaneFile::create(&folder, 1, faults.clone())?;
        file.reserve(0, FIRST_ROOM)?;
        let end = file.write_header(1)?;
        let writer = Writer {
            file: Arc::new(file),
            index: 1,
            end,
            reserved: FIRST_ROOM,
            promised: 0,
            next_number: 1,
            spoilt_end: 0,
            buffer: Vec::with_capacity(2048),
            late: VecDeque::new(),
            closed: false,
        };
        Ok(Self {
            id,
            folder,
            _held: held,
            faults,
            writer: Mutex::new(writer),
            written: AtomicU64::new(0),
            drained: AtomicU64::new(0),
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in one record, which `write` appends to a buffer as JSON.
    pub(super) fn append(
        &self,
        room: Room,
        write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<Place, JournalError> {
        let mut writer = self.writer();
        if writer.closed {
            return Err(JournalError::Closed);
        }
        let place = writer.append(room, write)?;
        self.written.fetch_add(place.end - place.start, Ordering::SeqCst);
        Ok(place)
    }

    /// Puts the end of a call into a closed lane, for which it still has room.
    pub(super) fn append_last(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<(), JournalError> {
        let place = self.writer().append(Room::End, write)?;
        self.written.fetch_add(place.end - place.start, Ordering::SeqCst);
        Ok(())
    }

    /// Bytes that aren't in the log yet.
    pub(super) fn undrained(&self) -> u64 {
        let drained = self.drained.load(Ordering::Acquire);
        self.written.load(Ordering::SeqCst).saturating_sub(drained)
    }

    pub(super) fn count_drained(&self, bytes: u64) {
        self.drained.fetch_add(bytes, Ordering::AcqRel);
    }

    /// The number of the last record; 0 if there is none.
    pub(super) fn last_number(&self) -> u64 {
        self.writer().next_number - 1
    }

    /// The newest file and where its records end. What is late isn't in it.
    pub(super) fn end(&self) -> (Arc<LaneFile>, u64) {
        let writer = self.writer();
        (writer.file.clone(), writer.end)
    }

    /// Tries again to write the ends that the disk refused.
    pub(super) fn write_late(&self) -> Result<(), JournalError> {
        self.writer().write_late()
    }

    /// How many ends wait for the disk.
    pub(super) fn late(&self) -> usize {
        self.writer().late.len()
    }

    /// Takes no more records.
    pub(super) fn close(&self) {
        self.writer().closed = true;
    }

    /// Goes on in another file once the newest has `max_len` bytes. True if it did.
    pub(super) fn go_on_after(&self, max_len: u64) -> Result<bool, JournalError> {
        let index = {
            let writer = self.writer();
            if writer.end < max_len || writer.closed || !writer.late.is_empty() {
                return Ok(false);
            }
            writer.index + 1
        };
        let file = LaneFile::create(&self.folder, index, self.faults.clone())?;
        let path = file.path().to_owned();
        let switched = self.writer().switch(file, index);
        if switched.is_err() {
            // Without it the lane stays where it is, which holds the room that was promised.
            std::fs::remove_file(&path).map_err(JournalError::on("remove", &path))?;
        }
        switched.map(|()| true)
    }
}

impl Writer {
    fn append(
        &mut self,
        room: Room,
        write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
    ) -> Result<Place, JournalError> {
        self.buffer.clear();
        let start = frame::begin(&mut self.buffer);
        let written = write(&mut self.buffer);
        if written.is_err() || !frame::seal(&mut self.buffer, start) {
            return Err(JournalError::TooLarge(self.buffer.len()));
        }
        self.put(room)
    }

    fn put(&mut self, room: Room) -> Result<Place, JournalError> {
        let len = self.buffer.len() as u64;
        if room != Room::End {
            self.take_room(room, len)?;
        }
        let place = Place {
            file: self.file.clone(),
            start: self.end,
            end: self.end + len,
            number: self.next_number,
        };
        if room == Room::End && !self.late.is_empty() {
            self.late.push_back(self.buffer.clone());
        } else if let Err(error) = self.write_at_end(len) {
            if room != Room::End {
                return Err(error);
            }
            self.late.push_back(self.buffer.clone());
        } else {
            self.end += len;
            match room {
                Room::Start => {
                    self.promised += 1;
                    self.file.call_began();
                }
                Room::End => self.promised = self.promised.saturating_sub(1),
                Room::Note => {}
            }
        }
        self.next_number += 1;
        Ok(place)
    }

    /// Writes the buffer. What a failed write left goes first: a shorter record would end before it
    /// does.
    fn write_at_end(&mut self, len: u64) -> Result<(), JournalError> {
        self.erase_spoilt()?;
        let written = self.file.write(&self.buffer, self.end);
        if written.is_err() {
            self.spoilt_end = self.end + len;
            // If this fails as well, the next write tries it again.
            self.erase_spoilt().ok();
        }
        written
    }

    fn erase_spoilt(&mut self) -> Result<(), JournalError> {
        if self.spoilt_end > self.end {
            self.file.erase(self.end, self.spoilt_end)?;
        }
        self.spoilt_end = 0;
        Ok(())
    }

    fn take_room(&mut self, room: Room, len: u64) -> Result<(), JournalError> {
        if !self.late.is_empty() {
            return Err(JournalError::Behind(format!(
                "{} ends wait for the disk",
                self.late.len()
            )));
        }
        let promises = self.promised + u64::from(room == Room::Start);
        let needed = self.end + len + promises * ENDING_MAX_LEN;
        if needed > self.reserved {
            let to = needed + NEXT_ROOM;
            self.file.reserve(self.reserved, to)?;
            self.reserved = to;
        }
        Ok(())
    }

    fn write_late(&mut self) -> Result<(), JournalError> {
        if !self.late.is_empty() {
            self.erase_spoilt()?;
        }
        while let Some(bytes) = self.late.front() {
            self.file.write(bytes, self.end)?;
            self.end += bytes.len() as u64;
            self.promised = self.promised.saturating_sub(1);
            self.late.pop_front();
        }
        Ok(())
    }

    fn switch(&mut self, file: LaneFile, index: u64) -> Result<(), JournalError> {
        let reserved = NEXT_ROOM + self.promised * ENDING_MAX_LEN;
        file.reserve(0, reserved)?;
        self.erase_spoilt()?;
        let end = file.write_header(self.next_number)?;
        self.file.seal(self.end);
        self.file = Arc::new(file);
        (self.index, self.end, self.reserved) = (index, end, reserved);
        Ok(())
    }
}
