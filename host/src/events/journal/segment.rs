//! Segments: how entries are written and read back, and what ties them together.
//!
//! Every frame is a link: it names the SHA-256 of the payload before it, across segments as well.
//! The first frame of a segment is its header, which is also the index: what number it begins
//! with, and when. Opens no file for writing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::JournalError;
use super::frame;
use super::lanes::is_lane_id;
use super::private;
use crate::contract::ids::{Digest, IdError};

/// The format of segments that this code writes, and the last that it reads.
pub(super) const FORMAT: u64 = 1;
/// Most bytes of a segment that are read: far more than one grows to.
const FILE_MAX_LEN: u64 = 1 << 30;
/// The folder of segments inside the audit folder.
const LOG: &str = "log";
/// The beginning of each entry.
const ENTRY_MARK: &[u8] = b"{\"seq\":";

/// What the first frame of a segment says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    /// The format.
    pub(super) belljar_audit: u64,
    /// The number of the first entry.
    pub(super) first_seq: u64,
    /// The link before: the SHA-256 of the last payload of the segment before.
    pub(super) previous: Digest,
    /// When the segment was begun, in milliseconds since 1970 (UTC).
    pub(super) at_unix_ms: u64,
    /// The lanes that were there, each with the number of its last record in the log.
    pub(super) lanes: BTreeMap<String, u64>,
    /// The segment before it, if that turned out to be damaged and was left as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after_damage: Option<String>,
}

/// What an entry says before its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryHead<'a> {
    pub(super) seq: u64,
    pub(super) previous: Digest,
    pub(super) lane: &'a str,
    pub(super) number: u64,
}

/// The link before the first.
pub(super) fn no_link(log: &Path) -> Result<Digest, JournalError> {
    // 64 zeros are always a digest.
    "0".repeat(64).parse().map_err(|error: IdError| JournalError::Damaged {
        file: log.to_owned(),
        wrong: error.to_string(),
    })
}

/// Appends an entry's frame and gives its link. `record` is a JSON object, which the entry's own
/// fields come in front of.
pub(super) fn push_entry(
    buffer: &mut Vec<u8>,
    head: &EntryHead<'_>,
    record: &[u8],
) -> Result<Digest, JournalError> {
    let start = frame::begin(buffer);
    let EntryHead { seq, previous, lane, number } = head;
    let own = format!(
        "{{\"seq\":{seq},\"previous\":\"{previous}\",\"lane\":\"{lane}\",\"number\":{number},"
    );
    buffer.extend_from_slice(own.as_bytes());
    buffer.extend_from_slice(record.get(1..).unwrap_or_default());
    if !frame::seal(buffer, start) {
        return Err(JournalError::TooLarge(record.len()));
    }
    let payload = buffer.get(start + frame::HEADER_LEN..).unwrap_or_default();
    Ok(Digest::of(payload))
}

/// Reads what [`push_entry`] wrote; `None` for anything else.
pub(super) fn entry_head(payload: &[u8]) -> Option<EntryHead<'_>> {
    let (seq, rest) = number(payload.strip_prefix(ENTRY_MARK)?)?;
    let (previous, rest) = rest.strip_prefix(b",\"previous\":\"")?.split_at_checked(64)?;
    let rest = rest.strip_prefix(b"\",\"lane\":\"")?;
    let quote = rest.iter().position(|byte| *byte == b'"')?;
    let (lane, rest) = rest.split_at_checked(quote)?;
    let (number, rest) = number(rest.strip_prefix(b"\",\"number\":")?)?;
    let previous = std::str::from_utf8(previous).ok()?.parse().ok()?;
    let lane = std::str::from_utf8(lane).ok().filter(|lane| is_lane_id(lane))?;
    (rest.first() == Some(&b',')).then_some(EntryHead { seq, previous, lane, number })
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = bytes.split_at_checked(len)?;
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// A segment by its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SegmentFile {
    pub(super) first_seq: u64,
    pub(super) path: PathBuf,
}

/// The folder of segments inside an audit folder.
pub(super) fn log_folder(audit: &Path) -> PathBuf {
    audit.join(LOG)
}

