//! Retention: old segments go, oldest first and whole, after a checkpoint says so in the log.
//!
//! Never touches the newest segment, which holds the checkpoint. A clock that jumped decides by
//! what the headers say, and stops at the first segment that is to stay.

use std::fs;
use std::path::Path;

use super::error::JournalError;
use super::lane_file::sync_folder;
use super::segment;
use crate::contract::ids::Digest;

/// How much of the log is kept. Without a bound all of it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Most bytes of all segments.
    pub max_bytes: Option<u64>,
    /// Greatest age of an entry, in milliseconds.
    pub max_age_ms: Option<u64>,
}

impl Retention {
    /// From which age on a segment is followed by another, so that its entries can go in time: it
    /// goes as a whole.
    pub(super) fn segment_max_age_ms(self) -> Option<u64> {
        const DAY_MS: u64 = 24 * 60 * 60 * 1000;
        self.max_age_ms.map(|age| DAY_MS.min(age / 10))
    }
}

/// What is to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// The number that the first segment that stays begins with.
    pub(super) keep_from: u64,
    /// The link which that segment names.
    pub(super) link: Digest,
}

/// Whether something is to go.
pub(super) fn due(
    log: &Path,
    retention: Retention,
    now_unix_ms: u64,
) -> Result<Option<Due>, JournalError> {
    if retention == Retention::default() {
        return Ok(None);
    }
    let segments = segment::list(log)?;
    let mut sizes = Vec::with_capacity(segments.len());
    for segment in &segments {
        let path = &segment.path;
        sizes.push(fs::metadata(path).map_err(JournalError::on("read", path))?.len());
    }
    let mut total: u64 = sizes.iter().sum();
    let mut due = None;
    for (next, size) in segments.iter().skip(1).zip(sizes) {
        let Some(header) = segment::read_header(&next.path)? else { break };
        // All entries of a segment are older than the beginning of the next.
        let is_old = retention
            .max_age_ms
            .is_some_and(|age| header.at_unix_ms.saturating_add(age) < now_unix_ms);
        if !is_old && retention.max_bytes.is_none_or(|most| total <= most) {
            break;
        }
        total -= size;
        due = Some(Due { keep_from: next.first_seq, link: header.previous });
    }
    Ok(due)
}

/// Removes all segments before the one that begins with `keep_from`.
pub(super) fn remove(log: &Path, keep_from: u64) -> Result<(), JournalError> {
    for segment in segment::list(log)? {
        if segment.first_seq < keep_from {
            let path = &segment.path;
            fs::remove_file(path).map_err(JournalError::on("remove", path))?;
        }
    }
    sync_folder(log)
}
