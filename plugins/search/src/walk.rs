//! Goes through a folder in the byte order of the paths, and says what it passed over.
//!
//! Opens folders and ignore files only; never follows a symbolic link, so that a cycle ends and no
//! file is met twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::vec;

use crate::limit::WalkLimits;
use crate::location::openable;
use crate::rules::{IGNORE_FILES, Rules};
use crate::wit::FileKind;

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileKind,
}

/// What a walk did not show, so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Ignored entries; an ignored folder is one.
    pub(crate) ignored: u32,
    /// Folders, entries and ignore files that could not be read.
    pub(crate) unreadable: u32,
    /// Folders below the deepest level entered.
    pub(crate) too_deep: u32,
}

/// Whether ignore files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    Pass,
    Show,
}

impl Ignored {
    /// What the argument `include-ignored` says.
    pub(crate) fn from_request(include_ignored: Option<bool>) -> Self {
        if include_ignored.unwrap_or(false) { Self::Show } else { Self::Pass }
    }
}

/// A walk under way: an iterator over all but folders.
#[derive(Debug)]
pub(crate) struct Walk {
    limits: WalkLimits,
    ignored: Ignored,
    rules: Rules,
    levels: Vec<Level>,
    seen: usize,
    exhausted: bool,
    passed: Passed,
}

/// A folder whose entries are being gone through.
#[derive(Debug)]
struct Level {
    entries: vec::IntoIter<Entry>,
    /// The rules that were in force above this folder.
    rules_depth: usize,
}

impl Walk {
    /// Begins in `root`, which is walked even if it is ignored itself.
    pub(crate) fn new(root: &Path, ignored: Ignored, limits: WalkLimits) -> Self {
        let rules = match ignored {
            Ignored::Pass => Rules::above(root),
            Ignored::Show => Rules::default(),
        };
        let mut walk = Self {
            limits,
            ignored,
            rules,
            levels: Vec::new(),
            seen: 0,
            exhausted: false,
            passed: Passed::default(),
        };
        walk.enter(root);
        walk
    }

    /// What was passed over so far.
    pub(crate) fn passed(&self) -> Passed {
        let mut passed = self.passed;
        passed.unreadable = passed.unreadable.saturating_add(self.rules.unreadable);
        passed
    }

    /// Whether the walk ended for the number of entries.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn enter(&mut self, folder: &Path) {
        if self.levels.len() > self.limits.depth_max {
            self.passed.too_deep = self.passed.too_deep.saturating_add(1);
            return;
        }
        let Some(mut entries) = self.list(folder) else {
            return;
        };
        let rules_depth = self.rules.depth();
        if self.ignored == Ignored::Pass {
            for name in IGNORE_FILES {
                if entries
                    .iter()
                    .any(|entry| entry.kind == FileKind::File && entry.path.ends_with(name))
                {
                    self.rules.enter(folder, name);
                }
            }
        }
        entries.sort_by_cached_key(sort_key);
        self.levels.push(Level { entries: entries.into_iter(), rules_depth });
    }

    /// The folder's entries, in any order; none where they would pass the limit, since which ones
    /// come first is the file system's whim and results must not depend on it.
    fn list(&mut self, folder: &Path) -> Option<Vec<Entry>> {
        let Ok(listing) = fs::read_dir(openable(folder)) else {
            self.count_unreadable();
            return None;
        };
        let mut entries = Vec::new();
        for item in listing {
            if self.seen >= self.limits.entries_max {
                self.exhausted = true;
                self.levels.clear();
                return None;
            }
            self.seen += 1;
            match item.and_then(|item| Ok((item.file_name(), item.file_type()?))) {
                Ok((name, _)) if name == ".git" => {}
                Ok((name, kind)) => {
                    entries.push(Entry { path: folder.join(name), kind: kind_of(kind) })
                }
                Err(_) => self.count_unreadable(),
            }
        }
        Some(entries)
    }

    fn count_unreadable(&mut self) {
        self.passed.unreadable = self.passed.unreadable.saturating_add(1);
    }
}

impl Iterator for Walk {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        while let Some(level) = self.levels.last_mut() {
            let Some(entry) = level.entries.next() else {
                self.rules.leave(level.rules_depth);
                self.levels.pop();
                continue;
            };
            let is_folder = entry.kind == FileKind::Directory;
            if self.rules.is_ignored(&entry.path, is_folder) {
                self.passed.ignored = self.passed.ignored.saturating_add(1);
            } else if is_folder {
                self.enter(&entry.path);
            } else {
                return Some(entry);
            }
        }
        None
    }
}

/// What a directory entry is.
pub(crate) fn kind_of(kind: fs::FileType) -> FileKind {
    if kind.is_symlink() {
        FileKind::Symlink
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::File
    } else {
        FileKind::Other
    }
}

/// Folders sort as if with the slash that follows them in every path below, so that a walk yields
/// whole paths in order: `a.rs` before `a/b.rs`.
fn sort_key(entry: &Entry) -> Vec<u8> {
    let name = entry.path.file_name().unwrap_or_default();
    let mut key = name.as_encoded_bytes().to_vec();
    if entry.kind == FileKind::Directory {
        key.push(b'/');
    }
    key
}

#[cfg(test)]
mod tests;
