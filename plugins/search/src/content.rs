//! Reads one file for searching: as text without its byte order mark, or the reason why not.
//!
//! The caller has seen that it is a regular file; opening a pipe would wait for a writer.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// How much of a file's start decides whether it is text; git looks as far.
const SNIFF_BYTES: u64 = 8000;

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text in UTF-8, or in any encoding that has ASCII in it.
    Text(Vec<u8>),
    /// Something else: it has NUL bytes.
    Binary,
    /// More bytes than asked for at most.
    TooLarge,
}

/// Reads the file at `path`, at most `max` bytes of it, and no more than its start if it is binary.
pub(crate) fn load(path: &Path, max: u64) -> io::Result<Content> {
    let file = File::open(path)?;
    if file.metadata()?.len() > max {
        return Ok(Content::TooLarge);
    }
    let mut bytes = Vec::new();
    let mut start = file.take(SNIFF_BYTES);
    start.read_to_end(&mut bytes)?;
    if !is_utf16(&bytes) && bytes.contains(&0) {
        return Ok(Content::Binary);
    }
    // One more than allowed, since a file can grow, and some say 0 whatever they hold.
    let rest = max.saturating_add(1).saturating_sub(bytes.len() as u64);
    start.into_inner().take(rest).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(Content::TooLarge);
    }
    Ok(decode(bytes))
}

/// UTF-16 has NUL bytes in ordinary text.
fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

fn decode(bytes: Vec<u8>) -> Content {
    let text = match bytes.as_slice() {
        [0xef, 0xbb, 0xbf, rest @ ..] => rest.to_vec(),
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        _ => return Content::Text(bytes),
    };
    // What a UTF-16 mark begins may be no text all the same.
    let is_binary = text.iter().zip(0..SNIFF_BYTES).any(|(&byte, _)| byte == 0);
    if is_binary { Content::Binary } else { Content::Text(text) }
}

/// Half a character becomes U+FFFD, so that one bad place hides no match elsewhere.
fn decode_utf16(bytes: &[u8], unit_of: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, _odd_last) = bytes.as_chunks::<2>();
    let text: String = char::decode_utf16(pairs.iter().map(|&pair| unit_of(pair)))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn content(bytes: &[u8], max: u64) -> Content {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        load(&path, max).unwrap()
    }

    #[test]
    fn text_with_a_byte_order_mark_is_decoded() {
        let text = || Content::Text("k=é\n".as_bytes().to_vec());
        assert_eq!(content(b"\xef\xbb\xbfk=\xc3\xa9\n", 99), text());
        assert_eq!(content(b"\xff\xfek\0=\0\xe9\0\n\0", 99), text());
        assert_eq!(content(b"\xfe\xff\0k\0=\0\xe9\0\n", 99), text());
    }

    #[test]
    fn nul_near_the_start_makes_a_file_binary() {
        assert_eq!(content(b"ab\0cd", 99), Content::Binary);
        let mut late = vec![b'a'; 8000];
        late.push(0);
        assert!(matches!(content(&late, 99_999), Content::Text(_)));
        assert!(matches!(content(b"caf\xe9", 99), Content::Text(_)));
        let utf32 = b"\xff\xfe\0\0k\0\0\0";
        assert_eq!(content(utf32, 99), Content::Binary);
    }

    #[test]
    fn file_over_the_limit_is_not_read() {
        assert!(matches!(content(b"12345678", 8), Content::Text(_)));
        assert_eq!(content(b"123456789", 8), Content::TooLarge);
        let long = vec![b'a'; 20_000];
        assert_eq!(content(&long, 20_000), Content::Text(long.clone()));
    }

    // Files of the kernel say that they are empty, whatever they hold.
    #[cfg(target_os = "linux")]
    #[test]
    fn file_that_hides_its_size_is_held_to_the_limit() {
        let path = Path::new("/proc/self/status");
        assert_eq!(load(path, 8).unwrap(), Content::TooLarge);
        assert!(matches!(load(path, 1 << 20).unwrap(), Content::Text(_)));
    }
}
