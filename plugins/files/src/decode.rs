//! Decides from content alone whether bytes are text, and decodes them without silent loss.
//!
//! It knows nothing of names or extensions: a `.wasm` may be text and a `.txt` a picture.

use std::borrow::Cow;

use crate::bindings::exports::belljar::files::files::TextEncoding;

/// How much of the start is looked at for control characters.
const SNIFFED_BYTES: usize = 4096;
/// More control characters than this in the part looked at is not text.
const CONTROL_MAX_PERCENT: usize = 30;

/// Starts that name a kind in the refusal; they never decide by themselves.
const KINDS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (also office documents and JARs)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\0asm", "a WebAssembly file"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xff\xfe\0\0", "UTF-32 text"),
    (b"\0\0\xfe\xff", "UTF-32 text"),
];

/// Text and how it was stored.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    /// Without the byte order mark.
    pub(crate) text: Cow<'a, str>,
    /// How it was stored.
    pub(crate) encoding: TextEncoding,
    /// Bad sequences that stand as U+FFFD.
    pub(crate) replaced: u32,
}

/// Why bytes are not returned as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// Not text; what it looks like.
    Binary(&'static str),
    /// Text, but not valid in the encoding named; where, in bytes from the start of the file.
    Malformed { encoding: &'static str, at: usize },
}

/// Decodes a whole file. `lossy` puts U+FFFD for what is malformed instead of refusing it.
pub(crate) fn decode(bytes: &[u8], lossy: bool) -> Result<Decoded<'_>, DecodeError> {
    let decoded = match bytes {
        [0xff, 0xfe, rest @ ..] => decode_utf16(rest, TextEncoding::Utf16Le, lossy)?,
        [0xfe, 0xff, rest @ ..] => decode_utf16(rest, TextEncoding::Utf16Be, lossy)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => decode_utf8(rest, TextEncoding::Utf8Bom, lossy)?,
        _ => decode_utf8(bytes, TextEncoding::Utf8, lossy)?,
    };
    if decoded.text.contains('\0') || is_mostly_control(decoded.text.as_bytes()) {
        return Err(DecodeError::Binary(name_kind(bytes).unwrap_or("of an unknown kind")));
    }
    Ok(decoded)
}

fn decode_utf8(
    bytes: &[u8],
    encoding: TextEncoding,
    lossy: bool,
) -> Result<Decoded<'_>, DecodeError> {
    let Err(error) = std::str::from_utf8(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        return Ok(Decoded { text, encoding, replaced: 0 });
    };
    if let Some(kind) = name_kind(bytes) {
        return Err(DecodeError::Binary(kind));
    }
    if bytes.contains(&0) || is_mostly_control(bytes) {
        return Err(DecodeError::Binary("of an unknown kind"));
    }
    if !lossy {
        let mark_bytes = if encoding == TextEncoding::Utf8Bom { 3 } else { 0 };
        let at = error.valid_up_to() + mark_bytes;
        return Err(DecodeError::Malformed { encoding: "UTF-8", at });
    }
    let bad = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
    let replaced = u32::try_from(bad).unwrap_or(u32::MAX);
    Ok(Decoded { text: String::from_utf8_lossy(bytes), encoding, replaced })
}

/// `bytes` start after the byte order mark.
fn decode_utf16(
    bytes: &[u8],
    encoding: TextEncoding,
    lossy: bool,
) -> Result<Decoded<'static>, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let read =
        if encoding == TextEncoding::Utf16Le { u16::from_le_bytes } else { u16::from_be_bytes };
    let mut text = String::with_capacity(bytes.len());
    let mut replaced = 0;
    let mut at = 2;
    // Half a unit at the end is as malformed as half a surrogate pair.
    let half = (!rest.is_empty()).then_some(None);
    let units = char::decode_utf16(pairs.iter().map(|pair| read(*pair)));
    for unit in units.map(Result::ok).chain(half) {
        match unit {
            Some(character) => {
                text.push(character);
                at += character.len_utf16() * 2;
            }
            None if lossy => {
                text.push(char::REPLACEMENT_CHARACTER);
                replaced += 1;
                at += 2;
            }
            None => {
                return Err(DecodeError::Malformed { encoding: "UTF-16", at });
            }
        }
    }
    Ok(Decoded { text: Cow::Owned(text), encoding, replaced })
}

