//! Names of functions as a person reads them.
//!
//! They are the plugin's text: cut here, and escaped by whoever shows them.

use std::fmt::Write as _;

use crate::contract::escape::cut;

/// Longest name that is kept, in bytes.
pub(super) const NAME_MAX_LEN: usize = 200;

/// Text that takes no more than it may have.
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = NAME_MAX_LEN.saturating_sub(self.0.len());
        self.0.push_str(cut(text, room));
        // So that a name which unfolds to megabytes isn't unfolded further.
        if text.len() > room { Err(std::fmt::Error) } else { Ok(()) }
    }
}

/// A function's name: Rust's unfolded, all others as they are, which C and C++ linkers have unfolded
/// already; one without a name by its number in the module.
pub(super) fn shown(name: Option<&str>, function: u32) -> String {
    let mut shown = Bounded(String::new());
    // An error is a name that was cut, of which the beginning is there.
    let _cut = match name.map(|name| (name, rustc_demangle::try_demangle(name))) {
        // Without the hash at its end, which tells nobody anything.
        Some((_, Ok(unfolded))) => write!(shown, "{unfolded:#}"),
        Some((name, Err(_))) => shown.write_str(name),
        None => write!(shown, "<wasm function {function}>"),
    };
    shown.0
}
