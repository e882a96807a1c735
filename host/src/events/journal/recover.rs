//! Recovery: the lanes of processes that are gone are copied to the log and ended.
//!
//! May be cut off anywhere and begun again: endings go into the dead lane first, the log knows how
//! far each lane was copied, and a lane is removed only after the log is on the disk and whoever
//! keeps something of its calls has heard which of them were cut off.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::error::JournalError;
use super::frame;
use super::lane_file::{Faults, LaneFile};
use super::lanes::{Contents, DeadLane, Lanes};
use super::log::{Locked, Log, LogOptions};
use super::private::check_private_folder;
use super::record::{Interrupted, Writing};
use super::segment;
use crate::contract::approval::CallerContext;
use crate::contract::ids::{CallId, Digest, ToolId};
use crate::events::clock::Clock;
use crate::events::redact::Redactor;

/// What recovery found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Calls that had begun and hadn't ended: the log now says `interrupted`.
    pub interrupted: Vec<InterruptedCall>,
    /// How many lanes of processes that are gone were taken in.
    pub lanes: usize,
    /// Bytes of records that were being written when a process went; none of them had been
    /// acknowledged.
    pub torn_bytes: u64,
    /// Lanes that held something other than records, or whose records may be spoilt in the log. They
    /// lie in the folder `damaged`.
    pub damaged: Vec<String>,
}

/// A call whose process went before it ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptedCall {
    /// Names the call.
    pub call_id: CallId,
    /// The name it asked for.
    pub tool_name: String,
    /// The tool.
    pub tool: ToolId,
    /// The build it belongs to, where it belongs to one.
    #[serde(default)]
    pub plugin_digest: Option<Digest>,
    /// Who called.
    pub caller: CallerContext,
    /// The SHA-256 of its canonical arguments.
    pub arguments_hash: Digest,
    /// The SHA-256 of its idempotency key.
    #[serde(default)]
    pub idempotency_key_hash: Option<Digest>,
    /// When it began, in milliseconds since 1970 (UTC).
    #[serde(rename = "atUnixMs")]
    pub started_unix_ms: u64,
}

type Told = dyn Fn(&[InterruptedCall]) -> Result<(), String> + Send + Sync;

/// Hears which calls a crash cut off, and may hear of some twice. Where it fails, recovery does, and
/// the next tells it again. By itself it hears nothing.
#[derive(Clone, Default)]
pub struct CutOffListener(Option<Arc<Told>>);

impl CutOffListener {
    /// `told` says in one sentence what went wrong.
    pub fn new(
        told: impl Fn(&[InterruptedCall]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(told)))
    }

    fn tell(&self, calls: &[InterruptedCall]) -> Result<(), JournalError> {
        match &self.0 {
            Some(told) if !calls.is_empty() => told(calls).map_err(JournalError::Untold),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for CutOffListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CutOffListener")
    }
}

/// Takes in the lanes of processes that are gone. For whoever is about to read the log; a journal
/// that is opened does so itself. An audit folder that isn't there holds none.
///
/// # Errors
/// If the folder can't be written, a file in it is from a newer belljar, or the listener fails.
pub fn recover(
    audit: &Path,
    clock: Clock,
    listener: &CutOffListener,
) -> Result<Recovered, JournalError> {
    let lanes = Lanes::in_folder(audit);
    if lanes.ids()?.is_empty() {
        return Ok(Recovered::default());
    }
    for folder in [audit, lanes.folder(), &segment::log_folder(audit)] {
        check_private_folder(folder)?;
    }
    let mut log = Log::open(audit, lanes.clone(), LogOptions::default())?;
    recover_lanes(&lanes, &mut log.lock()?, clock(), listener)
}

/// [`recover`] under a lock that is held.
pub(super) fn recover_lanes(
    lanes: &Lanes,
    log: &mut Locked<'_>,
    now_unix_ms: u64,
    listener: &CutOffListener,
) -> Result<Recovered, JournalError> {
    let mut recovered = Recovered::default();
    for id in lanes.ids()? {
        if let Some(lane) = lanes.take_dead(&id)? {
            let at = now_unix_ms;
            recover_lane(lanes, &lane, log, at, listener, &mut recovered)?;
        }
    }
    Ok(recovered)
}

