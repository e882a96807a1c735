//! Reading the log: entries in their order, by what they say.
//!
//! Writes nothing and takes no lock. Looks at every entry where a time is asked for: clocks go
//! backwards, numbers don't. What a process hasn't copied to the log yet isn't there yet.

use std::collections::{BTreeMap, VecDeque, vec_deque};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::JournalError;
use super::frame;
use super::rest::{Known, Rest, judge};
use super::segment::{self, Header, SegmentFile};
use crate::contract::ids::Digest;

/// An entry of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Rises by one from entry to entry.
    pub seq: u64,
    /// When it was written, by the clock of its process, in milliseconds since 1970 (UTC).
    pub at_unix_ms: u64,
    /// The SHA-256 of `json`.
    pub hash: Digest,
    /// What kind of record it is: `CallStarted` and so on.
    pub kind: String,
    /// All its fields.
    pub fields: Map<String, Value>,
    /// The entry exactly as it lies in the log: one line of JSON.
    pub json: String,
}

impl Entry {
    /// A field that is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}

/// Which entries are wanted: those for which all that is set holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Written at this time or later.
    pub since_unix_ms: Option<u64>,
    /// With this number or a higher one.
    pub since_seq: Option<u64>,
    /// Of this call.
    pub call_id: Option<String>,
    /// Of this tool: its id, or the name that was asked for.
    pub tool: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// No more than so many, the oldest first.
    pub limit: Option<usize>,
}

impl Filter {
    fn admits(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, field| {
            wanted.is_none() || wanted.as_deref() == entry.text(field)
        };
        self.since_unix_ms.is_none_or(|since| entry.at_unix_ms >= since)
            && self.since_seq.is_none_or(|since| entry.seq >= since)
            && is(&self.call_id, "callId")
            && (is(&self.tool, "tool") || is(&self.tool, "toolName"))
            && self.kind.as_ref().is_none_or(|kind| *kind == entry.kind)
    }
}

/// The last entry of a log: kept elsewhere, it shows whether the log was cut or rewritten since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number.
    pub seq: u64,
    /// The SHA-256 of its JSON.
    pub hash: Digest,
}

/// Entries in the order of their numbers. A spoilt place is one error, which says how much is left
/// out; it goes on with the next whole entry behind it. Whether the chain is whole is `verify`'s.
#[derive(Debug)]
pub struct Entries {
    segments: vec_deque::IntoIter<SegmentFile>,
    open: Option<(PathBuf, Vec<u8>, usize)>,
    filter: Filter,
    left: usize,
}

/// Reads the log of an audit folder. One that isn't there is empty.
///
/// # Errors
/// If the folder can't be listed; what is wrong with a segment comes at its place.
pub fn read(audit: &Path, filter: Filter) -> Result<Entries, JournalError> {
    let mut segments: VecDeque<SegmentFile> = segment::list(&segment::log_folder(audit))?.into();
    if let Some(since) = filter.since_seq {
        while segments.get(1).is_some_and(|next| next.first_seq <= since) {
            segments.pop_front();
        }
    }
    let left = filter.limit.unwrap_or(usize::MAX);
    Ok(Entries { segments: segments.into_iter(), open: None, filter, left })
}

/// The last entry; `None` if there is none.
///
/// # Errors
/// If the newest segment can't be read, or is spoilt. What a power cut left is called so too until
/// [`super::recover`] has made up for it.
pub fn head(audit: &Path) -> Result<Option<Head>, JournalError> {
    let mut segments = segment::list(&segment::log_folder(audit))?;
    while let Some(newest) = segments.pop() {
        let bytes = segment::read(&newest.path, 0)?;
        if let Some((header, end)) = segment::header(&bytes, &newest.path)? {
            return last_of(&header, &bytes, end, newest.path);
        }
        // Another process may be making it.
        if is_spoilt(&bytes, 0)? {
            return Err(damaged(newest.path, 0));
        }
    }
    Ok(None)
}

/// Whether more lies there than a write that was cut short, or is under way.
fn is_spoilt(bytes: &[u8], at: usize) -> Result<bool, JournalError> {
    let known = Known { seq: 0, link: None, drained: &BTreeMap::new() };
    Ok(judge(bytes, at, &known, None)? == Rest::Damaged)
}

fn last_of(
    header: &Header,
    bytes: &[u8],
    mut end: usize,
    file: PathBuf,
) -> Result<Option<Head>, JournalError> {
    let mut head = header
        .first_seq
        .checked_sub(1)
        .filter(|seq| *seq > 0)
        .map(|seq| Head { seq, hash: header.previous });
    for (payload, next) in frame::all(bytes, end) {
        let Some(entry) = segment::entry_head(payload) else { break };
        head = Some(Head { seq: entry.seq, hash: Digest::of(payload) });
        end = next;
    }
    if is_spoilt(bytes, end)? {
        return Err(damaged(file, end));
    }
    Ok(head)
}

impl Iterator for Entries {
    type Item = Result<Entry, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let Some((path, bytes, at)) = &mut self.open else {
                match open(self.segments.next()?) {
                    Ok(open) => self.open = open,
                    Err(error) => return Some(Err(error)),
                }
                continue;
            };
            let found = frame::at(bytes, *at);
            if let frame::Found::Frame { payload, end } = found
                && let Some(entry) = parse(payload)
            {
                *at = end;
                if self.filter.admits(&entry) {
                    self.left -= 1;
                    return Some(Ok(entry));
                }
                continue;
            }
            let (from, file) = (*at, path.clone());
            if let Some((start, seq)) = segment::next_entry(bytes, from + 1) {
                *at = start;
                let (left_out, next) = (start - from, Some(seq));
                return Some(Err(JournalError::Spoilt { file, at: from, left_out, next }));
            }
            // What is being written right now is no damage.
            let is_followed = self.segments.len() > 0 && from < bytes.len();
            let spoilt = if is_followed { Ok(true) } else { is_spoilt(bytes, from) };
            let left_out = bytes.len() - from;
            self.open = None;
            match spoilt {
                Ok(false) => {}
                Ok(true) => {
                    return Some(Err(JournalError::Spoilt {
                        file,
                        at: from,
                        left_out,
                        next: None,
                    }));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

type Open = Option<(PathBuf, Vec<u8>, usize)>;

/// `None` for a segment that retention removed meanwhile, or that has just been made.
fn open(segment: SegmentFile) -> Result<Open, JournalError> {
    let bytes = match segment::read(&segment.path, 0) {
        Err(JournalError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        other => other?,
    };
    // Behind a header that is spoilt there may be entries all the same.
    let at = segment::header(&bytes, &segment.path)?.map_or(0, |(_, end)| end);
    Ok(Some((segment.path, bytes, at)))
}

fn parse(payload: &[u8]) -> Option<Entry> {
    let head = segment::entry_head(payload)?;
    let json = std::str::from_utf8(payload).ok()?.to_owned();
    let fields: Map<String, Value> = serde_json::from_str(&json).ok()?;
    Some(Entry {
        seq: head.seq,
        at_unix_ms: fields.get("atUnixMs")?.as_u64()?,
        hash: Digest::of(payload),
        kind: fields.get("type")?.as_str()?.to_owned(),
        fields,
        json,
    })
}

fn damaged(file: PathBuf, at: usize) -> JournalError {
    JournalError::Damaged { file, wrong: format!("no entry lies at byte {at}") }
}
