//! Cuts a window of lines out of a text, on character boundaries and within bounds.
//!
//! Lines end at LF and keep their own ends; nothing marks a cut inside the text.

/// Longest line returned, in characters.
pub(crate) const LINE_MAX_CHARS: usize = 2000;
/// Most text in one window. With JSON escapes it stays under the host's 256 KiB for the model, so
/// that a window is never cut a second time; a line always fits (2000 characters of 4 bytes).
pub(crate) const WINDOW_MAX_BYTES: usize = 64 << 10;

/// Some lines of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The lines, cut ones without their rest.
    pub(crate) text: String,
    /// Lines in `text`.
    pub(crate) lines: u32,
    /// Lines in the whole.
    pub(crate) total_lines: u32,
    /// First line after the window, if there is one.
    pub(crate) next_offset: Option<u32>,
    /// Numbers of the lines that were cut.
    pub(crate) cut: Vec<u32>,
}

/// At most `limit` lines of `text` from line `offset`, counted from 1.
pub(crate) fn cut_window(text: &str, offset: u32, limit: u32) -> Window {
    let mut window = Window {
        text: String::new(),
        lines: 0,
        total_lines: 0,
        next_offset: None,
        cut: Vec::new(),
    };
    for line in text.split_inclusive('\n') {
        window.total_lines = window.total_lines.saturating_add(1);
        if window.total_lines < offset || window.next_offset.is_some() {
            continue;
        }
        let (body, end) = split_end(line);
        let kept = cut_line(body);
        let bytes = window.text.len() + kept.len() + end.len();
        if window.lines == limit || bytes > WINDOW_MAX_BYTES {
            window.next_offset = Some(window.total_lines);
            continue;
        }
        if kept.len() < body.len() {
            window.cut.push(window.total_lines);
        }
        window.text.push_str(kept);
        window.text.push_str(end);
        window.lines += 1;
    }
    window
}

/// A line and its end: CRLF, LF or nothing.
fn split_end(line: &str) -> (&str, &str) {
    let body = line.strip_suffix('\n').map_or(line, |body| body.strip_suffix('\r').unwrap_or(body));
    (body, line.get(body.len()..).unwrap_or_default())
}

fn cut_line(body: &str) -> &str {
    // Without this a long text costs a walk over each of its characters.
    if body.len() <= LINE_MAX_CHARS {
        return body;
    }
    body.char_indices().nth(LINE_MAX_CHARS).and_then(|(at, _)| body.get(..at)).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends_and_are_counted() {
        let window = cut_window("a\r\nb\nc", 2, 1);
        assert_eq!(window.text, "b\n");
        assert_eq!((window.lines, window.total_lines, window.next_offset), (1, 3, Some(3)));
        let window = cut_window("a\r\nb\nc", 1, 2000);
        assert_eq!(window.text, "a\r\nb\nc");
        assert_eq!(window.next_offset, None);
        assert_eq!(cut_window("a\n", 1, 9).total_lines, 1);
        assert_eq!(cut_window("", 1, 9).total_lines, 0);
    }

    #[test]
    fn long_lines_are_cut_on_a_character_boundary_and_named() {
        let text = format!(
            "short\n{}\r\n{}\n",
            "あ".repeat(LINE_MAX_CHARS + 1),
            "é".repeat(LINE_MAX_CHARS)
        );
        let window = cut_window(&text, 1, 9);
        assert_eq!(window.cut, [2]);
        let lines: Vec<&str> = window.text.split('\n').collect();
        assert_eq!(lines[1], format!("{}\r", "あ".repeat(LINE_MAX_CHARS)));
        assert_eq!(lines[2].chars().count(), LINE_MAX_CHARS);
    }

    #[test]
    fn a_window_ends_at_its_byte_cap_and_says_where_to_go_on() {
        let line = format!("{}\n", "x".repeat(1023));
        let window = cut_window(&line.repeat(100), 1, 2000);
        assert_eq!(window.text.len(), WINDOW_MAX_BYTES);
        assert_eq!((window.lines, window.next_offset, window.total_lines), (64, Some(65), 100));
    }

    #[test]
    fn windows_put_together_are_the_text() {
        let text = "one\r\ntwo\n\n\nthree\rstill three\n日本\nlast";
        let mut offset = Some(1);
        let mut whole = String::new();
        while let Some(from) = offset {
            let window = cut_window(text, from, 2);
            whole.push_str(&window.text);
            offset = window.next_offset;
        }
        assert_eq!(whole, text);
    }
}