fn recover_lane(
    lanes: &Lanes,
    lane: &DeadLane,
    log: &mut Locked<'_>,
    now_unix_ms: u64,
    listener: &CutOffListener,
    recovered: &mut Recovered,
) -> Result<(), JournalError> {
    let mut contents = lanes.contents(&lane.id)?;
    let drained = log.drained(&lane.id);
    // What the log has of it may be what is spoilt there.
    let is_evidence = log.is_damaged() && drained > 0;
    let unbroken = contents.unbroken_through();
    // A power cut may have taken from the lane what the log has.
    let copied = if drained > unbroken {
        segment::records_after(log.folder(), &lane.id, unbroken)?
    } else {
        Vec::new()
    };
    let mut all: Vec<_> = contents.records.iter().chain(&copied).collect();
    all.sort_by_key(|(number, _)| *number);
    let open = open_calls(all);
    end_calls(lane, &mut contents, &open, drained, now_unix_ms)?;
    let records = contents.records.iter().filter(|(number, _)| *number > drained);
    log.append(&lane.id, records.map(|(number, json)| (*number, &**json)), now_unix_ms)?;
    log.sync()?;
    let cut_off: Vec<_> = open.into_iter().filter_map(|(_, call)| call.whole).collect();
    listener.tell(&cut_off)?;
    let is_kept = contents.damaged || is_evidence;
    lanes.remove(&lane.folder, is_kept)?;
    recovered.lanes += 1;
    recovered.torn_bytes += contents.torn_bytes;
    if is_kept {
        recovered.damaged.push(lane.id.clone());
    }
    recovered.interrupted.extend(cut_off);
    Ok(())
}

/// A call that began in a lane and didn't end there by itself.
#[derive(Debug, Default)]
pub(super) struct OpenCall {
    /// An earlier recovery, which was cut off, has written its end.
    pub(super) is_ended: bool,
    pub(super) call_id: String,
    pub(super) tool_name: String,
    whole: Option<InterruptedCall>,
}

/// The calls of a lane that began and didn't end by themselves, by the number of their beginning.
pub(super) fn open_calls<'r>(
    records: impl IntoIterator<Item = &'r (u64, Vec<u8>)>,
) -> Vec<(u64, OpenCall)> {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all_fields = "camelCase")]
    enum Seen {
        CallStarted {
            call_id: String,
            tool_name: String,
        },
        CallFinished {
            start: u64,
            #[serde(default)]
            recovered: bool,
        },
        #[serde(other)]
        Other,
    }
    let mut open: BTreeMap<u64, OpenCall> = BTreeMap::new();
    for (number, json) in records {
        match serde_json::from_slice::<Seen>(json) {
            Ok(Seen::CallStarted { call_id, tool_name }) => {
                let whole = serde_json::from_slice(json).ok();
                let call = OpenCall { is_ended: false, call_id, tool_name, whole };
                open.insert(*number, call);
            }
            Ok(Seen::CallFinished { start, recovered: true }) => {
                if let Some(call) = open.get_mut(&start) {
                    call.is_ended = true;
                }
            }
            Ok(Seen::CallFinished { start, recovered: false }) => drop(open.remove(&start)),
            Ok(Seen::Other) | Err(_) => {}
        }
    }
    open.into_iter().collect()
}

/// Writes an end for each open call into the dead lane, which still has room for them.
fn end_calls(
    lane: &DeadLane,
    contents: &mut Contents,
    open: &[(u64, OpenCall)],
    drained: u64,
    now_unix_ms: u64,
) -> Result<(), JournalError> {
    let writing = Writing { at_unix_ms: now_unix_ms, redactor: &Redactor::default() };
    if open.iter().all(|(_, call)| call.is_ended) {
        return Ok(());
    }
    let mut number = contents.last_number();
    let reopened = if drained > number || contents.open_end.is_none() {
        // Numbers are places in a file, so those that only the log has left need another. So do
        // those behind damage, which stays as it was found.
        number = number.max(drained);
        let file = LaneFile::create(&lane.folder, contents.last_index + 1, Faults::default())?;
        let end = file.write_header(number + 1)?;
        Some((file, end))
    } else {
        contents.reopen()?
    };
    let Some((file, end)) = reopened else { return Ok(()) };
    let mut frames = Vec::new();
    for (start, call) in open.iter().filter(|(_, call)| !call.is_ended) {
        let mut json = Vec::new();
        let end = Interrupted { start: *start, call_id: &call.call_id, tool_name: &call.tool_name };
        let written = writing.interrupted(&mut json, &end, true);
        if written.is_err() || !frame::push(&mut frames, &json) {
            return Err(JournalError::TooLarge(json.len()));
        }
        number += 1;
        contents.records.push((number, json));
    }
    file.write(&frames, end)?;
    file.sync()
}
