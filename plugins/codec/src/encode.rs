//! Bytes to text, in any of the encodings.
//!
//! Encoding never fails; sizes are bounded by the input's limit.

use crate::radix;
use crate::wit::{Encoded, Encoding};

/// Encodes `bytes`.
pub(crate) fn encode_bytes(encoding: Encoding, bytes: &[u8]) -> Encoded {
    Encoded {
        text: radix::encode(encoding, bytes).unwrap_or_else(|| encode_percent(bytes)),
        size: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
    }
}

fn encode_percent(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if is_unreserved(byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            for digit in [byte >> 4, byte & 0x0f] {
                let digit = char::from_digit(u32::from(digit), 16);
                text.extend(digit.map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    text
}

/// RFC 3986, section 2.3: the characters that never need encoding.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_keeps_only_the_unreserved_set() {
        let kept = "ABCXYZabcxyz0189-._~";
        assert_eq!(encode_bytes(Encoding::Percent, kept.as_bytes()).text, kept);
        let ascii: Vec<u8> = (0..=255).collect();
        let encoded = encode_bytes(Encoding::Percent, &ascii).text;
        assert_eq!(encoded.matches('%').count(), 256 - 26 - 26 - 10 - 4);
        assert_eq!(encode_bytes(Encoding::Percent, "é /%".as_bytes()).text, "%C3%A9%20%2F%25");
    }

    #[test]
    fn size_counts_the_bytes_that_went_in() {
        let encoded = encode_bytes(Encoding::Base64, "é".as_bytes());
        assert_eq!((encoded.text.as_str(), encoded.size), ("w6k=", 2));
    }
}
