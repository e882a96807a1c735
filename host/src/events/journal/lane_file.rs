//! One file of a lane: room taken ahead, one positioned write a record.
//!
//! Knows bytes and places, not records. The room ahead is what lets a started call's end be written
//! when the disk has filled up meanwhile.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::Deserialize;

use super::error::JournalError;
use super::frame;
use super::private;

/// The format of lane files that this code writes, and the last that it reads.
pub(super) const LANE_FORMAT: u64 = 1;

/// What the first frame of a file says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LaneHeader {
    pub(super) belljar_lane: u64,
    /// The number of the first record in it; numbers run through all files of a lane. A newer
    /// format may have something else.
    pub(super) first_number: Option<u64>,
}

/// A file of a live lane.
#[derive(Debug)]
pub(super) struct LaneFile {
    file: File,
    path: PathBuf,
    /// Calls that began in it and haven't ended. It stays until there are none, so that recovery
    /// finds who began.
    open_calls: AtomicUsize,
    /// Where its records end, once another file has taken over.
    sealed_end: AtomicU64,
    /// Whether its name would survive a power cut.
    named: AtomicBool,
    faults: Faults,
}

/// Lets a test take the disk away.
#[derive(Debug, Clone, Default)]
pub(super) struct Faults {
    #[cfg(test)]
    pub(super) full: std::sync::Arc<AtomicBool>,
    #[cfg(test)]
    pub(super) broken: std::sync::Arc<AtomicBool>,
    /// Writes the first half and then fails.
    #[cfg(test)]
    pub(super) torn: std::sync::Arc<AtomicBool>,
    /// Syncs of lanes fail.
    #[cfg(test)]
    pub(super) lanes_unsynced: std::sync::Arc<AtomicBool>,
    /// Syncs of the log fail.
    #[cfg(test)]
    pub(super) log_unsynced: std::sync::Arc<AtomicBool>,
}

