//! One piece of some bytes as text: cut between characters, or as base64 where they are no text.
//!
//! Knows nothing of who reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What is wanted.
pub(super) struct Wanted<'a> {
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) find: Option<&'a str>,
    /// Bytes that the piece may take as a JSON string.
    pub(super) json_max: usize,
}

/// What is there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) encoding: &'static str,
    /// Where it begins, which is at or before what was wanted unless something was looked for.
    pub(super) offset: usize,
    /// Bytes of the whole in it.
    pub(super) length: usize,
    pub(super) text: String,
    /// Where the next begins; `None`: that was all.
    pub(super) next: Option<usize>,
    /// Whether what was looked for is there; `None`: nothing was.
    pub(super) found: Option<bool>,
}

/// The piece. Never empty where bytes are left, so that whoever goes on comes to the end.
pub(super) fn piece(bytes: &[u8], wanted: &Wanted<'_>) -> Result<Piece, String> {
    if wanted.offset > bytes.len() {
        let (offset, size) = (wanted.offset, bytes.len());
        return Err(format!("`offset` is {offset}, and it has {size} bytes"));
    }
    match (str::from_utf8(bytes), wanted.find) {
        (Ok(text), _) => Ok(of_text(text, wanted)),
        (Err(_binary), Some(_)) => Err("`find` goes with text, and this is none".to_owned()),
        (Err(_binary), None) => Ok(of_bytes(bytes, wanted)),
    }
}

fn of_text(text: &str, wanted: &Wanted<'_>) -> Piece {
    let start = text.floor_char_boundary(wanted.offset);
    let found = wanted.find.map(|find| text.get(start..).and_then(|rest| rest.find(find)));
    let (start, found) = match found {
        None => (start, None),
        Some(Some(at)) => (start + at, Some(true)),
        Some(None) => (text.len(), Some(false)),
    };
    let rest = text.get(start..).unwrap_or_default();
    let mut json_len = 0;
    let fits = |(at, c): &(usize, char)| {
        json_len += json_len_of(*c);
        *at == 0 || (at + c.len_utf8() <= wanted.length && json_len <= wanted.json_max)
    };
    let shown: String = rest.char_indices().take_while(fits).map(|(_, c)| c).collect();
    let end = start + shown.len();
    Piece {
        encoding: "text",
        offset: start,
        length: shown.len(),
        next: (end < text.len()).then_some(end),
        text: shown,
        found,
    }
}

/// Bytes of a character in a JSON string.
fn json_len_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if (c as u32) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

fn of_bytes(bytes: &[u8], wanted: &Wanted<'_>) -> Piece {
    let rest = bytes.get(wanted.offset..).unwrap_or_default();
    // Three bytes are four characters.
    let most = wanted.length.min(wanted.json_max / 4 * 3).max(1);
    let shown = rest.get(..most).unwrap_or(rest);
    let end = wanted.offset + shown.len();
    Piece {
        encoding: "base64",
        offset: wanted.offset,
        length: shown.len(),
        text: STANDARD.encode(shown),
        next: (end < bytes.len()).then_some(end),
        found: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(offset: usize, length: usize) -> Wanted<'static> {
        Wanted { offset, length, find: None, json_max: 1_000 }
    }

    fn all(bytes: &[u8], length: usize, json_max: usize) -> Vec<Piece> {
        let (mut pieces, mut next) = (Vec::new(), Some(0));
        while let Some(offset) = next {
            let wanted = Wanted { json_max, ..wanted(offset, length) };
            let piece = piece(bytes, &wanted).unwrap();
            next = piece.next;
            pieces.push(piece);
        }
        pieces
    }

    #[test]
    fn text_is_cut_between_characters_and_nothing_is_lost() {
        let text = "aé👍\"\n\u{1}z".repeat(7);
        for length in 1..12 {
            for json_max in [1, 3, 5, 1_000] {
                let pieces = all(text.as_bytes(), length, json_max);
                let joined: String = pieces.iter().map(|it| it.text.as_str()).collect();
                assert_eq!(joined, text);
                assert!(pieces.iter().all(|it| it.length == it.text.len() && it.length > 0));
                let longer = |it: &&Piece| it.length > length.max(4);
                assert_eq!(pieces.iter().find(longer), None);
            }
        }
        let inside = piece("é".as_bytes(), &wanted(1, 9)).unwrap();
        assert_eq!((inside.offset, inside.text.as_str()), (0, "é"));
    }

    #[test]
    fn a_piece_fits_as_json() {
        let text = "\u{1}".repeat(1_000);
        let wanted = Wanted { json_max: 600, ..wanted(0, 1_000) };
        assert_eq!(piece(text.as_bytes(), &wanted).unwrap().length, 100);
        let bytes = vec![0xff; 1_000];
        assert_eq!(piece(&bytes, &wanted).unwrap().text.len(), 600);
    }

    #[test]
    fn bytes_that_are_no_text_are_base64() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut joined = Vec::new();
        for piece in all(&bytes, 7, 1_000) {
            assert_eq!(piece.encoding, "base64");
            joined.extend(STANDARD.decode(piece.text).unwrap());
        }
        assert_eq!(joined, bytes);
        let find = Wanted { find: Some("a"), ..wanted(0, 7) };
        assert!(piece(&bytes, &find).is_err());
    }

    #[test]
    fn what_is_looked_for_begins_the_piece() {
        let find = |offset| Wanted { find: Some("é"), ..wanted(offset, 2) };
        let bytes = "aébéc".as_bytes();
        let at = |offset| piece(bytes, &find(offset)).unwrap();
        assert_eq!((at(0).offset, at(0).found, at(0).next), (1, Some(true), Some(3)));
        assert_eq!(at(3).offset, 4);
        let none = at(6);
        assert_eq!((none.found, none.length, none.next), (Some(false), 0, None));
    }

    #[test]
    fn an_offset_behind_the_end_is_an_error_and_the_end_is_not() {
        assert_eq!(piece(b"abc", &wanted(3, 9)).unwrap().length, 0);
        assert!(piece(b"abc", &wanted(4, 9)).is_err());
        assert_eq!(piece(b"", &wanted(0, 9)).unwrap().next, None);
    }
}
