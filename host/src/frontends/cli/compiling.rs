//! Shows on a terminal which plugin is compiled, and for how long; elsewhere nothing.
//!
//! Compiles nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::app::OnCompile;
use crate::contract::escape::clipped_line;

/// No colour and no character beyond ASCII.
const TEMPLATE: &str = "compiling {msg} ({pos}. of those that aren't kept), {elapsed}";
/// How often it is drawn anew.
const TICK: Duration = Duration::from_millis(250);
/// Longest name of a plugin that is shown, in bytes.
const NAME_MAX_LEN: usize = 60;

/// The line, while there is one.
#[derive(Debug, Default)]
pub(super) struct Compiling(Arc<Mutex<Option<ProgressBar>>>);

impl Compiling {
    /// What begins it, and counts on.
    pub(super) fn on_compile(&self) -> OnCompile {
        let line = Arc::clone(&self.0);
        OnCompile::new(move |name| {
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            let line = line.get_or_insert_with(drawn);
            line.inc(1);
            line.set_message(format!("`{}`", clipped_line(name, NAME_MAX_LEN)));
        })
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        let line = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(line) = line {
            line.finish_and_clear();
        }
    }
}

fn drawn() -> ProgressBar {
    // The library draws nothing where stderr is no terminal.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // Without its own form it has the library's.
    let style = ProgressStyle::with_template(TEMPLATE);
    bar.set_style(style.unwrap_or_else(|_unfit| ProgressStyle::default_spinner()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_line_is_one_that_the_library_knows() {
        ProgressStyle::with_template(TEMPLATE).unwrap();
    }

    #[test]
    fn off_a_terminal_nothing_is_drawn() {
        let compiling = Compiling::default();
        assert!(compiling.0.lock().unwrap().is_none());
        let bar = drawn();
        assert_eq!(bar.is_hidden(), !std::io::IsTerminal::is_terminal(&std::io::stderr()));
        bar.finish_and_clear();
    }
}
