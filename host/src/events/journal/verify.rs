//! Verifying: whether the log is one unbroken chain, and holds a head that was kept elsewhere.
//!
//! Writes nothing. An unkeyed chain finds accidents and careless edits; who rewrites all of it is
//! found only by a head that was kept where they can't reach.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::aside::Aside;
use super::error::JournalError;
use super::frame;
use super::lanes::Lanes;
use super::log::hold;
use super::read::Head;
use super::rest::{Known, Rest, judge};
use super::segment::{self, SegmentFile};
use crate::contract::ids::Digest;

/// How often a log whose old segments go while it is read is begun again.
const TRIES: usize = 3;

/// What is wrong with a log, and where first.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It can't be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A place that holds no entry.
    #[error("entry {seq} in `{}` is damaged", file.display())]
    Damaged {
        /// The number that is due there.
        seq: u64,
        /// The segment.
        file: PathBuf,
    },
    /// An entry, or a segment, with another number than is due.
    #[error("`{}` goes on with entry {found} where {seq} is due", file.display())]
    Missing {
        /// The number that is due there.
        seq: u64,
        /// The number that is there.
        found: u64,
        /// The segment.
        file: PathBuf,
    },
    /// An entry that doesn't name the one before it: one of the two was changed.
    #[error("entry {seq} in `{}` doesn't follow the one before it: one of them was changed",
        file.display())]
    Broken {
        /// Its number.
        seq: u64,
        /// The segment.
        file: PathBuf,
    },
    /// Old entries are gone and no checkpoint says so.
    #[error("the log begins with entry {0}, and no checkpoint says that older ones were removed")]
    NoBeginning(u64),
    /// What a process that is gone left for the log, where it holds what no crash leaves.
    #[error("what the process `{0}` left for the log is damaged, and records in it may be lost")]
    DamagedLane(String),
    /// A checkpoint that says something else than the log.
    #[error("entry {0} isn't the one that a checkpoint names")]
    Checkpoint(u64),
    /// The log ends before the head that was kept.
    #[error("the log ends with entry {last}, and entry {expected} was there: it was cut")]
    Cut {
        /// The number of the last entry.
        last: u64,
        /// The number of the head that was kept.
        expected: u64,
    },
    /// The log has another entry where the head that was kept should be.
    #[error("entry {0} isn't the one that was there: the log was rewritten")]
    Rewritten(u64),
    /// The head that was kept is older than what retention keeps.
    #[error("the log begins with entry {first}, so entry {expected} can't be compared any more")]
    HeadRemoved {
        /// The number of the first entry.
        first: u64,
        /// The number of the head that was kept.
        expected: u64,
    },
}

/// A log that is whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// How many entries it has.
    pub entries: u64,
    /// The number of the first.
    pub first_seq: Option<u64>,
    /// The last.
    pub head: Option<Head>,
    /// The number of the last entry that retention removed.
    pub removed_through: Option<u64>,
    /// Bytes at the end that are no whole entry: it is being written, or was when its process went,
    /// or a power cut spoilt it. None of them was acknowledged but what is in a lane as well.
    pub unfinished_bytes: u64,
    /// Lanes that are there, of living processes or not taken in yet.
    pub lanes: usize,
    /// Records in them that aren't in the log yet.
    pub pending: u64,
    /// Lanes that recovery found damaged and put into the folder `damaged`. Records in them may be
    /// in no log.
    pub set_aside: usize,
}

/// Checks the log of an audit folder, and that it holds `expected`. One that isn't there is empty.
///
/// Where the end of the log is spoilt, the log is held meanwhile, to see whether a process that is
/// gone left in its lane what a power cut took.
///
/// # Errors
/// The first thing that is wrong.
pub fn verify(audit: &Path, expected: Option<Head>) -> Result<Verified, VerifyError> {
    let log = segment::log_folder(audit);
    let mut held = None;
    for _ in 0..TRIES {
        let segments = segment::list(&log)?;
        let lanes = held.as_ref().map(|_lock| Lanes::in_folder(audit));
        let mut walk = Walk { expected, lanes, ..Walk::default() };
        match walk.all(&segments) {
            Err(VerifyError::Damaged { file, seq }) if held.is_none() => {
                let is_newest = segment::list(&log)?.last().is_some_and(|it| it.path == file);
                held = if is_newest { hold(audit)? } else { None };
                if held.is_none() {
                    return Err(VerifyError::Damaged { file, seq });
                }
            }
            // Retention may have removed the oldest segments meanwhile.
            Err(VerifyError::Journal(JournalError::Io { source, .. }))
                if source.kind() == io::ErrorKind::NotFound
                    && segment::list(&log)?.first() != segments.first() => {}
            Err(error) => return Err(error),
            Ok(()) => return walk.end(audit),
        }
    }
    Err(JournalError::Changing(log).into())
}

