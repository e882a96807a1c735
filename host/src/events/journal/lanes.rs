//! The folder of all lanes: making one, telling the living from the dead, reading a dead one.
//!
//! Everything here is done under the lock of the log, so that a lane is never seen half made.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::aside::Aside;
use super::error::JournalError;
use super::frame;
use super::lane::Lane;
use super::lane_end::{self, LaneEnd};
use super::lane_file::{Faults, LANE_FORMAT, LaneFile, LaneHeader};
use super::private;

/// The folder of lanes inside the audit folder.
const LANES: &str = "lanes";
/// Most bytes of a lane file that are read: far more than a lane grows to.
const FILE_MAX_LEN: u64 = 1 << 30;

/// The lanes of one audit folder.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    folder: PathBuf,
    aside: Aside,
}

/// Lane → number and JSON of its records that aren't in the log, in order.
pub(super) type Pending = BTreeMap<String, Vec<(u64, Vec<u8>)>>;

/// A lane whose process is gone, held by us.
#[derive(Debug)]
pub(super) struct DeadLane {
    pub(super) id: String,
    pub(super) folder: PathBuf,
    _held: File,
}

/// What lies in the files of a lane.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Number and JSON of each record, in order.
    pub(super) records: Vec<(u64, Vec<u8>)>,
    /// Where more can be written: the last file, the end of its records, the end of what else is
    /// in it. Nothing is written into a file that holds damage.
    pub(super) open_end: Option<(PathBuf, u64, u64)>,
    /// The last file's.
    pub(super) last_index: u64,
    /// Bytes after the last whole record of the last file.
    pub(super) torn_bytes: u64,
    /// A file holds something that is neither a record nor what a crash leaves.
    pub(super) damaged: bool,
    /// The number of the last record that is spoilt; 0 if none is known to be.
    pub(super) spoilt_number: u64,
}

impl Lanes {
    /// The lanes inside an audit folder.
    pub(super) fn in_folder(audit: &Path) -> Self {
        Self { folder: audit.join(LANES), aside: Aside::in_folder(audit) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn aside(&self) -> &Aside {
        &self.aside
    }

    /// Makes a lane, and locks it for the life of this process.
    pub(super) fn create(&self, now_unix_ms: u64, faults: Faults) -> Result<Lane, JournalError> {
        let prefix = format!("{now_unix_ms:013}-");
        let folder = tempfile::Builder::new()
            .prefix(&prefix)
            .rand_bytes(10)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.folder)
            .map_err(JournalError::on("make a lane in", &self.folder))?;
        let held = lock(folder.path())?.ok_or_else(|| {
            // It has just been made, under the lock of the log.
            JournalError::io("lock", folder.path(), io::ErrorKind::WouldBlock.into())
        })?;
        let id = name_of(folder.path()).unwrap_or_default();
        let lane = Lane::create(folder.path().to_owned(), id, held, faults)?;
        // From here on it is no temporary folder any more.
        let _kept: PathBuf = folder.keep();
        Ok(lane)
    }

    /// The ids of all lanes that are there.
    pub(super) fn ids(&self) -> Result<Vec<String>, JournalError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(JournalError::on("list", &self.folder))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let entry = entry.map_err(JournalError::on("list", &self.folder))?;
            if let Some(id) = name_of(&entry.path()).filter(|id| is_lane_id(id)) {
                ids.push(id);
            }
        }
        ids.sort();
        Ok(ids)
    }

    pub(super) fn holds(&self, id: &str) -> bool {
        is_lane_id(id) && self.folder.join(id).is_dir()
    }

    /// Takes over a lane; `None` if its process lives, or it is gone.
    pub(super) fn take_dead(&self, id: &str) -> Result<Option<DeadLane>, JournalError> {
        let folder = self.folder.join(id);
        match lock(&folder) {
            Ok(held) => Ok(held.map(|held| DeadLane { id: id.to_owned(), folder, _held: held })),
            Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// What lanes of processes that are gone hold beyond what `drained` says is in the log.
    pub(super) fn pending_of_dead(
        &self,
        drained: &BTreeMap<String, u64>,
    ) -> Result<Pending, JournalError> {
        let mut pending = Pending::new();
        for id in self.ids()? {
            let Some(dead) = self.take_dead(&id)? else { continue };
            let last = drained.get(&id).copied().unwrap_or(0);
            let mut records = self.contents(&dead.id)?.records;
            records.retain(|(number, _)| *number > last);
            pending.insert(id, records);
        }
        Ok(pending)
    }

    /// What lies in a lane.
    pub(super) fn contents(&self, id: &str) -> Result<Contents, JournalError> {
        let folder = self.folder.join(id);
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).map_err(JournalError::on("list", &folder))? {
            let path = entry.map_err(JournalError::on("list", &folder))?.path();
            if path.extension().is_some_and(|end| end == "lane") {
                paths.push(path);
            }
        }
        paths.sort();
        let last = paths.last().cloned();
        let index = |path: &PathBuf| path.file_stem()?.to_str()?.parse().ok();
        let last_index = last.as_ref().and_then(index).unwrap_or_default();
        let mut contents = Contents { last_index, ..Contents::default() };
        for path in paths {
            let is_last = Some(&path) == last.as_ref();
            contents.add_file(path, is_last)?;
        }
        Ok(contents)
    }

    /// Removes a lane, all of which is in the log for good. Where something in it was damaged it is
    /// put aside instead.
    pub(super) fn remove(&self, folder: &Path, damaged: bool) -> Result<(), JournalError> {
        if damaged {
            return self.aside.take(folder);
        }
        fs::remove_dir_all(folder).map_err(JournalError::on("remove", folder))
    }
}

