//! Bytes of paths and lines as text a result can carry: what is not UTF-8 is escaped, what is too
//! long is cut.
//!
//! Control characters stay as they are; who prints them escapes them.

use std::path::Path;

use crate::limit::LINE_MAX_CHARS;

/// How many characters stay before a match where a long line is cut in front of it.
const LEAD_CHARS: usize = 200;

/// One line or path as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Bytes that are not UTF-8 stand as `\xNN`.
    pub(crate) escaped: bool,
    /// Only a part of the line.
    pub(crate) cut: bool,
}

/// A character, or one byte that belongs to none.
enum Unit {
    Char(char),
    Byte(u8),
}

fn units(bytes: &[u8]) -> impl Iterator<Item = Unit> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(Unit::Char);
        valid.chain(chunk.invalid().iter().copied().map(Unit::Byte))
    })
}

/// The path, whole.
pub(crate) fn show_path(path: &Path) -> Shown {
    let bytes = path.as_os_str().as_encoded_bytes();
    show_units(units(bytes), false)
}

/// The line's first [`LINE_MAX_CHARS`] characters.
pub(crate) fn show_head(line: &[u8]) -> Shown {
    show_units(units(line).take(LINE_MAX_CHARS), units(line).nth(LINE_MAX_CHARS).is_some())
}

/// The [`LINE_MAX_CHARS`] characters of the line that hold the byte offset `focus`, and the
/// character offset of `focus` in the whole line.
pub(crate) fn show_around(line: &[u8], focus: usize) -> (Shown, usize) {
    let before = units(line.get(..focus).unwrap_or_default()).count();
    let total = units(line).count();
    let start = if before + LEAD_CHARS < LINE_MAX_CHARS {
        0
    } else {
        let last_start = total.saturating_sub(LINE_MAX_CHARS);
        before.saturating_sub(LEAD_CHARS).min(last_start)
    };
    let window = units(line).skip(start).take(LINE_MAX_CHARS);
    (show_units(window, total > LINE_MAX_CHARS), before)
}

fn show_units(units: impl Iterator<Item = Unit>, cut: bool) -> Shown {
    let mut text = String::new();
    let mut escaped = false;
    for unit in units {
        match unit {
            Unit::Char(character) => text.push(character),
            Unit::Byte(byte) => {
                escaped = true;
                text.push_str(&format!("\\x{byte:02X}"));
            }
        }
    }
    Shown { text, escaped, cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_escaped_and_flagged() {
        let shown = show_head(b"caf\xe9 \xe3\x81 ok");
        assert_eq!(shown.text, "caf\\xE9 \\xE3\\x81 ok");
        assert!(shown.escaped && !shown.cut);
        assert!(!show_head("café".as_bytes()).escaped);
    }

    #[test]
    fn long_line_is_cut_between_characters() {
        let line = "é".repeat(LINE_MAX_CHARS);
        assert!(!show_head(line.as_bytes()).cut);
        let longer = "é".repeat(LINE_MAX_CHARS + 1);
        let shown = show_head(longer.as_bytes());
        assert_eq!(shown.text, line);
        assert!(shown.cut && !shown.escaped);
    }

    #[test]
    fn long_line_is_cut_round_its_match() {
        let line = "é".repeat(5000) + "needle" + &"x".repeat(5000);
        let (shown, column) = show_around(line.as_bytes(), 10_000);
        assert_eq!(column, 5000);
        assert_eq!(shown.text.chars().count(), LINE_MAX_CHARS);
        assert!(shown.cut && shown.text.contains("éneedlex"));
        let (shown, _) = show_around(line.as_bytes(), line.len() - 1);
        assert!(shown.text.chars().all(|character| character == 'x'));
        assert_eq!(shown.text.len(), LINE_MAX_CHARS);
        let (shown, column) = show_around(b"short needle", 6);
        assert_eq!((shown.text.as_str(), column, shown.cut), ("short needle", 6, false));
    }
}