/// The state of the walk along the chain.
#[derive(Debug, Default)]
struct Walk {
    expected: Option<Head>,
    /// Looked into at the end, where the log is held.
    lanes: Option<Lanes>,
    first: Option<Head>,
    /// The number and link that come next.
    next_seq: u64,
    link: Option<Digest>,
    head: Option<Head>,
    entries: u64,
    unfinished_bytes: u64,
    /// Lane → the number of its last record in the log, for lanes of the newest segment.
    drained: BTreeMap<String, u64>,
    checkpoints: Vec<(u64, Digest)>,
}

impl Walk {
    fn all(&mut self, segments: &[SegmentFile]) -> Result<(), VerifyError> {
        for (place, segment) in segments.iter().enumerate() {
            self.segment(segment, place + 1 == segments.len())?;
        }
        Ok(())
    }

    fn segment(&mut self, segment: &SegmentFile, is_last: bool) -> Result<(), VerifyError> {
        let (path, seq) = (&segment.path, segment.first_seq);
        let damaged = |seq| VerifyError::Damaged { seq, file: path.clone() };
        let bytes = segment::read(path, 0)?;
        let Some((header, mut at)) = segment::header(&bytes, path)? else {
            let known = Known { seq: seq.saturating_sub(1), link: None, drained: &self.drained };
            if !is_last || judge(&bytes, 0, &known, self.lanes.as_ref())? == Rest::Damaged {
                return Err(damaged(seq));
            }
            self.unfinished_bytes = bytes.len() as u64;
            return Ok(());
        };
        if header.first_seq != seq {
            return Err(VerifyError::Missing { seq, found: header.first_seq, file: path.clone() });
        }
        match self.link {
            None => {
                self.first = Some(Head { seq, hash: header.previous });
                self.next_seq = seq;
            }
            Some(_) if seq != self.next_seq => {
                let (seq, found) = (self.next_seq, seq);
                return Err(VerifyError::Missing { seq, found, file: path.clone() });
            }
            Some(link) if link != header.previous => {
                return Err(VerifyError::Broken { seq, file: path.clone() });
            }
            Some(_) => {}
        }
        self.link = Some(Digest::of(bytes.get(frame::HEADER_LEN..at).unwrap_or_default()));
        self.drained = header.lanes;
        for (payload, end) in frame::all(&bytes, at) {
            self.entry(payload, path)?;
            at = end;
        }
        let seq = self.next_seq.saturating_sub(1);
        let known = Known { seq, link: self.link, drained: &self.drained };
        let lanes = self.lanes.as_ref().filter(|_| is_last);
        let is_torn = match judge(&bytes, at, &known, lanes)? {
            Rest::Nothing => return Ok(()),
            rest => rest == Rest::Torn && is_last,
        };
        if !is_torn {
            return Err(damaged(self.next_seq));
        }
        self.unfinished_bytes = (bytes.len() - at) as u64;
        Ok(())
    }

    fn entry(&mut self, payload: &[u8], path: &Path) -> Result<(), VerifyError> {
        let (seq, file) = (self.next_seq, path.to_owned());
        let Some(head) = segment::entry_head(payload) else {
            return Err(VerifyError::Damaged { seq, file });
        };
        if head.seq != seq {
            return Err(VerifyError::Missing { seq, found: head.seq, file });
        }
        if Some(head.previous) != self.link {
            return Err(VerifyError::Broken { seq, file });
        }
        let hash = Digest::of(payload);
        if self.expected.is_some_and(|expected| expected.seq == seq && expected.hash != hash) {
            return Err(VerifyError::Rewritten(seq));
        }
        self.checkpoints.extend(checkpoint(payload));
        segment::raise(&mut self.drained, &head);
        self.link = Some(hash);
        self.head = Some(Head { seq, hash });
        self.entries += 1;
        self.next_seq += 1;
        Ok(())
    }

