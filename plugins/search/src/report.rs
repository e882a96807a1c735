//! Collects what a grep found, up to the limits of a result.
//!
//! Reads no files: it is given texts and where they match.

use crate::limit::RESULT_MAX_BYTES;
use crate::line::{Hit, LinePattern, line_at};
use crate::shown::{self, Shown};
use crate::wit::{FileCount, LineMatch, Skipped, Stop};

/// What JSON adds round one result, in bytes, roughly.
const RESULT_OVERHEAD_BYTES: usize = 64;

/// How many results a call may still add.
#[derive(Debug)]
pub(crate) struct Room {
    results: usize,
    bytes: usize,
}

impl Room {
    /// Room for `limit` results of [`RESULT_MAX_BYTES`] in all.
    pub(crate) fn new(limit: usize) -> Self {
        Self { results: limit, bytes: RESULT_MAX_BYTES }
    }

    /// Takes the room of one result with `bytes` of text in it.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        let needed = bytes.saturating_add(RESULT_OVERHEAD_BYTES);
        self.results = self.results.checked_sub(1).ok_or(Stop::Limit)?;
        self.bytes = self.bytes.checked_sub(needed).ok_or(Stop::OutputSize)?;
        Ok(())
    }
}

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) matches: Vec<LineMatch>,
    pub(crate) files: Vec<String>,
    pub(crate) counts: Vec<FileCount>,
    pub(crate) files_searched: u32,
    pub(crate) files_matched: u32,
    pub(crate) skipped: Skipped,
    room: Room,
}

/// A file whose text was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Searched<'a> {
    pub(crate) path: &'a Shown,
    pub(crate) text: &'a [u8],
}

impl Report {
    /// An empty report with room for `limit` results.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            matches: Vec::new(),
            files: Vec::new(),
            counts: Vec::new(),
            files_searched: 0,
            files_matched: 0,
            skipped: Skipped {
                ignored: 0,
                binary: 0,
                too_large: 0,
                symlinks: 0,
                special: 0,
                unreadable: 0,
                too_deep: 0,
            },
            room: Room::new(limit),
        }
    }

    /// Adds the file's path if it matches.
    pub(crate) fn add_path(
        &mut self,
        file: Searched<'_>,
        pattern: &LinePattern,
    ) -> Result<(), Stop> {
        if pattern.hits(file.text).next().is_some() {
            self.room.take(file.path.text.len())?;
            self.files_matched = self.files_matched.saturating_add(1);
            self.files.push(file.path.text.clone());
        }
        Ok(())
    }

    /// Adds how many lines of the file match, if any.
    pub(crate) fn add_count(
        &mut self,
        file: Searched<'_>,
        pattern: &LinePattern,
    ) -> Result<(), Stop> {
        let lines = pattern.hits(file.text).count();
        if lines > 0 {
            self.room.take(file.path.text.len())?;
            self.files_matched = self.files_matched.saturating_add(1);
            self.counts.push(FileCount { path: file.path.text.clone(), lines: to_u32(lines) });
        }
        Ok(())
    }

    /// Adds the file's matching lines, each with `context` lines before and after.
    pub(crate) fn add_lines(
        &mut self,
        file: Searched<'_>,
        pattern: &LinePattern,
        context: usize,
    ) -> Result<(), Stop> {
        let mut hits = pattern.hits(file.text).peekable();
        let mut shown_to = 0;
        let mut matched = false;
        while let Some(hit) = hits.next() {
            let next_start = hits.peek().map_or(file.text.len(), |next| next.start);
            let (line, end) = line_match(file, hit, context, shown_to..next_start);
            shown_to = end;
            let context_bytes: usize = line.before.iter().chain(&line.after).map(String::len).sum();
            self.room.take(line.path.len() + line.text.len() + context_bytes)?;
            if !matched {
                matched = true;
                self.files_matched = self.files_matched.saturating_add(1);
            }
            self.matches.push(line);
        }
        Ok(())
    }
}

/// The hit with its context from `free`, the part of the text that no other match shows, and where
/// the shown part ends.
fn line_match(
    file: Searched<'_>,
    hit: Hit,
    context: usize,
    free: std::ops::Range<usize>,
) -> (LineMatch, usize) {
    let line = file.text.get(hit.start..hit.end).unwrap_or_default();
    let (shown, column) = shown::show_around(line, hit.focus);
    let before = lines_before(file.text, free.start, hit.start, context);
    let mut after = Vec::new();
    let (_, mut position) = line_at(file.text, hit.start);
    while after.len() < context && position < free.end {
        let (line, next) = line_at(file.text, position);
        after.push(shown::show_head(line));
        position = next;
    }
    let around = || before.iter().chain(&after);
    let found = LineMatch {
        path: file.path.text.clone(),
        line: to_u32(hit.number + 1),
        column: to_u32(column + 1),
        cut: shown.cut || around().any(|line| line.cut),
        escaped: file.path.escaped || shown.escaped || around().any(|line| line.escaped),
        text: shown.text,
        before: before.into_iter().map(|line| line.text).collect(),
        after: after.into_iter().map(|line| line.text).collect(),
    };
    (found, position)
}

/// Up to `count` whole lines that end at `end` and begin at `start` or later, in their order.
fn lines_before(text: &[u8], start: usize, end: usize, count: usize) -> Vec<Shown> {
    let mut lines = Vec::new();
    let mut position = end;
    while lines.len() < count && position > start {
        // The byte before `position` is the line's own end.
        let above = text.get(start..position - 1).unwrap_or_default();
        let line_start =
            above.iter().rposition(|&byte| byte == b'\n').map_or(start, |at| start + at + 1);
        lines.push(shown::show_head(line_at(text, line_start).0));
        position = line_start;
    }
    lines.reverse();
    lines
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