impl Faults {
    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests have a disk that fails")]
    fn refuse(&self, _room: bool) -> io::Result<()> {
        Ok(())
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests have a disk that fails")]
    pub(super) fn refuse_sync(&self, _log: bool) -> io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn refuse_sync(&self, log: bool) -> io::Result<()> {
        let refused = if log { &self.log_unsynced } else { &self.lanes_unsynced };
        let is_refused = refused.load(Ordering::SeqCst);
        if is_refused { Err(io::Error::other("an unsynced disk")) } else { Ok(()) }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests have a disk that fails")]
    fn tear(&self, _len: usize) -> Option<usize> {
        None
    }

    #[cfg(test)]
    fn tear(&self, len: usize) -> Option<usize> {
        self.torn.load(Ordering::SeqCst).then_some(len / 2)
    }

    #[cfg(test)]
    fn refuse(&self, room: bool) -> io::Result<()> {
        if room && self.full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if !room && self.broken.load(Ordering::SeqCst) {
            return Err(io::Error::other("a broken disk"));
        }
        Ok(())
    }
}

/// The name of a lane's `index`th file.
pub(super) fn file_name(index: u64) -> String {
    format!("{index:06}.lane")
}

impl LaneFile {
    /// Makes the file, without a byte in it.
    pub(super) fn create(folder: &Path, index: u64, faults: Faults) -> Result<Self, JournalError> {
        let path = folder.join(file_name(index));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let file = private::open("make", &path, &mut options)?;
        Ok(Self::of(file, path, faults))
    }

    /// Opens a file of a lane whose process is gone.
    pub(super) fn reopen(path: PathBuf, faults: Faults) -> Result<Self, JournalError> {
        let file = private::open("open", &path, OpenOptions::new().read(true).write(true))?;
        Ok(Self::of(file, path, faults))
    }

    fn of(file: File, path: PathBuf, faults: Faults) -> Self {
        Self {
            file,
            path,
            open_calls: AtomicUsize::new(0),
            sealed_end: AtomicU64::new(u64::MAX),
            named: AtomicBool::new(false),
            faults,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the room from `from` to `to` on the disk.
    pub(super) fn reserve(&self, from: u64, to: u64) -> Result<(), JournalError> {
        let len = to.saturating_sub(from);
        let reserve = || -> io::Result<()> {
            self.faults.refuse(true)?;
            match fallocate(&self.file, FallocateFlags::empty(), from, len) {
                // A file system that can't take room takes zeros.
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => self.zero(from, to),
                other => Ok(other?),
            }
        };
        reserve().map_err(JournalError::on("make room in", &self.path))
    }

    fn zero(&self, from: u64, to: u64) -> io::Result<()> {
        let zeros = [0; 4096];
        let mut at = from;
        while at < to {
            let len = usize::try_from(to - at).unwrap_or(zeros.len()).min(zeros.len());
            self.file.write_all_at(zeros.get(..len).unwrap_or_default(), at)?;
            at += len as u64;
        }
        Ok(())
    }

    /// Overwrites with zeros, which end a file's records.
    pub(super) fn erase(&self, from: u64, to: u64) -> Result<(), JournalError> {
        self.zero(from, to).map_err(JournalError::on("write", &self.path))
    }

    /// Writes at a place whose room has been taken.
    pub(super) fn write(&self, bytes: &[u8], at: u64) -> Result<(), JournalError> {
        let written = self.faults.refuse(false).and_then(|()| self.put(bytes, at));
        written.map_err(JournalError::on("write", &self.path))
    }

    fn put(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        let Some(len) = self.faults.tear(bytes.len()) else {
            return self.file.write_all_at(bytes, at);
        };
        self.file.write_all_at(bytes.get(..len).unwrap_or_default(), at)?;
        Err(io::Error::other("a disk that takes half"))
    }

    /// Writes the first frame and says where it ends.
    pub(super) fn write_header(&self, first_number: u64) -> Result<u64, JournalError> {
        let header = header(first_number);
        self.write(&header, 0)?;
        Ok(header.len() as u64)
    }

    /// Reads what was written from `from` to `to`.
    pub(super) fn read(&self, from: u64, to: u64) -> Result<Vec<u8>, JournalError> {
        let len = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, from).map_err(JournalError::on("read", &self.path))?;
        Ok(bytes)
    }

    /// Makes what was written survive a power cut, and once the file's name as well.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        self.faults
            .refuse_sync(false)
            .and_then(|()| Ok(rustix::fs::fdatasync(&self.file)?))
            .map_err(JournalError::on("sync", &self.path))?;
        if !self.named.load(Ordering::Acquire) {
            // The file's name is in the lane's folder, the lane's in the folder above.
            for folder in self.path.ancestors().skip(1).take(2) {
                sync_folder(folder)?;
            }
            self.named.store(true, Ordering::Release);
        }
        Ok(())
    }

    pub(super) fn call_began(&self) {
        self.open_calls.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn call_ended(&self) {
        self.open_calls.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn has_open_calls(&self) -> bool {
        self.open_calls.load(Ordering::Acquire) > 0
    }

    pub(super) fn seal(&self, end: u64) {
        self.sealed_end.store(end, Ordering::Release);
    }

    /// Where its records end; `None` while it takes more.
    pub(super) fn sealed_end(&self) -> Option<u64> {
        Some(self.sealed_end.load(Ordering::Acquire)).filter(|end| *end != u64::MAX)
    }
}

/// The first frame of a file whose first record has this number.
fn header(first_number: u64) -> Vec<u8> {
    let json = format!("{{\"belljarLane\":{LANE_FORMAT},\"firstNumber\":{first_number}}}");
    let mut bytes = Vec::with_capacity(json.len() + frame::HEADER_LEN);
    frame::push(&mut bytes, json.as_bytes());
    bytes
}

/// Makes the names in a folder survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> Result<(), JournalError> {
    let sync = || File::open(folder)?.sync_all();
    sync().map_err(JournalError::on("sync", folder))
}
