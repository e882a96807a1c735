//! What a server says beside the protocol, as bounded lines.
//!
//! Decides nothing and hides nothing: whoever takes the lines does.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Most bytes that are read as one line; a longer line is several.
const LINE_MAX: usize = 4 << 10;
/// Lines that are handed on.
const LINES_MAX: usize = 10_000;

/// Hands on line by line, and reads on past the bound: a full pipe would stop the server. Says when
/// the bound is reached.
pub(super) async fn notes(from: impl AsyncRead + Unpin, mut take: impl FnMut(&str)) {
    let mut read = BufReader::with_capacity(LINE_MAX, from);
    let (mut line, mut lines) = (Vec::new(), 0_usize);
    while let Ok(available) = read.fill_buf().await {
        let ended = available.is_empty();
        let end = available.iter().position(|byte| *byte == b'\n');
        let room = LINE_MAX.saturating_sub(line.len());
        let taken = end.unwrap_or(available.len()).min(room);
        line.extend(available.iter().take(taken));
        let whole = ended || end == Some(taken) || line.len() >= LINE_MAX;
        read.consume(if end == Some(taken) { taken + 1 } else { taken });
        if whole {
            if lines < LINES_MAX && !line.is_empty() {
                lines += 1;
                take(&String::from_utf8_lossy(&line));
                if lines == LINES_MAX {
                    take("(the rest is not shown)");
                }
            }
            line.clear();
        }
        if ended {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn taken(said: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        notes(said, |line| lines.push(line.to_owned())).await;
        lines
    }

    #[tokio::test]
    async fn lines_come_one_by_one_also_the_last_without_an_end() {
        assert_eq!(taken(b"one\n\ntwo\r\nthree").await, ["one", "two\r", "three"]);
        assert_eq!(taken(b"\xff\n").await, ["\u{fffd}"]);
        assert!(taken(b"").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_cut_into_bounded_ones() {
        let lines = taken(&[b'x'; 3 * LINE_MAX + 1]).await;
        let lengths: Vec<_> = lines.iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_MAX, LINE_MAX, LINE_MAX, 1]);
    }

    #[tokio::test]
    async fn past_the_bound_lines_are_read_and_dropped() {
        let (mut write, read) = tokio::io::duplex(64);
        let mut lines = Vec::new();
        let writing = async move {
            use tokio::io::AsyncWriteExt as _;
            for _ in 0..LINES_MAX + 500 {
                write.write_all(b"x\n").await.unwrap();
            }
        };
        tokio::join!(notes(read, |line| lines.push(line.to_owned())), writing);
        assert_eq!(lines.len(), LINES_MAX + 1);
        assert_eq!(lines.last().unwrap(), "(the rest is not shown)");
    }
}
