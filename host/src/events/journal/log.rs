//! The log: entries of all processes in one chain, appended under one lock.
//!
//! Nothing is cut off here that isn't still in a lane. A last segment that ends in a torn frame is
//! cut to its whole frames, since what was torn is copied again. One that holds whole entries after
//! a spoilt place is left as it is, for `verify` to name, and a new segment goes on behind it:
//! refusing to open would stop every call, and mending would hide the damage.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::error::JournalError;
use super::frame;
use super::lane_file::sync_folder;
use super::lanes::Lanes;
use super::segment::{self, EntryHead, FORMAT, Header, SegmentFile};
use crate::contract::ids::Digest;

/// How long the lock is waited for: a batch of another process takes milliseconds.
const LOCK_MAX: Duration = Duration::from_secs(10);
/// How often it is asked for meanwhile.
const LOCK_PACE: Duration = Duration::from_millis(1);
/// Bytes gathered before they are written.
const BATCH_LEN: usize = 256 * 1024;

/// The way to the log. Holds nothing locked.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    lock: File,
    lock_path: PathBuf,
    lanes: Lanes,
    segment_max_len: u64,
    tail: Option<Tail>,
    /// Segments written to since the last sync, and whether names changed.
    unsynced: bool,
}

/// The end of the log as this process last saw it.
#[derive(Debug)]
struct Tail {
    file: File,
    segment: SegmentFile,
    offset: u64,
    /// The number of the last entry.
    seq: u64,
    link: Digest,
    /// Lane → the number of its last record here.
    drained: BTreeMap<String, u64>,
    /// Why nothing may be appended to this segment.
    damaged: bool,
}

/// The log, locked: no other process appends.
#[derive(Debug)]
pub(super) struct Locked<'a>(&'a mut Log);

impl Log {
    /// Opens the log of an audit folder whose folders are there.
    pub(super) fn open(
        audit: &Path,
        lanes: Lanes,
        segment_max_len: u64,
    ) -> Result<Self, JournalError> {
        let lock_path = audit.join("log.lock");
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(JournalError::on("open", &lock_path))?;
        Ok(Self {
            folder: segment::log_folder(audit),
            lock,
            lock_path,
            lanes,
            segment_max_len,
            tail: None,
            unsynced: false,
        })
    }