fn name_kind(bytes: &[u8]) -> Option<&'static str> {
    KINDS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, kind)| *kind)
}

/// Whether the start holds more control characters than any text does.
fn is_mostly_control(bytes: &[u8]) -> bool {
    let start = bytes.get(..SNIFFED_BYTES).unwrap_or(bytes);
    // Backspace, tab, line feed, form feed, carriage return and escape do occur in text.
    let is_control = |byte: &&u8| matches!(byte, 0..=7 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    start.iter().filter(is_control).count() * 100 > start.len() * CONTROL_MAX_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(bytes: &[u8]) -> (String, TextEncoding) {
        let decoded = decode(bytes, false).unwrap();
        (decoded.text.into_owned(), decoded.encoding)
    }

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(to_bytes).collect()
    }

    #[test]
    fn fs_26_text_with_a_byte_order_mark_is_decoded() {
        let text = "naïve 日本 🦀\r\n";
        assert_eq!(text_of(text.as_bytes()), (text.into(), TextEncoding::Utf8));
        let marked = format!("\u{feff}{text}");
        assert_eq!(text_of(marked.as_bytes()), (text.into(), TextEncoding::Utf8Bom));
        let little = utf16(text, u16::to_le_bytes);
        assert_eq!(text_of(&little), (text.into(), TextEncoding::Utf16Le));
        let big = utf16(text, u16::to_be_bytes);
        assert_eq!(text_of(&big), (text.into(), TextEncoding::Utf16Be));
    }

    #[test]
    fn fs_26_content_and_not_its_start_decides_what_is_binary() {
        assert_eq!(text_of(b"(module)").0, "(module)");
        assert_eq!(text_of(b"GIF89a is a format").0, "GIF89a is a format");
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(decode(png, true).unwrap_err(), DecodeError::Binary("a PNG image"));
        assert!(matches!(decode(b"text\0text", true), Err(DecodeError::Binary(_))));
        let utf32 = b"\xff\xfe\0\0a\0\0\0";
        assert_eq!(decode(utf32, false).unwrap_err(), DecodeError::Binary("UTF-32 text"));
    }

    #[test]
    fn fs_26_thirty_percent_control_characters_are_the_most_that_text_has() {
        let with = |controls| [vec![1_u8; controls], vec![b'a'; 100 - controls]].concat();
        assert!(decode(&with(29), false).is_ok());
        assert!(decode(&with(30), false).is_ok());
        assert!(matches!(decode(&with(31), false), Err(DecodeError::Binary(_))));
    }

    #[test]
    fn malformed_text_is_refused_with_its_place_or_counted_if_lossy() {
        let latin_1 = b"caf\xe9 and \xfc";
        let at_3 = DecodeError::Malformed { encoding: "UTF-8", at: 3 };
        assert_eq!(decode(latin_1, false).unwrap_err(), at_3);
        let decoded = decode(latin_1, true).unwrap();
        assert_eq!(decoded.text, "caf\u{fffd} and \u{fffd}");
        assert_eq!(decoded.replaced, 2);
    }

    #[test]
    fn lone_surrogates_and_odd_lengths_are_malformed_utf_16() {
        let lone = [0xff, 0xfe, b'a', 0, 0x00, 0xd8, b'b', 0];
        let at_4 = DecodeError::Malformed { encoding: "UTF-16", at: 4 };
        assert_eq!(decode(&lone, false).unwrap_err(), at_4);
        assert_eq!(decode(&lone, true).unwrap().text, "a\u{fffd}b");
        let odd = [0xff, 0xfe, b'a', 0, b'b'];
        assert_eq!(decode(&odd, false).unwrap_err(), at_4);
        assert_eq!(decode(&odd, true).unwrap().replaced, 1);
    }

    #[test]
    fn a_real_replacement_character_is_not_a_loss() {
        assert_eq!(decode("\u{fffd}".as_bytes(), false).unwrap().replaced, 0);
    }
}
