//! Keeps the store within its bounds: the least recently used go first, never what is in use.
//!
//! Reads names and times, no content. What can't be removed is met again next time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::{CODE, PART};

/// Files that are kept.
pub(super) const KEPT_FILES: usize = 128;
/// How long code stays that nobody used.
pub(super) const KEPT_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// No file takes as long to be written, so whoever wrote this one is gone.
const PART_MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// Removes what is too much, too old, or left behind. `most`: bytes of all files.
pub(super) fn prune(folder: &Path, most: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut kept = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(metadata) = std::fs::symlink_metadata(&path) else { continue };
        let Ok(used) = metadata.modified() else { continue };
        let ends_in = |ending| path.extension().is_some_and(|end| end == ending);
        if ends_in(CODE) {
            kept.push((used, metadata.len(), path));
        } else if ends_in(PART) && is_older(used, PART_MAX_AGE) {
            drop(std::fs::remove_file(path));
        }
    }
    kept.sort();
    bound(&kept, most);
}

/// `kept` has the least recently used first.
fn bound(kept: &[(SystemTime, u64, PathBuf)], most: u64) {
    let mut bytes = kept.iter().fold(0_u64, |sum, (_, len, _)| sum.saturating_add(*len));
    let mut files = kept.len();
    for (used, len, path) in kept {
        let too_much = bytes > most || files > KEPT_FILES;
        if !too_much && !is_older(*used, KEPT_AGE) {
            break;
        }
        if remove_unused(path) {
            bytes = bytes.saturating_sub(*len);
            files -= 1;
        }
    }
}

fn is_older(used: SystemTime, most: Duration) -> bool {
    used.elapsed().is_ok_and(|age| age > most)
}

/// Removes what no process has in use. `false`: one has, or it can't be removed.
fn remove_unused(path: &Path) -> bool {
    // What isn't a file is nobody's code, and opening it could block.
    if std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        let Ok(file) = File::open(path) else { return false };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return false;
        }
        return std::fs::remove_file(path).is_ok();
    }
    std::fs::remove_file(path).is_ok()
}
