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
use super::lanes::{Contents, DeadLane, Lanes};
use super::log::{Locked, Log};
use super::record::Writing;
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
    /// Lanes that held something other than records. They lie in the folder `damaged`.
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
    let mut log = Log::open(audit, lanes.clone(), super::options::SEGMENT_MAX_LEN)?;
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
    let open = open_calls(&contents);
    end_calls(&mut contents, &open, now_unix_ms)?;
    let drained = log.drained(&lane.id);
    let records = contents.records.iter().filter(|(number, _)| *number > drained);
    log.append(&lane.id, records.map(|(number, json)| (*number, &**json)), now_unix_ms)?;
    log.sync()?;
    let cut_off: Vec<_> = open.into_iter().filter_map(|(_, call)| call.whole).collect();
    listener.tell(&cut_off)?;
    lanes.remove(&lane.folder, contents.damaged)?;
    recovered.lanes += 1;
    recovered.torn_bytes += contents.torn_bytes;
    if contents.damaged {
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
pub(super) fn open_calls(contents: &Contents) -> Vec<(u64, OpenCall)> {
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
    for (number, json) in &contents.records {
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
    contents: &mut Contents,
    open: &[(u64, OpenCall)],
    now_unix_ms: u64,
) -> Result<(), JournalError> {
    let writing = Writing { at_unix_ms: now_unix_ms, redactor: &Redactor::default() };
    let Some((file, end)) =
        contents.reopen()?.filter(|_| open.iter().any(|(_, call)| !call.is_ended))
    else {
        return Ok(());
    };
    let mut frames = Vec::new();
    let mut number = contents.last_number();
    for (start, call) in open.iter().filter(|(_, call)| !call.is_ended) {
        let mut json = Vec::new();
        let written = writing.interrupted(&mut json, *start, &call.call_id, &call.tool_name);
        if written.is_err() || !frame::push(&mut frames, &json) {
            return Err(JournalError::TooLarge(json.len()));
        }
        number += 1;
        contents.records.push((number, json));
    }
    file.write(&frames, end)?;
    file.sync()
}