/// The path of the segment that begins with this number.
pub(super) fn path_of(log: &Path, first_seq: u64) -> PathBuf {
    log.join(format!("{first_seq:020}.log"))
}

/// The segments in a folder, oldest first. Files of other names are none.
pub(super) fn list(log: &Path) -> Result<Vec<SegmentFile>, JournalError> {
    let entries = match fs::read_dir(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(JournalError::on("list", log))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(JournalError::on("list", log))?.path();
        let first_seq = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".log")?.parse().ok())
            .filter(|seq| path_of(log, *seq) == path);
        found.extend(first_seq.map(|first_seq| SegmentFile { first_seq, path }));
    }
    found.sort();
    Ok(found)
}

/// A segment's bytes from `from` on.
pub(super) fn read(path: &Path, from: u64) -> Result<Vec<u8>, JournalError> {
    let mut file = private::open("open", path, fs::OpenOptions::new().read(true))?;
    let len = file.metadata().map_err(JournalError::on("read", path))?.len();
    if len > FILE_MAX_LEN {
        let wrong = format!("it has {len} bytes");
        return Err(JournalError::Damaged { file: path.to_owned(), wrong });
    }
    let left = len.saturating_sub(from);
    let mut bytes = Vec::with_capacity(usize::try_from(left).unwrap_or_default());
    file.seek(SeekFrom::Start(from))
        // A torn end may be cut off meanwhile.
        .and_then(|_from| file.take(left).read_to_end(&mut bytes))
        .map_err(JournalError::on("read", path))?;
    Ok(bytes)
}

/// A segment's header, without the rest; `None` if its first frame is none.
pub(super) fn read_header(path: &Path) -> Result<Option<Header>, JournalError> {
    let file = private::open("open", path, fs::OpenOptions::new().read(true))?;
    let most = (frame::PAYLOAD_MAX_LEN + frame::HEADER_LEN) as u64;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(JournalError::on("read", path))?;
    Ok(header(&bytes, path)?.map(|(header, _)| header))
}

/// The header at the beginning of a segment's bytes and where it ends; `None` if there is none.
pub(super) fn header(bytes: &[u8], path: &Path) -> Result<Option<(Header, usize)>, JournalError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Format {
        belljar_audit: u64,
    }
    let frame::Found::Frame { payload, end } = frame::at(bytes, 0) else { return Ok(None) };
    let Ok(Format { belljar_audit }) = serde_json::from_slice(payload) else { return Ok(None) };
    if belljar_audit > FORMAT {
        return Err(JournalError::Newer {
            file: path.to_owned(),
            found: belljar_audit,
            known: FORMAT,
        });
    }
    Ok(serde_json::from_slice(payload).ok().map(|header| (header, end)))
}

/// Where the next whole entry begins that lies somewhere from a place on, and its number.
pub(super) fn next_entry(bytes: &[u8], from: usize) -> Option<(usize, u64)> {
    let mut at = from;
    loop {
        let mark =
            at + bytes.get(at..)?.windows(ENTRY_MARK.len()).position(|it| it == ENTRY_MARK)?;
        let start = mark.checked_sub(frame::HEADER_LEN).filter(|start| *start >= from);
        if let Some(start) = start
            && let frame::Found::Frame { payload, .. } = frame::at(bytes, start)
            && let Some(head) = entry_head(payload)
        {
            return Some((start, head.seq));
        }
        at = mark + 1;
    }
}

/// Whole entries that lie somewhere after a place that holds no frame, each with its link.
pub(super) fn stragglers(bytes: &[u8], from: usize) -> Vec<(EntryHead<'_>, Digest)> {
    let (mut found, mut at) = (Vec::new(), from);
    while let Some(mark) = bytes
        .get(at..)
        .and_then(|rest| rest.windows(ENTRY_MARK.len()).position(|it| it == ENTRY_MARK))
    {
        let payload_start = at + mark;
        let frame = payload_start
            .checked_sub(frame::HEADER_LEN)
            .filter(|start| *start >= from)
            .map(|start| frame::at(bytes, start));
        match frame {
            Some(frame::Found::Frame { payload, end }) => {
                found.extend(entry_head(payload).map(|head| (head, Digest::of(payload))));
                at = end;
            }
            _ => at = payload_start + 1,
        }
    }
    found
}

