//! Finds the lines of a text that a pattern matches, in time linear in the text.
//!
//! A pattern never sees more than one line, so no match spans two.

use regex::bytes::{Regex, RegexBuilder};

use crate::error::SearchError;
use crate::limit::{COMPILED_MAX_BYTES, PATTERN_MAX_BYTES};
use crate::syntax::{self, Scope};

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct LinePattern {
    regex: Regex,
    scope: Scope,
}

/// How to read a pattern.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatternOptions {
    pub(crate) literal: bool,
    pub(crate) ignore_case: bool,
}

/// One matching line: byte offsets in the text, without the line's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// The line's number, from 0.
    pub(crate) number: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Where in the line the first match begins.
    pub(crate) focus: usize,
}

impl LinePattern {
    /// Compiles `pattern`.
    pub(crate) fn compile(pattern: &str, options: PatternOptions) -> Result<Self, SearchError> {
        if pattern.is_empty() || pattern.len() > PATTERN_MAX_BYTES {
            return Err(SearchError::BadArgument {
                name: "pattern",
                found: format!("{} bytes long", pattern.len()),
                expected: "1 to 4096 bytes",
            });
        }
        let escaped = options.literal.then(|| regex::escape(pattern));
        let source = escaped.as_deref().unwrap_or(pattern);
        let scope = syntax::check(source, options.ignore_case)?;
        // The same flags as in `syntax::check`.
        let regex = RegexBuilder::new(source)
            .multi_line(true)
            .crlf(true)
            .case_insensitive(options.ignore_case)
            .size_limit(COMPILED_MAX_BYTES)
            .build()
            .map_err(|_too_big| SearchError::PatternTooBig { max: COMPILED_MAX_BYTES })?;
        Ok(Self { regex, scope })
    }

    /// The matching lines of `text`, in order.
    pub(crate) fn hits<'a>(&'a self, text: &'a [u8]) -> Hits<'a> {
        // Most files match nowhere: one search over the whole text says so faster than one a line.
        // It only says where to begin, since it may see a match across lines where there is none.
        let first = match self.scope {
            Scope::Text => self.regex.find(text).map(|found| found.start()),
            Scope::Line => Some(0),
        };
        let passed = text.get(..first.unwrap_or(text.len())).unwrap_or_default();
        let line_start = passed.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        Hits {
            regex: &self.regex,
            text,
            start: first.map_or(text.len(), |_| line_start),
            number: passed.iter().filter(|&&byte| byte == b'\n').count(),
        }
    }
}

/// Iterates over the matching lines of a text.
#[derive(Debug)]
pub(crate) struct Hits<'a> {
    regex: &'a Regex,
    text: &'a [u8],
    /// Where the next line begins.
    start: usize,
    number: usize,
}

impl Iterator for Hits<'_> {
    type Item = Hit;

    fn next(&mut self) -> Option<Hit> {
        while self.start < self.text.len() {
            let (start, number) = (self.start, self.number);
            let (line, next) = line_at(self.text, start);
            self.start = next;
            self.number += 1;
            if let Some(found) = self.regex.find(line) {
                return Some(Hit { number, start, end: start + line.len(), focus: found.start() });
            }
        }
        None
    }
}

/// The line that begins at `start`, without its end (LF or CRLF), and where the next one begins.
pub(crate) fn line_at(text: &[u8], start: usize) -> (&[u8], usize) {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.iter().position(|&byte| byte == b'\n');
    let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
    let next = start + length.map_or(rest.len(), |length| length + 1);
    (line.strip_suffix(b"\r").unwrap_or(line), next)
}

#[cfg(test)]
mod tests;
