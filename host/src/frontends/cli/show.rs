//! The way to the terminal: everything that is printed passes here and is escaped here.
//!
//! Knows nothing of what it prints.

use std::io::{self, Write};

use serde::Serialize;

use super::error::CliError;
use crate::contract::escape::{escaped, is_hidden};

/// Prints to stdout, escaped. Nobody reading any more is no fault; a full disk is.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    print_to_reader(text).map(|_is_read| ())
}

/// The same, for a command that goes on for as long as somebody reads: whether anybody does.
pub(super) fn print_to_reader(text: &str) -> Result<bool, CliError> {
    match write_whole(io::stdout().lock(), &escaped(text)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError::Machine(format!("stdout can't be written: {error}"))),
    }
}

/// Prints one JSON value on one line.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    print_json_text(serde_json::to_string(value))
}

/// Prints one JSON value over several lines.
pub(super) fn print_json_pretty(value: &impl Serialize) -> Result<(), CliError> {
    print_json_text(serde_json::to_string_pretty(value))
}

fn print_json_text(text: serde_json::Result<String>) -> Result<(), CliError> {
    let text = text.map_err(|error| CliError::Machine(format!("no JSON can be made: {error}")))?;
    print(&(json_for_terminal(&text) + "\n"))
}

/// JSON that means the same and hides nothing: what hides can only stand in a string, where its
/// number says as much as itself. The line feeds of pretty JSON stand outside and stay.
pub(super) fn json_for_terminal(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hidden(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Tells something on stderr, escaped. Where that can't be written, there is nobody left to tell.
pub fn tell(text: &str) {
    drop(write_whole(io::stderr().lock(), &(escaped(text) + "\n")));
}

/// The same without a line end: a person's answer comes behind it.
pub(super) fn tell_open(text: &str) {
    drop(write_whole(io::stderr().lock(), &escaped(text)));
}

/// Text of others below a heading: its own lines can't be taken for belljar's.
pub(super) fn indented(text: &str, indent: &str) -> String {
    text.replace('\n', &format!("\n{indent}"))
}

fn write_whole(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Stderr for log lines, which may hold text of plugins.
#[derive(Debug, Clone, Copy, Default)]
pub struct EscapedStderr;

impl Write for EscapedStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(escaped(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_json_hides_nothing_and_means_the_same() {
        let value = serde_json::json!({
            "esc\u{9b}": "a\u{1b}[2J\u{202e}b\u{200b}\u{e0041}\u{7f}é👍\n",
            "n": [1, {"x": null}],
        });
        for json in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = json_for_terminal(&json);
            assert!(!shown.chars().any(|c| is_hidden(c) && c != '\n'), "{shown:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }

    #[test]
    fn lines_of_others_stay_below_their_heading() {
        assert_eq!(indented("a\nerror: b\n", "  "), "a\n  error: b\n  ");
    }
}
