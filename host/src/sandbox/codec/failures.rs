//! Collects what is wrong with one set of arguments, each with its place, bounded in number.
//!
//! Must not check anything.

use std::fmt::Write as _;

use crate::contract::arguments::ArgumentFailure;

use super::limits::FAILURES;

/// One step down into a value.
pub(super) enum Step<'p> {
    Name(&'p str),
    Index(usize),
    /// A pointer further down, as a validator gives it.
    Below(String),
}

/// Failures in the order in which they were found.
#[derive(Default)]
pub(super) struct Failures {
    listed: Vec<ArgumentFailure>,
    unlisted: usize,
}

impl Failures {
    /// Notes a failure at `path`; beyond the bound it is only counted.
    pub(super) fn add(&mut self, path: &[Step<'_>], message: impl FnOnce() -> String) {
        if self.listed.len() < FAILURES {
            self.listed.push(ArgumentFailure::new(pointer(path), message()));
        } else {
            self.unlisted += 1;
        }
    }

    /// `Ok` if there was none; the last one counts those that aren't listed.
    pub(super) fn finish(mut self) -> Result<(), Vec<ArgumentFailure>> {
        if self.unlisted > 0 {
            self.listed.push(ArgumentFailure::new("", format!("and {} more", self.unlisted)));
        }
        if self.listed.is_empty() { Ok(()) } else { Err(self.listed) }
    }
}

/// A JSON pointer. Names of a plan are letters, digits, `-` and `_`, so nothing is escaped.
fn pointer(path: &[Step<'_>]) -> String {
    let mut pointer = String::new();
    for step in path {
        let written = match step {
            Step::Name(name) => write!(pointer, "/{name}"),
            Step::Index(index) => write!(pointer, "/{index}"),
            Step::Below(further) => write!(pointer, "{further}"),
        };
        debug_assert!(written.is_ok(), "writing to a string can't fail");
    }
    pointer
}
