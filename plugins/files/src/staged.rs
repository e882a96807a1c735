//! New content beside its target, under a name nobody can guess, until it takes the target's place.
//!
//! A call that is killed in between (fuel, deadline) can't remove it, so each later write to the
//! folder removes such files once they are an hour old: no call may live that long.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use crate::path::{folder_of, join};

const PREFIX: &str = ".belljar-";
const SUFFIX: &str = ".tmp";
const RANDOM_DIGITS: usize = 32;
/// The ceiling of a call's deadline is 15 minutes.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);
/// Entries looked at for stale files, so that a write into a huge folder costs little.
const SWEPT_MAX: usize = 4096;

/// A complete file that has not taken its place yet; dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    path: String,
}

impl Staged {
    /// Writes `content` to the disk, into the folder of `target`.
    pub(crate) fn write(target: &str, content: &[u8]) -> io::Result<Self> {
        let folder = folder_of(target);
        let path = join(folder, &random_name());
        let mut file = File::options().write(true).create_new(true).open(&path)?;
        let staged = Self { path };
        sweep(folder, &file);
        file.write_all(content)?;
        file.sync_all()?;
        Ok(staged)
    }

    /// Takes the place of `target`, whatever is there.
    pub(crate) fn replace(self, target: &str) -> io::Result<()> {
        // Once renamed, the name that `drop` removes is gone.
        fs::rename(&self.path, target)
    }

    /// Takes the place of `target` unless something is there: `AlreadyExists`.
    pub(crate) fn create(self, target: &str) -> io::Result<()> {
        // A link, unlike a rename, never takes an existing file's place.
        match fs::hard_link(&self.path, target) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                // File systems without hard links leave a gap between this look and the rename.
                match fs::symlink_metadata(target) {
                    Ok(_) => Err(ErrorKind::AlreadyExists.into()),
                    Err(_) => self.replace(target),
                }
            }
            linked => linked,
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Nothing more can be done: the next write's sweep gets it.
        fs::remove_file(&self.path).ok();
    }
}

fn random_name() -> String {
    // Each state has its own random keys, which std takes from the host.
    let high = RandomState::new().hash_one(0);
    let low = RandomState::new().hash_one(1);
    format!("{PREFIX}{high:016x}{low:016x}{SUFFIX}")
}

fn is_staged_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|random| {
        random.len() == RANDOM_DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Removes what killed calls left in `folder`. `fresh` was just made there: its time is the file
/// system's own now.
fn sweep(folder: &str, fresh: &File) {
    let (Ok(now), Ok(entries)) =
        (fresh.metadata().and_then(|found| found.modified()), fs::read_dir(folder))
    else {
        return;
    };
    for entry in entries.take(SWEPT_MAX).flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !is_staged_name(&name) {
            continue;
        }
        let path = join(folder, &name);
        let is_stale = fs::symlink_metadata(&path).is_ok_and(|found| {
            found.is_file()
                && found.modified().is_ok_and(|written| {
                    now.duration_since(written).is_ok_and(|age| age > STALE_AFTER)
                })
        });
        if is_stale {
            fs::remove_file(&path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn fs_22_a_staged_file_that_is_not_used_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("f").to_str().unwrap().to_owned();
        let staged = Staged::write(&target, b"new").unwrap();
        assert_eq!(names_in(&folder).len(), 1);
        drop(staged);
        assert!(names_in(&folder).is_empty());
    }

    #[test]
    fn fs_22_a_staged_file_that_cannot_take_its_place_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("f").to_str().unwrap().to_owned();
        fs::create_dir_all(folder.path().join("f/full")).unwrap();
        let staged = Staged::write(&target, b"new").unwrap();
        assert!(staged.replace(&target).is_err());
        assert_eq!(names_in(&folder), ["f"]);
    }

    #[test]
    fn a_file_that_appeared_meanwhile_is_not_replaced_by_create() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("f").to_str().unwrap().to_owned();
        let staged = Staged::write(&target, b"new").unwrap();
        fs::write(&target, "theirs").unwrap();
        assert_eq!(staged.create(&target).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
        assert_eq!(names_in(&folder), ["f"]);
    }

    #[test]
    fn fs_22_staged_names_cannot_be_predicted() {
        let names = [random_name(), random_name(), random_name()];
        assert!(names.iter().all(|name| is_staged_name(name)));
        assert!(names[0] != names[1] && names[1] != names[2]);
    }

    #[test]
    fn fs_22_only_old_files_that_a_killed_call_left_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let (stale, fresh) = (random_name(), random_name());
        for name in [stale.as_str(), fresh.as_str(), ".belljar-notes.tmp"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        for name in [stale.as_str(), ".belljar-notes.tmp"] {
            let file = File::options().write(true).open(folder.path().join(name)).unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            file.set_modified(written - STALE_AFTER * 2).unwrap();
        }
        let target = folder.path().join("f").to_str().unwrap().to_owned();
        Staged::write(&target, b"new").unwrap().create(&target).unwrap();
        let mut expected = vec![".belljar-notes.tmp".to_owned(), fresh, "f".to_owned()];
        expected.sort();
        assert_eq!(names_in(&folder), expected);
    }
}
