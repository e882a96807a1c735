//! The encodings with a fixed alphabet (base64, base64url, base32, hex): strict decoding whose
//! errors point at the first bad character.
//!
//! Percent encoding is not here: it has an escape character instead of an alphabet.

use data_encoding::{BASE32, BASE64, BASE64URL, DecodeKind, Encoding as Alphabet};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

use crate::error::CodecError;
use crate::wit::Encoding;

/// One alphabet and how to speak of it.
struct Radix {
    name: &'static str,
    writer: Alphabet,
    reader: Alphabet,
    is_symbol: fn(char) -> bool,
    /// The alphabet in words, for a message about one character.
    symbols: &'static str,
    /// The length rule in words, for a message about the end.
    length: &'static str,
}

fn radix_of(encoding: Encoding) -> Option<Radix> {
    Some(match encoding {
        Encoding::Base64 => Radix {
            name: "base64",
            writer: BASE64,
            reader: BASE64,
            is_symbol: |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/'),
            symbols: "`A-Z`, `a-z`, `0-9`, `+` or `/`, and `=` only at the end",
            length: "groups of 4 characters, the last padded with `=`",
        },
        Encoding::Base64url => Radix {
            name: "base64url",
            writer: BASE64URL,
            reader: BASE64URL,
            is_symbol: |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'),
            symbols: "`A-Z`, `a-z`, `0-9`, `-` or `_`, and `=` only at the end",
            length: "groups of 4 characters, the last padded with `=`",
        },
        Encoding::Base32 => Radix {
            name: "base32",
            writer: BASE32,
            reader: BASE32,
            is_symbol: |c| matches!(c, 'A'..='Z' | '2'..='7'),
            symbols: "`A-Z` or `2-7`, and `=` only at the end",
            length: "groups of 8 characters, the last padded with `=`",
        },
        Encoding::Hex => Radix {
            name: "hex",
            writer: HEXLOWER,
            reader: HEXLOWER_PERMISSIVE,
            is_symbol: |c| c.is_ascii_hexdigit(),
            symbols: "`0-9`, `a-f` or `A-F`",
            length: "an even number of digits",
        },
        Encoding::Percent => return None,
    })
}

/// Writes `bytes`; `None` for an encoding without an alphabet.
pub(crate) fn encode(encoding: Encoding, bytes: &[u8]) -> Option<String> {
    radix_of(encoding).map(|radix| radix.writer.encode(bytes))
}

/// Reads `text`; percent encoding is passed on to its own decoder.
pub(crate) fn decode(encoding: Encoding, text: &str) -> Result<Vec<u8>, CodecError> {
    let Some(radix) = radix_of(encoding) else {
        return crate::decode::decode_percent(text);
    };
    // The decoder checks the length first, and takes padded texts in a row. A stray character, or a
    // `=` before the end, explains a wrong length better, so it is looked for before.
    let body = match encoding {
        Encoding::Hex => text,
        _ => text.trim_end_matches('='),
    };
    if let Some((offset, found)) = body.char_indices().find(|&(_, c)| !(radix.is_symbol)(c)) {
        return Err(CodecError::BadCharacter {
            encoding: radix.name,
            found: found.escape_debug().to_string(),
            offset,
            expected: radix.symbols,
        });
    }
    radix.reader.decode(text.as_bytes()).map_err(|error| {
        let (problem, expected) = match error.kind {
            DecodeKind::Length => ("the length does not fit", radix.length),
            DecodeKind::Trailing => {
                ("the last character has bits no byte uses", "those bits to be zero")
            }
            DecodeKind::Padding | DecodeKind::Symbol => ("the padding does not fit", radix.length),
        };
        CodecError::BadEnding { encoding: radix.name, offset: error.position, problem, expected }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 4648, section 10.
    const VECTORS: [(&str, &str, &str, &str); 7] = [
        ("", "", "", ""),
        ("f", "Zg==", "MY======", "66"),
        ("fo", "Zm8=", "MZXQ====", "666f"),
        ("foo", "Zm9v", "MZXW6===", "666f6f"),
        ("foob", "Zm9vYg==", "MZXW6YQ=", "666f6f62"),
        ("fooba", "Zm9vYmE=", "MZXW6YTB", "666f6f6261"),
        ("foobar", "Zm9vYmFy", "MZXW6YTBOI======", "666f6f626172"),
    ];

    #[test]
    fn rfc_4648_vectors_hold_both_ways() {
        for (plain, base64, base32, hex) in VECTORS {
            for (encoding, text) in [
                (Encoding::Base64, base64),
                (Encoding::Base64url, base64),
                (Encoding::Base32, base32),
                (Encoding::Hex, hex),
            ] {
                assert_eq!(encode(encoding, plain.as_bytes()).unwrap(), text);
                assert_eq!(decode(encoding, text).unwrap(), plain.as_bytes());
            }
        }
    }

    #[test]
    fn the_two_base64_alphabets_are_not_mixed() {
        assert_eq!(encode(Encoding::Base64, &[0xfb, 0xff]).unwrap(), "+/8=");
        assert_eq!(encode(Encoding::Base64url, &[0xfb, 0xff]).unwrap(), "-_8=");
        assert!(decode(Encoding::Base64, "-_8=").is_err());
        assert!(decode(Encoding::Base64url, "+/8=").is_err());
    }

    #[test]
    fn first_bad_character_is_named_with_its_offset() {
        let cases = [
            (Encoding::Base64, "Zm9v Zm9v", "has ` ` at byte offset 4"),
            (Encoding::Base64, "Zm9v\nZg==", "has `\\n` at byte offset 4"),
            (Encoding::Base64, "Zmé", "has `é` at byte offset 2"),
            (Encoding::Base32, "mzxw6===", "has `m` at byte offset 0"),
            (Encoding::Hex, "0x12", "has `x` at byte offset 1"),
        ];
        for (encoding, text, expected) in cases {
            let message = decode(encoding, text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text:?} gave {message}");
        }
    }

    #[test]
    fn missing_misplaced_or_dirty_padding_is_refused() {
        let cases = [
            (Encoding::Base64, "Zg", "length"),
            (Encoding::Base64, "Zg=", "length"),
            (Encoding::Base64url, "Zm9vYg", "length"),
            (Encoding::Base32, "MZXW6", "length"),
            (Encoding::Hex, "666", "length"),
            (Encoding::Hex, "66==", "`=` at byte offset 2"),
            (Encoding::Base64, "Zg==Zg==", "`=` at byte offset 2"),
            (Encoding::Base64, "=Zg=", "`=` at byte offset 0"),
            (Encoding::Base64, "Zg======", "padding"),
            (Encoding::Base64, "====", "padding"),
            (Encoding::Base64, "Zh==", "bits"),
        ];
        for (encoding, text, expected) in cases {
            let message = match decode(encoding, text) {
                Ok(bytes) => panic!("{text:?} decoded to {bytes:?}"),
                Err(error) => error.to_string(),
            };
            assert!(message.contains(expected), "{text:?} gave {message}");
        }
    }

    #[test]
    fn hex_is_read_in_either_case() {
        assert_eq!(decode(Encoding::Hex, "DeAdBeEf").unwrap(), [0xde, 0xad, 0xbe, 0xef]);
    }
}
