//! The bytes a call works on: given as text or as base64, exactly one of the two.
//!
//! Knows nothing of what is done with them.

use crate::error::CodecError;
use crate::radix;
use crate::wit::Encoding;

/// The most a `text` or `base64` argument may hold, in bytes. Against a call that makes the guest
/// copy more than its answer could carry; tested by `input_over_the_limit_is_refused`.
pub(crate) const INPUT_MAX_BYTES: usize = 512 * 1024;

/// The bytes of whichever of the two was given.
pub(crate) fn read_bytes(
    text: Option<String>,
    base64: Option<String>,
) -> Result<Vec<u8>, CodecError> {
    match (text, base64) {
        (Some(text), None) => {
            check_size("`text`", &text)?;
            Ok(text.into_bytes())
        }
        (None, Some(base64)) => {
            check_size("`base64`", &base64)?;
            radix::decode(Encoding::Base64, &base64)
        }
        (Some(_), Some(_)) => Err(CodecError::NotOneInput { given: "both" }),
        (None, None) => Err(CodecError::NotOneInput { given: "none" }),
    }
}

/// Refuses text over [`INPUT_MAX_BYTES`].
pub(crate) fn check_size(what: &str, text: &str) -> Result<(), CodecError> {
    if text.len() <= INPUT_MAX_BYTES {
        return Ok(());
    }
    Err(CodecError::TooLarge {
        what: what.to_owned(),
        size: text.len() as u64,
        max: INPUT_MAX_BYTES as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_its_utf8_bytes_and_base64_its_decoded_ones() {
        assert_eq!(read_bytes(Some("é".into()), None).unwrap(), [0xc3, 0xa9]);
        assert_eq!(read_bytes(None, Some("AP8=".into())).unwrap(), [0, 0xff]);
        assert_eq!(read_bytes(Some(String::new()), None).unwrap(), [0u8; 0]);
    }

    #[test]
    fn both_or_neither_input_is_refused_by_name() {
        let both = read_bytes(Some("a".into()), Some("YQ==".into())).unwrap_err();
        assert!(both.to_string().starts_with("both of `text` and `base64`"));
        let none = read_bytes(None, None).unwrap_err();
        assert!(none.to_string().starts_with("none of `text` and `base64`"));
    }

    #[test]
    fn input_over_the_limit_is_refused() {
        let most = "A".repeat(INPUT_MAX_BYTES);
        assert_eq!(read_bytes(Some(most.clone()), None).unwrap().len(), INPUT_MAX_BYTES);
        let over = most + "AAAA";
        for (text, base64) in [(Some(over.clone()), None), (None, Some(over.clone()))] {
            let error = read_bytes(text, base64).unwrap_err();
            assert!(error.to_string().contains("524292 bytes, expected at most 524288"));
        }
    }
}