    /// Takes the lock and sees what others appended.
    pub(super) fn lock(&mut self) -> Result<Locked<'_>, JournalError> {
        let since = Instant::now();
        loop {
            match flock(&self.lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if since.elapsed() < LOCK_MAX => {
                    std::thread::sleep(LOCK_PACE);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let (lock, seconds) = (self.lock_path.clone(), LOCK_MAX.as_secs());
                    return Err(JournalError::Busy { lock, seconds });
                }
                Err(errno) => return Err(JournalError::io("lock", &self.lock_path, errno.into())),
            }
        }
        let locked = Locked(self);
        locked.0.catch_up()?;
        Ok(locked)
    }

    fn catch_up(&mut self) -> Result<(), JournalError> {
        loop {
            let Some(newest) = segment::list(&self.folder)?.pop() else { return Ok(()) };
            let known = self.tail.take().filter(|tail| tail.segment == newest);
            let mut tail = match known {
                Some(tail) => tail,
                None => match Tail::load(&newest)? {
                    Some(tail) => tail,
                    // A crash came between making the segment and writing its header.
                    None => {
                        put_aside(&newest)?;
                        continue;
                    }
                },
            };
            tail.see(&self.lanes)?;
            self.tail = Some(tail);
            return Ok(());
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
    pub(super) fn is_segment_full(&self) -> bool {
        let full = |tail: &Tail| {
            let is_empty = tail.seq < tail.segment.first_seq;
            tail.damaged || (tail.offset >= self.0.segment_max_len && !is_empty)
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
            if self.is_segment_full() {
                self.begin_segment(now_unix_ms)?;
            }
            let room = self.0.segment_max_len;
            let Some(tail) = &mut self.0.tail else { return Ok(()) };
            self.0.unsynced = true;
            tail.append(lane, &mut records, room)?;
        }
        Ok(())
    }

    /// Makes all that was appended survive a power cut.
    pub(super) fn sync(&mut self) -> Result<(), JournalError> {
        if let Some(tail) = self.0.tail.as_ref().filter(|_| self.0.unsynced) {
            tail.sync()?;
            sync_folder(&self.0.folder)?;
            self.0.unsynced = false;
        }
        Ok(())
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
        self.sync()?;
        let (seq, link) = match &self.0.tail {
            Some(tail) => (tail.seq, tail.link),
            None => (0, segment::no_link()?),
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

impl Tail {
    fn create(folder: &Path, header: Header) -> Result<Self, JournalError> {
        let path = segment::path_of(folder, header.first_seq);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(JournalError::on("make", &path))?;
        let json = serde_json::to_vec(&header).unwrap_or_default();
        let mut bytes = Vec::new();
        if !frame::push(&mut bytes, &json) {
            return Err(JournalError::TooLarge(json.len()));
        }
        file.write_all_at(&bytes, 0).map_err(JournalError::on("write", &path))?;
        Ok(Self {
            file,
            segment: SegmentFile { first_seq: header.first_seq, path },
            offset: bytes.len() as u64,
            seq: header.first_seq - 1,
            link: Digest::of(&json),
            drained: header.lanes,
            damaged: false,
        })
    }

    /// Reads a segment's header; `None` if it has none.
    fn load(segment: &SegmentFile) -> Result<Option<Self>, JournalError> {
        let path = &segment.path;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(JournalError::on("open", path))?;
        let bytes = segment::read(path, 0)?;
        let Some((header, end)) = segment::header(&bytes, path)? else {
            // With entries behind it, it is damaged; without any it is no segment yet.
            let Some((last, link)) = segment::stragglers(&bytes, 0).pop() else { return Ok(None) };
            return Ok(Some(Self {
                file,
                segment: segment.clone(),
                offset: bytes.len() as u64,
                seq: last.seq.max(segment.first_seq),
                link,
                drained: BTreeMap::new(),
                damaged: true,
            }));
        };
        let payload = bytes.get(frame::HEADER_LEN..end).unwrap_or_default();
        Ok(Some(Self {
            file,
            segment: segment.clone(),
            offset: end as u64,
            seq: header.first_seq.saturating_sub(1),
            link: Digest::of(payload),
            drained: header.lanes,
            damaged: false,
        }))
    }

    /// Takes in what lies after the place that is known, and cuts off what is torn.
    fn see(&mut self, lanes: &Lanes) -> Result<(), JournalError> {
        if self.damaged {
            return Ok(());
        }
        let bytes = segment::read(&self.segment.path, self.offset)?;
        let mut at = 0;
        for (payload, end) in frame::all(&bytes, 0) {
            let Some(head) = segment::entry_head(payload).filter(|head| head.seq == self.seq + 1)
            else {
                break;
            };
            self.seq = head.seq;
            self.link = Digest::of(payload);
            match self.drained.get_mut(head.lane) {
                Some(number) => *number = head.number,
                None => {
                    self.drained.insert(head.lane.to_owned(), head.number);
                }
            }
            at = end;
        }
        self.offset += at as u64;
        if at == bytes.len() {
            return Ok(());
        }
        let after = segment::stragglers(&bytes, at);
        match after.last() {
            Some((last, link)) if !after.iter().all(|(head, _)| lanes.holds(head.lane)) => {
                (self.seq, self.link) = (last.seq.max(self.seq).max(self.segment.first_seq), *link);
                self.damaged = true;
                Ok(())
            }
            _ => self.cut(),
        }
    }

    fn cut(&self) -> Result<(), JournalError> {
        self.file.set_len(self.offset).map_err(JournalError::on("cut", &self.segment.path))
    }

    fn sync(&self) -> Result<(), JournalError> {
        rustix::fs::fdatasync(&self.file)
            .map_err(|errno| JournalError::io("sync", &self.segment.path, errno.into()))
    }

    /// Appends one batch, which ends once it is long enough or the segment is full.
    fn append<'r>(
        &mut self,
        lane: &str,
        records: &mut impl Iterator<Item = (u64, &'r [u8])>,
        segment_max_len: u64,
    ) -> Result<(), JournalError> {
        let (mut batch, mut seq, mut link, mut last) =
            (Vec::with_capacity(BATCH_LEN), self.seq, self.link, None);
        for (number, record) in records {
            seq += 1;
            let head = EntryHead { seq, previous: link, lane, number };
            link = segment::push_entry(&mut batch, &head, record)?;
            last = Some(number);
            if batch.len() >= BATCH_LEN || self.offset + batch.len() as u64 >= segment_max_len {
                break;
            }
        }
        let Some(number) = last else { return Ok(()) };
        if let Err(error) = self.file.write_all_at(&batch, self.offset) {
            // If this fails as well, whoever locks next cuts what is torn.
            self.file.set_len(self.offset).ok();
            return Err(JournalError::io("write", &self.segment.path, error));
        }
        self.offset += batch.len() as u64;
        (self.seq, self.link) = (seq, link);
        self.drained.insert(lane.to_owned(), number);
        Ok(())
    }
}

/// Removes a segment that has nothing in it; one that has something else gets another name.
fn put_aside(segment: &SegmentFile) -> Result<(), JournalError> {
    let path = &segment.path;
    let bytes = segment::read(path, 0)?;
    let done: io::Result<()> = if bytes.iter().all(|byte| *byte == 0) {
        fs::remove_file(path)
    } else {
        fs::rename(path, path.with_extension("torn"))
    };
    done.map_err(JournalError::on("put aside", path))
}