/// Lane → the number of its last record in these segments, of which some may be spoilt.
pub(super) fn drained_in(segments: &[SegmentFile]) -> Result<BTreeMap<String, u64>, JournalError> {
    let mut drained = BTreeMap::new();
    for segment in segments.iter().rev() {
        let bytes = read(&segment.path, 0)?;
        stragglers(&bytes, 0).iter().for_each(|(head, _)| raise(&mut drained, head));
        if let Some((header, _)) = header(&bytes, &segment.path)? {
            for (lane, number) in header.lanes {
                let last = drained.entry(lane).or_insert(number);
                *last = number.max(*last);
            }
            break;
        }
    }
    Ok(drained)
}

/// Number and entry of what a lane's records after `last` are in the log, in order.
pub(super) fn records_after(
    log: &Path,
    lane: &str,
    last: u64,
) -> Result<Vec<(u64, Vec<u8>)>, JournalError> {
    let mut found = Vec::new();
    for segment in list(log)?.iter().rev() {
        let bytes = read(&segment.path, 0)?;
        let Some((header, end)) = header(&bytes, &segment.path)? else { continue };
        for (payload, _) in frame::all(&bytes, end) {
            let head = entry_head(payload).filter(|it| it.lane == lane && it.number > last);
            found.extend(head.map(|head| (head.number, payload.to_owned())));
        }
        if header.lanes.get(lane).is_none_or(|number| *number <= last) {
            break;
        }
    }
    found.sort();
    Ok(found)
}

/// Notes that an entry is in the log.
pub(super) fn raise(drained: &mut BTreeMap<String, u64>, head: &EntryHead<'_>) {
    match drained.get_mut(head.lane) {
        Some(number) => *number = head.number.max(*number),
        None => {
            drained.insert(head.lane.to_owned(), head.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(seq: u64) -> EntryHead<'static> {
        EntryHead { seq, previous: Digest::of(b"x"), lane: "0001-aB", number: 7 }
    }

    #[test]
    fn an_entry_reads_back_and_is_one_object() {
        let mut bytes = Vec::new();
        let link = push_entry(&mut bytes, &head(12), br#"{"atUnixMs":5,"type":"T"}"#).unwrap();
        let frame::Found::Frame { payload, .. } = frame::at(&bytes, 0) else { panic!("a frame") };
        assert_eq!(entry_head(payload), Some(head(12)));
        assert_eq!(link, Digest::of(payload));
        let json: serde_json::Value = serde_json::from_slice(payload).unwrap();
        assert_eq!(
            (&json["seq"], &json["number"], &json["type"]),
            (&12.into(), &7.into(), &"T".into())
        );
        for cut in 0..payload.len() - br#""atUnixMs":5,"type":"T"}"#.len() {
            assert_eq!(entry_head(&payload[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn entries_after_a_hole_are_found() {
        let mut bytes = b"no frame {\"seq\":1 {\"seq\":".to_vec();
        push_entry(&mut bytes, &head(3), b"{\"a\":1}").unwrap();
        bytes.extend(b"{\"seq\":hole");
        push_entry(&mut bytes, &head(4), b"{\"a\":1}").unwrap();
        let found: Vec<u64> = stragglers(&bytes, 0).iter().map(|(head, _)| head.seq).collect();
        assert_eq!(found, [3, 4]);
        assert!(stragglers(b"{\"seq\":", 0).is_empty());
    }

    #[test]
    fn a_newer_header_is_refused_whatever_else_it_says() {
        let mut bytes = Vec::new();
        frame::push(&mut bytes, br#"{"belljarAudit":2,"surprise":[]}"#);
        let error = header(&bytes, Path::new("f")).unwrap_err();
        assert!(matches!(error, JournalError::Newer { found: 2, known: 1, .. }), "{error}");
        assert!(error.to_string().contains("use the belljar that wrote it"), "{error}");
    }
}
