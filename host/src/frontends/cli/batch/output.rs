//! Prints results in the order of their lines, each as soon as it and all before it are known.
//!
//! Works on a thread of its own: a reader that is slow holds up no call.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, stdout};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use tokio_util::sync::CancellationToken;

use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::frontends::cli::error::CliError;
use crate::frontends::cli::screen::Screen;
use crate::frontends::cli::show::{json_for_terminal, print_to_reader};

/// A result on its way to stdout.
#[derive(Debug)]
pub(super) struct Told {
    place: usize,
    outcome: Outcome,
    json: serde_json::Result<String>,
}

impl Told {
    /// The result of the line at `place`.
    pub(super) fn of(place: usize, result: &ToolResult) -> Self {
        Self { place, outcome: result.outcome, json: serde_json::to_string(result) }
    }
}

/// Puts results in order and prints them.
#[derive(Debug)]
pub(super) struct Printer {
    screen: Arc<Screen>,
    /// Cancelled when nobody gets the results.
    cancel: CancellationToken,
    /// Whether stdout shows where the screen's own lines are.
    shares_screen: bool,
    next: usize,
    waiting: BTreeMap<usize, String>,
    outcomes: Vec<Outcome>,
}

impl Printer {
    /// Begins with the first line's result.
    pub(super) fn new(screen: Arc<Screen>, cancel: CancellationToken) -> Self {
        let shares_screen = stdout().is_terminal();
        let (waiting, outcomes) = (BTreeMap::new(), Vec::new());
        Self { screen, cancel, shares_screen, next: 0, waiting, outcomes }
    }

    /// Prints until nobody sends any more; gives the outcomes as they came. Where stdout can't be
    /// written or nobody reads, the rest of the batch is cancelled.
    pub(super) fn print_all(mut self, results: &Receiver<Told>) -> Result<Vec<Outcome>, CliError> {
        let (mut written, mut is_read) = (Ok(()), true);
        for told in results {
            self.outcomes.push(told.outcome);
            self.screen.advance();
            if written.is_err() || !is_read {
                continue;
            }
            match self.take(told) {
                Ok(read) => is_read = read,
                Err(error) => written = Err(error),
            }
            if written.is_err() || !is_read {
                self.cancel.cancel();
            }
        }
        written.map(|()| self.outcomes)
    }

    fn take(&mut self, told: Told) -> Result<bool, CliError> {
        let json = told
            .json
            .map_err(|error| CliError::Machine(format!("no JSON can be made: {error}")))?;
        self.waiting.insert(told.place, json_for_terminal(&json) + "\n");
        while let Some(line) = self.waiting.remove(&self.next) {
            self.next += 1;
            let is_read = match self.shares_screen {
                true => self.screen.above(|| print_to_reader(&line))?,
                false => print_to_reader(&line)?,
            };
            if !is_read {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
