//! Stderr as a terminal that several speak to: lines above, an open question or a bar below.
//!
//! Knows nothing of what is said. Where stderr is no terminal there is no bar.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::show::{tell, tell_open};

/// No colour and no character beyond ASCII.
const TEMPLATE: &str = "[{bar:30}] {pos} of {len} calls, {elapsed}";

/// What is written below the lines.
#[derive(Debug, Default)]
pub(super) struct Screen(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How many calls there are, once a bar was asked for.
    total: Option<u64>,
    done: u64,
    bar: Option<ProgressBar>,
    /// The question that stands open; there is no bar then.
    question: Option<String>,
}

impl Screen {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows how far a number of calls is, from now on.
    pub(super) fn begin(&self, total: u64) {
        let mut state = self.state();
        state.total = Some(total);
        state.draw();
    }

    /// One call more is done.
    pub(super) fn advance(&self) {
        let mut state = self.state();
        state.done += 1;
        if let Some(bar) = &state.bar {
            bar.set_position(state.done);
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.total = None;
        state.clear();
    }

    /// Says something above what stands below.
    pub(super) fn tell(&self, text: &str) {
        self.above(|| tell(text));
    }

    /// Writes by `write` above what stands below.
    pub(super) fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut state = self.state();
        state.clear();
        let written = write();
        state.draw();
        written
    }

    /// Opens a question: what is typed comes behind it.
    pub(super) fn ask(&self, question: &str) {
        let mut state = self.state();
        state.clear();
        state.question = Some(question.to_owned());
        state.draw();
    }

    /// The question is over: `answered` by a line end that is on the terminal already, or not.
    pub(super) fn close(&self, answered: bool) {
        let mut state = self.state();
        if answered {
            state.question = None;
        } else {
            state.clear();
            state.question = None;
        }
        state.draw();
    }
}

impl State {
    /// Leaves the cursor at the beginning of a line.
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        } else if self.question.is_some() {
            tell("");
        }
    }

    fn draw(&mut self) {
        match (&self.question, self.total) {
            (Some(question), _) => tell_open(question),
            (None, Some(total)) if self.bar.is_none() => {
                let target = ProgressDrawTarget::stderr();
                let bar = ProgressBar::with_draw_target(Some(total), target);
                // Without its own form it has the library's.
                let style =
                    ProgressStyle::with_template(TEMPLATE).map(|it| it.progress_chars("=> "));
                bar.set_style(style.unwrap_or_else(|_unfit| ProgressStyle::default_bar()));
                bar.set_position(self.done);
                self.bar = Some(bar);
            }
            (None, _) => {}
        }
    }
}
