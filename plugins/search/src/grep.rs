//! The tool `grep`: which files are searched, and what becomes of them.
//!
//! What matches is `line`'s to know, what is shown `report`'s.

use std::path::Path;

use crate::content::{self, Content};
use crate::error::SearchError;
use crate::glob_pattern::PathGlob;
use crate::limit::{self, FILE_MAX_BYTES, WALK_LIMITS};
use crate::line::{LinePattern, PatternOptions};
use crate::location::{Location, locate};
use crate::report::{Report, Searched};
use crate::shown;
use crate::walk::{Ignored, Walk};
use crate::wit::{FileKind, GrepMode, GrepRequest, GrepResult, Stop};

/// Searches as `request` says.
pub(crate) fn grep(request: &GrepRequest) -> Result<GrepResult, SearchError> {
    let mut search = Search::new(request)?;
    let named = request.path.as_deref().unwrap_or(".");
    let end = match locate(named)? {
        Location::File(path) => search.search_named(named, &path)?,
        Location::Folder(root) => search.search_folder(&root),
    };
    Ok(search.finish(end.err()))
}

/// A search under way.
#[derive(Debug)]
struct Search {
    pattern: LinePattern,
    filter: Option<Filter>,
    mode: GrepMode,
    context: usize,
    ignored: Ignored,
    report: Report,
}

/// The `glob` argument.
#[derive(Debug)]
enum Filter {
    Name(PathGlob),
    Path(PathGlob),
}

impl Filter {
    fn compile(glob: &str) -> Result<Self, SearchError> {
        let compiled = PathGlob::compile(glob)?;
        Ok(if glob.contains('/') { Self::Path(compiled) } else { Self::Name(compiled) })
    }

    fn passes(&self, path: &Path, root: &Path) -> bool {
        match self {
            Self::Name(glob) => glob.matches(Path::new(path.file_name().unwrap_or_default())),
            Self::Path(glob) => glob.matches(path.strip_prefix(root).unwrap_or(path)),
        }
    }
}

impl Search {
    fn new(request: &GrepRequest) -> Result<Self, SearchError> {
        let options = PatternOptions {
            literal: request.literal.unwrap_or(false),
            ignore_case: request.ignore_case.unwrap_or(false),
        };
        Ok(Self {
            pattern: LinePattern::compile(&request.pattern, options)?,
            filter: request.glob.as_deref().map(Filter::compile).transpose()?,
            mode: request.mode.unwrap_or(GrepMode::Content),
            context: limit::context(request.context)?,
            ignored: Ignored::from_request(request.include_ignored),
            report: Report::new(limit::results(request.limit)?),
        })
    }

    /// A file that the caller named: no rule passes it over, and what stops it is an error.
    fn search_named(&mut self, named: &str, path: &Path) -> Result<Result<(), Stop>, SearchError> {
        match content::load(path, FILE_MAX_BYTES) {
            Err(error) => Err(SearchError::file(named, &error)),
            Ok(Content::TooLarge) => Err(SearchError::TooLarge {
                path: named.escape_debug().to_string(),
                max: FILE_MAX_BYTES,
            }),
            Ok(content) => Ok(self.search_content(path, &content)),
        }
    }

    fn search_folder(&mut self, root: &Path) -> Result<(), Stop> {
        let mut walk = Walk::new(root, self.ignored, WALK_LIMITS);
        let mut end = walk.try_for_each(|entry| {
            let wanted = self.filter.as_ref().is_none_or(|filter| filter.passes(&entry.path, root));
            if wanted { self.search_entry(&entry.path, entry.kind) } else { Ok(()) }
        });
        if walk.is_exhausted() {
            end = end.and(Err(Stop::Entries));
        }
        let passed = walk.passed();
        let skipped = &mut self.report.skipped;
        skipped.ignored = passed.ignored;
        skipped.too_deep = passed.too_deep;
        skipped.unreadable = skipped.unreadable.saturating_add(passed.unreadable);
        end
    }

    fn search_entry(&mut self, path: &Path, kind: FileKind) -> Result<(), Stop> {
        let skipped = &mut self.report.skipped;
        let count = match kind {
            FileKind::Symlink => &mut skipped.symlinks,
            FileKind::Other | FileKind::Directory => &mut skipped.special,
            FileKind::File => match content::load(path, FILE_MAX_BYTES) {
                Ok(content) => return self.search_content(path, &content),
                // Deleted since it was listed, or closed to us.
                Err(_) => &mut skipped.unreadable,
            },
        };
        *count = count.saturating_add(1);
        Ok(())
    }

    fn search_content(&mut self, path: &Path, content: &Content) -> Result<(), Stop> {
        let count = match content {
            Content::Text(_) => &mut self.report.files_searched,
            Content::Binary => &mut self.report.skipped.binary,
            Content::TooLarge => &mut self.report.skipped.too_large,
        };
        *count = count.saturating_add(1);
        let Content::Text(text) = content else {
            return Ok(());
        };
        let shown = shown::show_path(path);
        let file = Searched { path: &shown, text };
        match self.mode {
            GrepMode::Content => self.report.add_lines(file, &self.pattern, self.context),
            GrepMode::Files => self.report.add_path(file, &self.pattern),
            GrepMode::Count => self.report.add_count(file, &self.pattern),
        }
    }

    fn finish(self, stop: Option<Stop>) -> GrepResult {
        GrepResult {
            matches: self.report.matches,
            files: self.report.files,
            counts: self.report.counts,
            files_searched: self.report.files_searched,
            files_matched: self.report.files_matched,
            skipped: self.report.skipped,
            truncated: stop.is_some(),
            stopped_by: stop,
        }
    }
}

#[cfg(test)]
mod tests;
