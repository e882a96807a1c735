//! Reads the lines of a batch, all of them before the first call: within bounds, and blank ones
//! left out.
//!
//! Doesn't know what a line means.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::frontends::cli::error::{CliError, shown};

/// Most lines of a batch, blank ones not counted: the result of each is held, too.
pub(super) const LINES_MAX: usize = 10_000;
/// Longest line, in bytes: the longest arguments there are, and room for what stands around them.
pub(super) const LINE_MAX_LEN: usize = 17 << 20;
/// Longest batch, in bytes: all of it is held until its calls have run.
const TOTAL_MAX_LEN: usize = 256 << 20;

/// A line that isn't blank.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its number in the file, from 1.
    pub(super) number: usize,
    /// What stands there, or why that can't be read.
    pub(super) text: Result<String, String>,
}

/// How much is read.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    lines: usize,
    line_len: usize,
    total_len: usize,
}

const BOUNDS: Bounds =
    Bounds { lines: LINES_MAX, line_len: LINE_MAX_LEN, total_len: TOTAL_MAX_LEN };

/// The lines of a file, or of stdin for `-`.
pub(super) fn read_lines(path: &Path) -> Result<Vec<Line>, CliError> {
    if path == Path::new("-") {
        return read(io::stdin().lock(), Path::new("stdin"), BOUNDS);
    }
    let file = File::open(path).map_err(|error| CliError::io("read", path, &error))?;
    read(BufReader::new(file), path, BOUNDS)
}

fn read(mut from: impl BufRead, path: &Path, bounds: Bounds) -> Result<Vec<Line>, CliError> {
    let (mut lines, mut total, mut number) = (Vec::new(), 0_usize, 0);
    let refused =
        |what: String| Err(CliError::Refused(format!("{} {what}; no call was made", shown(path))));
    loop {
        let room = bounds.total_len.saturating_sub(total);
        let next = next_line(&mut from, bounds.line_len, room);
        let next = next.map_err(|error| CliError::io("read", path, &error))?;
        let Some(Raw { bytes, len }) = next else { return Ok(lines) };
        number += 1;
        total = total.saturating_add(len);
        if total > bounds.total_len {
            return refused(format!("has more than the {} bytes of a batch", bounds.total_len));
        }
        if bytes.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            continue;
        }
        if lines.len() == bounds.lines {
            return refused(format!("has more than the {} lines of a batch", bounds.lines));
        }
        let text = if bytes.len() > bounds.line_len {
            Err(format!("line {number} is longer than the {} bytes of a line", bounds.line_len))
        } else {
            String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                format!("line {number} is not UTF-8 at byte {at}")
            })
        };
        lines.push(Line { number, text });
    }
}

/// One line as it came, without its line feed.
struct Raw {
    /// Its bytes; of a line that is too long, one more than may be.
    bytes: Vec<u8>,
    /// How many it has with its line feed, as far as it was read.
    len: usize,
}

/// The next line. Stops soon after more than `room` bytes.
fn next_line(from: &mut impl BufRead, max_len: usize, room: usize) -> io::Result<Option<Raw>> {
    let mut line = Raw { bytes: Vec::new(), len: 0 };
    loop {
        let read = match from.fill_buf() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if read.is_empty() {
            return Ok((line.len > 0).then_some(line));
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
        let kept = part.len().min((max_len + 1).saturating_sub(line.bytes.len()));
        line.bytes.extend_from_slice(part.get(..kept).unwrap_or_default());
        let used = part.len() + usize::from(end.is_some());
        from.consume(used);
        line.len += used;
        if end.is_some() || line.len > room {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bounds = Bounds { lines: 3, line_len: 8, total_len: 40 };

    type Numbered = (usize, Result<String, String>);

    fn lines(text: &[u8]) -> Result<Vec<Numbered>, String> {
        // Parts of a line come one after another.
        let from = BufReader::with_capacity(3, text);
        let lines = read(from, Path::new("f"), SMALL).map_err(|error| error.to_string())?;
        Ok(lines.into_iter().map(|line| (line.number, line.text)).collect())
    }

    #[test]
    fn blank_lines_are_left_out_and_counted() {
        let read = lines(b"\n {} \n\t\r\n{}\r\nlast").unwrap();
        let texts = [(2, Ok(" {} ".into())), (4, Ok("{}\r".into())), (5, Ok("last".into()))];
        assert_eq!(read, texts);
        assert_eq!(lines(b"").unwrap(), []);
        assert_eq!(lines(b"\n\n").unwrap(), []);
    }

    #[test]
    fn a_line_that_is_too_long_or_no_text_leaves_the_others_alone() {
        let read = lines(b"12345678\n123456789\nend").unwrap();
        assert_eq!(read[0].1, Ok("12345678".into()));
        assert_eq!(read[1].1, Err("line 2 is longer than the 8 bytes of a line".into()));
        assert_eq!(read[2], (3, Ok("end".into())));
        let read = lines(b"a\xff\nb").unwrap();
        assert_eq!(read[0].1, Err("line 1 is not UTF-8 at byte 1".into()));
    }

    #[test]
    fn too_many_lines_or_bytes_refuse_the_whole() {
        assert_eq!(lines(b"1\n\n2\n3\n\n").unwrap().len(), 3);
        let error = lines(b"1\n2\n3\n4").unwrap_err();
        assert_eq!(error, "`f` has more than the 3 lines of a batch; no call was made");
        assert_eq!(lines(&[b'\n'; 40]).unwrap(), []);
        let error = lines(&[b'\n'; 41]).unwrap_err();
        assert_eq!(error, "`f` has more than the 40 bytes of a batch; no call was made");
        assert!(lines(&[b'x'; 41]).unwrap_err().contains("40 bytes"));
    }

    #[test]
    fn an_endless_line_is_read_no_further_than_the_bound() {
        let error = read(BufReader::new(io::repeat(b'x')), Path::new("f"), SMALL).unwrap_err();
        assert_eq!(error.exit().code(), 3);
    }
}
