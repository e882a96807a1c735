//! Walks a tree of folders in path order and fills one page from it.
//!
//! Paths compare name by name, so a folder is followed by its own entries, and whole folders
//! before the page can be passed over without reading them.

use std::cmp::Ordering;
use std::fs;

use super::{Bounds, Names, read_folder};
use crate::bindings::exports::belljar::files::files::{Entry, FileKind, ListResult};
use crate::path::join;

/// Unreadable folders that are named.
const UNREADABLE_NAMED_MAX: usize = 20;
/// What an entry costs in JSON besides its path, at most.
const ENTRY_BYTES: usize = 64;

/// A folder that is being walked.
struct Folder {
    /// Path below the base; empty for the base.
    below: String,
    names: std::vec::IntoIter<(String, FileKind)>,
}

/// The state of one listing.
pub(super) struct Walk<'a> {
    base: &'a str,
    depth: usize,
    limit: usize,
    after: Option<String>,
    bounds: Bounds,
    page_bytes: usize,
    is_full: bool,
    result: ListResult,
}

impl<'a> Walk<'a> {
    /// `after` is a path below `base`.
    pub(super) fn new(
        base: &'a str,
        depth: u32,
        limit: u32,
        after: Option<String>,
        bounds: Bounds,
    ) -> Self {
        let result = ListResult {
            omitted: 0,
            next_after: None,
            unreadable_count: 0,
            unreadable: Vec::new(),
            entries: Vec::new(),
        };
        let (depth, limit) = (depth as usize, limit as usize);
        Self { base, depth, limit, after, bounds, page_bytes: 0, is_full: false, result }
    }

    /// Fills the page from the base's `names` and what is below them.
    pub(super) fn run(mut self, names: Names) -> ListResult {
        let mut open = Vec::new();
        self.enter(&mut open, String::new(), names);
        while let Some(folder) = open.last_mut() {
            let Some((name, kind)) = folder.names.next() else {
                open.pop();
                continue;
            };
            let below = join(if folder.below.is_empty() { "." } else { &folder.below }, &name);
            if self.is_after_cursor(&below) {
                self.place(&below, kind);
            }
            if self.result.omitted >= self.bounds.omitted_max {
                break;
            }
            if kind == FileKind::Directory && open.len() < self.depth && self.may_hold_more(&below)
            {
                let path = join(self.base, &below);
                match read_folder(&path, self.bounds.folder_max) {
                    Ok(names) => self.enter(&mut open, below, names),
                    Err(_) => self.report_unreadable(path),
                }
            }
        }
        if self.result.omitted > 0 {
            self.result.next_after = self.result.entries.last().map(|entry| entry.path.clone());
        }
        self.result
    }

    fn enter(&mut self, open: &mut Vec<Folder>, below: String, names: Names) {
        self.result.unreadable_count =
            self.result.unreadable_count.saturating_add(names.unreadable);
        open.push(Folder { below, names: names.sorted.into_iter() });
    }

    /// Puts an entry on the page, or counts it once the page is full.
    fn place(&mut self, below: &str, kind: FileKind) {
        let path = join(self.base, below);
        let bytes = self.page_bytes + path.len() + ENTRY_BYTES;
        self.is_full |= self.result.entries.len() >= self.limit
            || (bytes > self.bounds.page_max_bytes && !self.result.entries.is_empty());
        if self.is_full {
            self.result.omitted += 1;
            return;
        }
        self.page_bytes = bytes;
        // A file that vanished meanwhile is listed without a size.
        let size = (kind == FileKind::File)
            .then(|| fs::symlink_metadata(&path).ok())
            .flatten()
            .map(|found| found.len());
        self.result.entries.push(Entry { path, kind, size });
    }

    fn report_unreadable(&mut self, path: String) {
        self.result.unreadable_count = self.result.unreadable_count.saturating_add(1);
        if self.result.unreadable.len() < UNREADABLE_NAMED_MAX {
            self.result.unreadable.push(path);
        }
    }

    fn is_after_cursor(&self, below: &str) -> bool {
        self.after.as_deref().is_none_or(|after| compare(below, after) == Ordering::Greater)
    }

    /// Whether a folder can hold entries after the cursor.
    fn may_hold_more(&self, below: &str) -> bool {
        self.after.as_deref().is_none_or(|after| {
            compare(below, after) != Ordering::Less
                || after.strip_prefix(below).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Name by name in byte order; `a/b` comes before `a-b`.
fn compare(left: &str, right: &str) -> Ordering {
    left.split('/').cmp(right.split('/'))
}
