//! Why there is no configuration: the file can't be used, or what it says is wrong.
//!
//! Every text of the file that is repeated here has been made safe to look at.

use std::fmt;
use std::path::Path;

use serde::Serialize;

use crate::contract::escape::clipped_line;

/// Most problems of one file that are told; the rest are counted.
pub const PROBLEMS_MAX: usize = 20;
/// Most problems that are held while a file is read, so that the first lines' are told.
const HELD_MAX: usize = 1000;
/// Most bytes of a text of the file that a problem repeats.
const SHOWN: usize = 80;

/// A text of the file, safe to look at and short.
pub(super) fn shown(text: &str) -> String {
    clipped_line(text, SHOWN)
}

/// A path, safe to look at.
pub(super) fn shown_path(path: &Path) -> String {
    clipped_line(&path.to_string_lossy(), 300)
}

/// One thing that is wrong in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong and what was expected, in one sentence.
    pub text: String,
}

/// Everything that is wrong in one file, in the order of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Problems {
    /// The file's name.
    pub file: String,
    /// The first of them.
    pub told: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

impl Problems {
    pub(super) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), told: Vec::new(), more: 0 }
    }

    pub(super) fn push(&mut self, line: u32, text: String) {
        if self.told.len() < HELD_MAX {
            self.told.push(Problem { line, text });
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// In the order of the lines, each once, and no more than are told.
    pub(super) fn finish(mut self) -> Self {
        self.told.sort_by_key(|problem| problem.line);
        self.told.dedup();
        self.more += self.told.len().saturating_sub(PROBLEMS_MAX);
        self.told.truncate(PROBLEMS_MAX);
        self
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.told.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{}:{}: {}", self.file, problem.line, problem.text)?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `BELLJAR_CONFIG` would mean another file in every folder.
    #[error(
        "BELLJAR_CONFIG is `{0}`: expected an absolute path, since a relative one would mean \
         another file in every folder"
    )]
    RelativeVariable(String),
    /// The file can't be opened or read.
    #[error("the configuration `{path}`, named by {named_by}, can't be read: {source}")]
    Read {
        /// The file.
        path: String,
        /// What named it.
        named_by: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("the configuration `{0}` is no regular file")]
    NoFile(String),
    /// Whoever owns it decides what belljar may do.
    #[error(
        "the configuration `{path}` belongs to user {owner}, who could change it: expected a file \
         of user {expected} or of root; correct it with chown"
    )]
    Owner {
        /// The file.
        path: String,
        /// The number of the user that it belongs to.
        owner: u32,
        /// The number of the user that belljar runs as.
        expected: u32,
    },
    /// Anybody could change it.
    #[error(
        "the configuration `{0}` can be written by every user of this machine; correct it with \
         chmod o-w"
    )]
    Writable(String),
    /// Above the bound.
    #[error("the configuration `{path}` is larger than {max} bytes")]
    TooLarge {
        /// The file.
        path: String,
        /// The most bytes.
        max: u64,
    },
    /// Not text.
    #[error("{file}:{line}: it is not UTF-8, as TOML must be")]
    NotUtf8 {
        /// The file's name.
        file: String,
        /// The line of the first wrong byte, from 1.
        line: u32,
    },
    /// Its content.
    #[error("{0}")]
    Wrong(Problems),
}

impl ConfigError {
    /// The error of a file that can't be used, for `path`.
    pub(super) fn read(path: &Path, named_by: &'static str, source: std::io::Error) -> Self {
        Self::Read { path: shown_path(path), named_by, source }
    }
}
