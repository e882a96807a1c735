//! What a journal is opened with.
//!
//! Bounds that no operator has to know are constants here.

use super::lane_file::Faults;
use super::recover::CutOffListener;
use super::retain::Retention;
use crate::events::redact::Redactor;

/// Where a segment ends and the next begins, in bytes.
pub(super) const SEGMENT_MAX_LEN: u64 = 4 * 1024 * 1024;
/// Where a process goes on in another lane file, in bytes.
const LANE_FILE_MAX_LEN: u64 = 4 * 1024 * 1024;
/// From how many bytes that aren't in the log yet a new call has to wait.
const UNDRAINED_MAX_LEN: u64 = 64 * 1024 * 1024;

/// How a journal is kept.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// How much of the log is kept.
    pub retention: Retention,
    /// Takes declared secrets out of arguments, names, reasons and messages.
    pub redactor: Redactor,
    /// Hears, as the journal is opened, which calls a crash cut off.
    pub listener: CutOffListener,
    pub(super) segment_max_len: u64,
    pub(super) lane_file_max_len: u64,
    pub(super) undrained_max_len: u64,
    pub(super) faults: Faults,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            redactor: Redactor::default(),
            listener: CutOffListener::default(),
            segment_max_len: SEGMENT_MAX_LEN,
            lane_file_max_len: LANE_FILE_MAX_LEN,
            undrained_max_len: UNDRAINED_MAX_LEN,
            faults: Faults::default(),
        }
    }
}
