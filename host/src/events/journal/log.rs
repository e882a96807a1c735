//! The log: entries of all processes in one chain, appended under one lock.
//!
//! A segment that is damaged is left as it is, for `verify` to name, and a new one goes on behind
//! it: refusing to open would stop every call, and mending would hide the damage. What a lane was
//! copied to is on the disk before the lane goes, whoever wrote it.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::error::JournalError;
use super::lane_file::{Faults, sync_folder};
use super::lanes::Lanes;
use super::options::SEGMENT_MAX_LEN;
use super::private;
use super::segment::{self, FORMAT, Header};
use super::tail::Tail;

/// The lock inside the audit folder.
const LOCK: &str = "log.lock";
/// How long the lock is waited for: a batch of another process takes milliseconds.
const LOCK_MAX: Duration = Duration::from_secs(10);
/// How often it is asked for meanwhile.
const LOCK_PACE: Duration = Duration::from_millis(1);

/// When a segment ends, and how its disk fails.
#[derive(Debug, Clone)]
pub(super) struct LogOptions {
    /// In bytes.
    pub(super) segment_max_len: u64,
    /// In milliseconds.
    pub(super) segment_max_age_ms: Option<u64>,
    pub(super) faults: Faults,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            segment_max_len: SEGMENT_MAX_LEN,
            segment_max_age_ms: None,
            faults: Faults::default(),
        }
    }
}

/// The way to the log. Holds nothing locked.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    lock: File,
    lock_path: PathBuf,
    lanes: Lanes,
    options: LogOptions,
    tail: Option<Tail>,
    /// Whether something of the newest segment that was seen may not be on the disk, whoever wrote
    /// it.
    unsynced: bool,
    /// Why a sync failed once. The system may have dropped what it couldn't write, and says so only
    /// once, so a later success proves nothing of what was copied before.
    sync_failed: Option<String>,
}

/// The log, locked: no other process appends.
#[derive(Debug)]
pub(super) struct Locked<'a>(&'a mut Log);

impl Log {
    /// Opens the log of an audit folder whose folders are there.
    pub(super) fn open(
        audit: &Path,
        lanes: Lanes,
        options: LogOptions,
    ) -> Result<Self, JournalError> {
        let lock_path = audit.join(LOCK);
        let mut to_lock = OpenOptions::new();
        to_lock.read(true).write(true).create(true).truncate(false);
        let lock = private::open("open", &lock_path, &mut to_lock)?;
        Ok(Self {
            folder: segment::log_folder(audit),
            lock,
            lock_path,
            lanes,
            options,
            tail: None,
            unsynced: true,
            sync_failed: None,
        })
    }

    /// Takes the lock and sees what others appended.
    pub(super) fn lock(&mut self) -> Result<Locked<'_>, JournalError> {
        wait_for(&self.lock, &self.lock_path)?;
        let locked = Locked(self);
        locked.0.catch_up()?;
        Ok(locked)
    }

    fn catch_up(&mut self) -> Result<(), JournalError> {
        loop {
            let segments = segment::list(&self.folder)?;
            let newest = segments.last();
            match (&mut self.tail, newest) {
                (None, None) => return Ok(()),
                (Some(tail), _) if newest == Some(&tail.segment) => break,
                // Only the oldest segments ever go, and never the newest.
                (Some(tail), _)
                    if newest.is_none_or(|it| it.first_seq < tail.segment.first_seq) =>
                {
                    (tail.damaged, tail.lost) = (true, true);
                    return Ok(());
                }
                _ => {}
            }
            // Another process went on in a new one; what this one put into the old is its to sync.
            self.sync_tail()?;
            if let Some(tail) = Tail::load(&segments, &self.lanes)? {
                (self.tail, self.unsynced) = (Some(tail), true);
                break;
            }
        }
        if let Some(tail) = &mut self.tail {
            self.unsynced |= tail.see(&self.lanes)?;
        }
        Ok(())
    }

    fn sync_tail(&mut self) -> Result<(), JournalError> {
        let Some(tail) = self.tail.as_ref().filter(|tail| self.unsynced && !tail.lost) else {
            return Ok(());
        };
        let path = &tail.segment.path;
        let synced = self.options.faults.refuse_sync(true).and_then(|()| tail.sync());
        let done =
            synced.map_err(JournalError::on("sync", path)).and_then(|()| sync_folder(&self.folder));
        match &done {
            Ok(()) => self.unsynced = false,
            Err(error) => self.sync_failed = Some(error.to_string()),
        }
        done
    }

    /// Why no lane may go any more.
    pub(super) fn sync_failed(&self) -> Option<String> {
        self.sync_failed.clone()
    }
}

