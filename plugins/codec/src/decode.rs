//! Text to bytes, in any of the encodings, and the bytes as text where they are text.
//!
//! Strict on purpose: what is not exactly the encoding is refused, never guessed at.

use data_encoding::BASE64;

use crate::error::CodecError;
use crate::input;
use crate::radix;
use crate::wit::{Decoded, Encoding};

/// Decodes `text`.
pub(crate) fn decode_text(encoding: Encoding, text: &str) -> Result<Decoded, CodecError> {
    input::check_size("`text`", text)?;
    let bytes = radix::decode(encoding, text)?;
    let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Decoded { binary: false, text: Some(text), base64: None, size },
        Err(error) => Decoded {
            binary: true,
            text: None,
            base64: Some(BASE64.encode(error.as_bytes())),
            size,
        },
    })
}

/// Decodes `%XX`; every other character stands for its own UTF-8 bytes, `+` among them.
pub(crate) fn decode_percent(text: &str) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.char_indices();
    while let Some((offset, character)) = rest.next() {
        if character == '%' {
            let high = next_digit(&mut rest, text.len())?;
            let low = next_digit(&mut rest, text.len())?;
            bytes.push(high << 4 | low);
        } else {
            let end = offset + character.len_utf8();
            bytes.extend_from_slice(text.get(offset..end).unwrap_or_default().as_bytes());
        }
    }
    Ok(bytes)
}

fn next_digit(rest: &mut std::str::CharIndices<'_>, length: usize) -> Result<u8, CodecError> {
    let Some((offset, found)) = rest.next() else {
        return Err(CodecError::BadEnding {
            encoding: "percent",
            offset: length,
            problem: "the text ends inside an escape",
            expected: "two hex digits after `%`",
        });
    };
    let digit = found.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digit.ok_or_else(|| CodecError::BadCharacter {
        encoding: "percent",
        found: found.escape_debug().to_string(),
        offset,
        expected: "two hex digits after `%`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::encode_bytes;

    #[test]
    fn bytes_that_are_text_come_back_as_text() {
        let decoded = decode_text(Encoding::Percent, "caf%C3%A9+%20é").unwrap();
        assert_eq!(decoded.text.as_deref(), Some("café+ é"));
        assert_eq!((decoded.binary, decoded.base64, decoded.size), (false, None, 9));
    }

    #[test]
    fn bytes_that_are_not_text_come_back_as_flagged_base64() {
        let decoded = decode_text(Encoding::Hex, "ff00fe").unwrap();
        assert_eq!(decoded.base64.as_deref(), Some("/wD+"));
        assert_eq!((decoded.binary, decoded.text, decoded.size), (true, None, 3));
    }

    #[test]
    fn malformed_percent_escapes_are_refused_where_they_break() {
        let cases = [
            ("ab%", "offset 3"),
            ("ab%4", "offset 4"),
            ("%4g", "`g` at byte offset 2"),
            ("é%zz", "`z` at byte offset 3"),
            ("%%41", "`%` at byte offset 1"),
        ];
        for (text, expected) in cases {
            let message = decode_text(Encoding::Percent, text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text:?} gave {message}");
        }
    }

    #[test]
    fn every_byte_survives_every_encoding() {
        let bytes: Vec<u8> = (0..=255).collect();
        for encoding in [
            Encoding::Base64,
            Encoding::Base64url,
            Encoding::Base32,
            Encoding::Hex,
            Encoding::Percent,
        ] {
            let text = encode_bytes(encoding, &bytes).text;
            assert_eq!(radix::decode(encoding, &text).unwrap(), bytes);
        }
    }

    #[test]
    fn text_over_the_limit_is_refused() {
        let over = "a".repeat(input::INPUT_MAX_BYTES + 1);
        let message = decode_text(Encoding::Percent, &over).unwrap_err().to_string();
        assert!(message.contains("524289 bytes"), "{message}");
    }
}