    fn end(self, audit: &Path) -> Result<Verified, VerifyError> {
        let before = self.first.map_or(0, |first| first.seq.saturating_sub(1));
        let covered = self.checkpoints.iter().map(|(seq, _)| *seq).max();
        if before > 0 && covered.is_none_or(|covered| covered < before) {
            return Err(VerifyError::NoBeginning(before + 1));
        }
        let first_link = self.first.map(|first| first.hash);
        if let Some((seq, _)) =
            self.checkpoints.iter().find(|(seq, link)| *seq == before && Some(*link) != first_link)
        {
            return Err(VerifyError::Checkpoint(*seq));
        }
        if let Some(expected) = self.expected {
            self.compare(expected, before, first_link)?;
        }
        let (lanes, pending) = pending(audit, &self.drained, self.lanes.is_some())?;
        Ok(Verified {
            entries: self.entries,
            first_seq: self.first.map(|first| first.seq),
            head: self.head,
            removed_through: Some(before).filter(|before| *before > 0),
            unfinished_bytes: self.unfinished_bytes,
            lanes,
            pending,
            set_aside: Aside::in_folder(audit).lanes()?,
        })
    }

    fn compare(
        &self,
        expected: Head,
        before: u64,
        first_link: Option<Digest>,
    ) -> Result<(), VerifyError> {
        let last = self.next_seq.saturating_sub(1);
        if expected.seq > last {
            return Err(VerifyError::Cut { last, expected: expected.seq });
        }
        if expected.seq < before {
            return Err(VerifyError::HeadRemoved { first: before + 1, expected: expected.seq });
        }
        if expected.seq == before && Some(expected.hash) != first_link {
            return Err(VerifyError::Rewritten(expected.seq));
        }
        Ok(())
    }
}

/// What a checkpoint says.
fn checkpoint(payload: &[u8]) -> Option<(u64, Digest)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Checkpoint {
        r#type: String,
        removed_through: u64,
        link: Digest,
    }
    let text = std::str::from_utf8(payload).ok()?;
    if !text.contains("\"type\":\"Checkpoint\"") {
        return None;
    }
    let said: Checkpoint = serde_json::from_slice(payload).ok()?;
    (said.r#type == "Checkpoint").then_some((said.removed_through, said.link))
}

/// How many lanes there are, and how many of their records aren't in the log. One of a process that
/// is gone may hold damage, and then the log isn't the whole record.
fn pending(
    audit: &Path,
    drained: &BTreeMap<String, u64>,
    is_held: bool,
) -> Result<(usize, u64), VerifyError> {
    let lanes = Lanes::in_folder(audit);
    let (mut count, mut pending) = (0, 0);
    for id in lanes.ids()? {
        let contents = match lanes.contents(&id) {
            // Its process has just closed it.
            Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                continue;
            }
            other => other?,
        };
        if contents.damaged && is_dead_and_damaged(audit, &lanes, &id, is_held)? {
            return Err(VerifyError::DamagedLane(id));
        }
        let last = drained.get(&id).copied().unwrap_or(0);
        count += 1;
        pending += contents.records.iter().filter(|(number, _)| *number > last).count() as u64;
    }
    Ok((count, pending))
}

/// Looks again at a lane that seems damaged, as one does that is being written to. False if its
/// process lives, or nobody can tell.
fn is_dead_and_damaged(
    audit: &Path,
    lanes: &Lanes,
    id: &str,
    is_held: bool,
) -> Result<bool, VerifyError> {
    // Nobody else may take the lane for living because it is being looked at.
    let held = if is_held { None } else { hold(audit)? };
    if !is_held && held.is_none() {
        return Ok(false);
    }
    let Some(dead) = lanes.take_dead(id)? else { return Ok(false) };
    Ok(lanes.contents(&dead.id)?.damaged)
}
