//! The end of the log as this process last saw it, and how entries are put behind it.
//!
//! Cuts off only what `rest` calls torn, and keeps that aside. A segment that is spoilt, or that was
//! cut or taken away under a process that knows more of it, is never written to again: the next one
//! begins with the number and the link that are known, so that `verify` names the place.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::Path;

use super::error::JournalError;
use super::frame;
use super::lanes::Lanes;
use super::private;
use super::rest::{Known, Rest, judge};
use super::segment::{self, EntryHead, Header, SegmentFile};
use crate::contract::ids::Digest;

/// Bytes gathered before they are written.
const BATCH_LEN: usize = 256 * 1024;

/// The newest segment, up to its last whole entry.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    pub(super) segment: SegmentFile,
    pub(super) offset: u64,
    /// The number of the last entry.
    pub(super) seq: u64,
    pub(super) link: Digest,
    /// Lane → the number of its last record here.
    pub(super) drained: BTreeMap<String, u64>,
    /// When the segment was begun, in milliseconds since 1970 (UTC).
    pub(super) begun_unix_ms: u64,
    /// Nothing may be appended to this segment.
    pub(super) damaged: bool,
    /// Entries that were seen aren't there any more.
    pub(super) lost: bool,
}

impl Tail {
    pub(super) fn create(folder: &Path, header: Header) -> Result<Self, JournalError> {
        let path = segment::path_of(folder, header.first_seq);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = private::open("make", &path, &mut options)?;
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
            begun_unix_ms: header.at_unix_ms,
            damaged: false,
            lost: false,
        })
    }

    /// The newest of these segments, up to its header; `None` if it was none yet and has been
    /// removed.
    pub(super) fn load(
        segments: &[SegmentFile],
        lanes: &Lanes,
    ) -> Result<Option<Self>, JournalError> {
        let Some((segment, older)) = segments.split_last() else { return Ok(None) };
        let path = &segment.path;
        let file = private::open("open", path, OpenOptions::new().read(true).write(true))?;
        let bytes = segment::read(path, 0)?;
        let Some((header, end)) = segment::header(&bytes, path)? else {
            return Self::headless(file, segment, &bytes, older, lanes);
        };
        let payload = bytes.get(frame::HEADER_LEN..end).unwrap_or_default();
        Ok(Some(Self {
            file,
            segment: segment.clone(),
            offset: end as u64,
            seq: header.first_seq.saturating_sub(1),
            link: Digest::of(payload),
            drained: header.lanes,
            begun_unix_ms: header.at_unix_ms,
            damaged: false,
            lost: false,
        }))
    }

    fn headless(
        file: File,
        segment: &SegmentFile,
        bytes: &[u8],
        older: &[SegmentFile],
        lanes: &Lanes,
    ) -> Result<Option<Self>, JournalError> {
        let drained = segment::drained_in(older)?;
        let known =
            Known { seq: segment.first_seq.saturating_sub(1), link: None, drained: &drained };
        if judge(bytes, 0, &known, Some(lanes))? != Rest::Damaged {
            lanes.aside().keep(&segment.path, 0, bytes)?;
            let removed = fs::remove_file(&segment.path);
            return removed.map(|()| None).map_err(JournalError::on("remove", &segment.path));
        }
        let mut tail = Self {
            file,
            segment: segment.clone(),
            offset: bytes.len() as u64,
            seq: segment.first_seq,
            link: Digest::of(bytes),
            drained,
            begun_unix_ms: 0,
            damaged: false,
            lost: false,
        };
        tail.leave(bytes, 0);
        Ok(Some(tail))
    }

    /// Takes in what lies after the place that is known, and cuts off what is torn. True if others
    /// have appended something.
    pub(super) fn see(&mut self, lanes: &Lanes) -> Result<bool, JournalError> {
        if self.damaged {
            return Ok(false);
        }
        if !self.is_there()? {
            (self.damaged, self.lost) = (true, true);
            return Ok(false);
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
            segment::raise(&mut self.drained, &head);
            at = end;
        }
        self.offset += at as u64;
        let known = Known { seq: self.seq, link: Some(self.link), drained: &self.drained };
        match judge(&bytes, at, &known, Some(lanes))? {
            Rest::Nothing => {}
            Rest::Torn => {
                let rest = bytes.get(at..).unwrap_or_default();
                lanes.aside().keep(&self.segment.path, self.offset, rest)?;
                self.cut().map_err(JournalError::on("cut", &self.segment.path))?;
            }
            Rest::Damaged => self.leave(&bytes, at),
        }
        Ok(at > 0)
    }

    /// Whether the segment's name still leads to this file, and all that was seen is in it.
    fn is_there(&self) -> Result<bool, JournalError> {
        let path = &self.segment.path;
        let named = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.map_err(JournalError::on("read", path))?,
        };
        let open = self.file.metadata().map_err(JournalError::on("read", path))?;
        let is_same = (named.dev(), named.ino()) == (open.dev(), open.ino());
        Ok(is_same && open.len() >= self.offset)
    }

    /// Leaves a spoilt segment as it is. Its whole entries count, so that nothing of them is copied
    /// again behind it.
    fn leave(&mut self, bytes: &[u8], at: usize) {
        self.damaged = true;
        let after = segment::stragglers(bytes, at);
        if let Some((last, link)) = after.last() {
            (self.seq, self.link) = (last.seq.max(self.seq), *link);
        }
        after.iter().for_each(|(head, _)| segment::raise(&mut self.drained, head));
    }

    fn cut(&self) -> io::Result<()> {
        self.file.set_len(self.offset)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(&self.file)?)
    }

    /// Appends one batch, which ends once it is long enough or the segment is full.
    pub(super) fn append<'r>(
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
            self.cut().ok();
            return Err(JournalError::io("write", &self.segment.path, error));
        }
        self.offset += batch.len() as u64;
        (self.seq, self.link) = (seq, link);
        self.drained.insert(lane.to_owned(), number);
        Ok(())
    }
}