impl Contents {
    fn add_file(&mut self, path: PathBuf, is_last: bool) -> Result<(), JournalError> {
        let mut file = private::open("open", &path, OpenOptions::new().read(true))?;
        let len = file.metadata().map_err(JournalError::on("read", &path))?.len();
        if len > FILE_MAX_LEN {
            return Err(JournalError::Damaged { file: path, wrong: format!("it has {len} bytes") });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(JournalError::on("read", &path))?;
        let header = frame::all(&bytes, 0).next();
        let first_number = match header {
            Some((payload, _)) => first_number(payload, &path)?,
            None => None,
        };
        let (end, found) = match (first_number, header) {
            (Some(first), Some((_, end))) => self.add_records(&bytes, first, end),
            // It is whole, and no header.
            (_, Some(_)) => (0, LaneEnd::Damaged { next: None }),
            _ => (0, lane_end::judge(&bytes, 0)),
        };
        let torn = if let LaneEnd::CutShort(len) = found { len } else { 0 };
        // Only the last was being written to.
        let is_spoilt = matches!(found, LaneEnd::Damaged { .. })
            || (!is_last && (torn > 0 || first_number.is_none()));
        self.damaged |= is_spoilt;
        if is_last {
            self.torn_bytes = torn as u64;
        }
        if is_spoilt {
            self.open_end = None;
        } else if first_number.is_some() {
            self.open_end = Some((path, end as u64, (end + torn) as u64));
        }
        Ok(())
    }

    /// Takes in the records from `at` on, also behind a spoilt one that still says how long it is.
    /// The end of the last, and the worst of what lies between and behind them.
    fn add_records(&mut self, bytes: &[u8], first: u64, mut at: usize) -> (usize, LaneEnd) {
        let mut worst = None;
        for number in first.. {
            if let frame::Found::Frame { payload, end } = frame::at(bytes, at) {
                self.records.push((number, payload.to_owned()));
                at = end;
                continue;
            }
            let found = lane_end::judge(bytes, at);
            if let LaneEnd::Damaged { next } = found {
                self.spoilt_number = number;
                worst = Some(found);
                if let Some(next) = next {
                    at = next;
                    continue;
                }
            }
            return (at, worst.unwrap_or(found));
        }
        (at, LaneEnd::Nothing)
    }

    /// The number of the last record, be it spoilt; 0 if there is none.
    pub(super) fn last_number(&self) -> u64 {
        self.records.last().map_or(0, |(number, _)| *number).max(self.spoilt_number)
    }

    /// The number of the last record before the first that is missing between others, or at the
    /// end; 0 where one is spoilt, for it may be the first.
    pub(super) fn unbroken_through(&self) -> u64 {
        if self.damaged {
            return 0;
        }
        let mut numbers = self.records.iter().map(|(number, _)| *number);
        let first = numbers.next().unwrap_or_default();
        (first + 1..)
            .zip(numbers)
            .take_while(|(due, is)| due == is)
            .last()
            .map_or(first, |(_, is)| is)
    }

    /// The file that takes more records, its torn end wiped.
    pub(super) fn reopen(&self) -> Result<Option<(LaneFile, u64)>, JournalError> {
        let Some((path, end, torn_end)) = &self.open_end else { return Ok(None) };
        let file = LaneFile::reopen(path.clone(), Faults::default())?;
        file.erase(*end, *torn_end)?;
        Ok(Some((file, *end)))
    }
}

/// What a file's header says; `None` if it is none.
fn first_number(payload: &[u8], path: &Path) -> Result<Option<u64>, JournalError> {
    let Ok(header) = serde_json::from_slice::<LaneHeader>(payload) else { return Ok(None) };
    if header.belljar_lane > LANE_FORMAT {
        return Err(JournalError::Newer {
            file: path.to_owned(),
            found: header.belljar_lane,
            known: LANE_FORMAT,
        });
    }
    Ok(header.first_number)
}

/// Locks a lane's folder; `None` if another process has it.
fn lock(folder: &Path) -> Result<Option<File>, JournalError> {
    let file = private::open("open", folder, OpenOptions::new().read(true))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(JournalError::io("lock", folder, errno.into())),
    }
}

fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// Whether a name is of the form that this module makes; it stands in JSON as it is.
pub(super) fn is_lane_id(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