/// Waits for the lock of an audit folder without making or changing anything; `None` if it can't be
/// had that way. Closing the file frees it.
pub(super) fn hold(audit: &Path) -> Result<Option<File>, JournalError> {
    let path = audit.join(LOCK);
    let Ok(lock) = private::open("open", &path, OpenOptions::new().read(true)) else {
        return Ok(None);
    };
    wait_for(&lock, &path)?;
    Ok(Some(lock))
}

fn wait_for(lock: &File, path: &Path) -> Result<(), JournalError> {
    let since = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if since.elapsed() < LOCK_MAX => {
                std::thread::sleep(LOCK_PACE);
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let (lock, seconds) = (path.to_owned(), LOCK_MAX.as_secs());
                return Err(JournalError::Busy { lock, seconds });
            }
            Err(errno) => return Err(JournalError::io("lock", path, errno.into())),
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The only failure is a lock that isn't held; closing the file would free it as well.
        flock(&self.0.lock, FlockOperation::Unlock).ok();
    }
}

impl Locked<'_> {
    /// The number of the last record of a lane that is in the log.
    pub(super) fn drained(&self, lane: &str) -> u64 {
        self.0.tail.as_ref().and_then(|tail| tail.drained.get(lane)).copied().unwrap_or(0)
    }

    /// Whether another segment is due.
    fn is_segment_full(&self, now_unix_ms: u64) -> bool {
        let LogOptions { segment_max_len, segment_max_age_ms, .. } = self.0.options;
        let full = |tail: &Tail| {
            let is_empty = tail.seq < tail.segment.first_seq;
            let age_ms = now_unix_ms.saturating_sub(tail.begun_unix_ms);
            let is_old = segment_max_age_ms.is_some_and(|most| age_ms > most);
            tail.damaged || ((tail.offset >= segment_max_len || is_old) && !is_empty)
        };
        self.0.tail.as_ref().is_none_or(full)
    }

    /// Appends records of a lane, by number and JSON. What was appended before an error stays.
    pub(super) fn append<'r>(
        &mut self,
        lane: &str,
        records: impl Iterator<Item = (u64, &'r [u8])>,
        now_unix_ms: u64,
    ) -> Result<(), JournalError> {
        let mut records = records.peekable();
        while records.peek().is_some() {
            if self.is_segment_full(now_unix_ms) {
                self.begin_segment(now_unix_ms)?;
            }
            let room = self.0.options.segment_max_len;
            let Some(tail) = &mut self.0.tail else { return Ok(()) };
            self.0.unsynced = true;
            tail.append(lane, &mut records, room)?;
        }
        Ok(())
    }

    /// Makes all that is in the log survive a power cut. Fails for good once that has failed, or
    /// where entries that were there are gone: no lane may go then.
    pub(super) fn sync(&mut self) -> Result<(), JournalError> {
        if let Some(tail) = self.0.tail.as_ref().filter(|tail| tail.lost) {
            let wrong = format!("entries up to {} were in the log and are gone", tail.seq);
            return Err(JournalError::Damaged { file: tail.segment.path.clone(), wrong });
        }
        self.0.sync_tail()?;
        match &self.0.sync_failed {
            Some(why) => Err(JournalError::Unsynced(why.clone())),
            None => Ok(()),
        }
    }

    /// Whether the newest segment is spoilt.
    pub(super) fn is_damaged(&self) -> bool {
        self.0.tail.as_ref().is_some_and(|tail| tail.damaged)
    }

    /// Why no lane may go any more.
    pub(super) fn sync_failed(&self) -> Option<String> {
        self.0.sync_failed()
    }

    /// The number that the newest segment begins with; 0 if there is none.
    pub(super) fn first_seq(&self) -> u64 {
        self.0.tail.as_ref().map_or(0, |tail| tail.segment.first_seq)
    }

    /// The folder of segments.
    pub(super) fn folder(&self) -> &Path {
        &self.0.folder
    }

    fn begin_segment(&mut self, now_unix_ms: u64) -> Result<(), JournalError> {
        self.0.sync_tail()?;
        let (seq, link) = match &self.0.tail {
            Some(tail) => (tail.seq, tail.link),
            None => (0, segment::no_link(&self.0.folder)?),
        };
        let old = self.0.tail.as_ref();
        let mut drained = old.map(|tail| tail.drained.clone()).unwrap_or_default();
        drained.retain(|lane, _| self.0.lanes.holds(lane));
        let name = |tail: &Tail| tail.segment.path.file_name()?.to_str().map(str::to_owned);
        let header = Header {
            belljar_audit: FORMAT,
            first_seq: seq + 1,
            previous: link,
            at_unix_ms: now_unix_ms,
            lanes: drained,
            after_damage: old.filter(|tail| tail.damaged).and_then(name),
        };
        self.0.tail = Some(Tail::create(&self.0.folder, header)?);
        self.0.unsynced = true;
        Ok(())
    }
}
