//! Fetches the text of a call's arguments, from wherever it is.
//!
//! Doesn't parse it: that is done once, by the engine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::error::{CliError, shown};
use super::parse::ArgumentSource;
use crate::contract::limits::LimitKind;

/// The text of the arguments. Of one that no tool takes no more is read than the engine needs to
/// refuse it; the tool's own limit is the engine's to hold.
pub(super) fn fetch(source: Option<ArgumentSource>) -> Result<String, CliError> {
    let ceiling = LimitKind::ArgumentBytes.facts().ceiling;
    let max_len = usize::try_from(ceiling).unwrap_or(usize::MAX);
    match source {
        None => Ok("{}".to_owned()),
        Some(ArgumentSource::Text(text)) => Ok(text),
        Some(ArgumentSource::Stdin) => read(io::stdin().lock(), Path::new("stdin"), max_len),
        Some(ArgumentSource::File(path)) => {
            let file = File::open(&path).map_err(|error| CliError::io("read", &path, &error))?;
            read(file, &path, max_len)
        }
    }
}

fn read(from: impl Read, path: &Path, max_len: usize) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    from.take(max_len as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::io("read", path, &error))?;
    if bytes.len() > max_len {
        // The cut may have gone through a character; the engine refuses the length either way.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let path = shown(path);
        CliError::Refused(format!("the arguments in {path} are not UTF-8 at byte {at}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_bytes(bytes: &[u8], max_len: usize) -> Result<String, CliError> {
        read(bytes, Path::new("a.json"), max_len)
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        assert_eq!(fetch(None).unwrap(), "{}");
    }

    #[test]
    fn what_is_too_long_is_read_just_far_enough_to_be_refused() {
        assert_eq!(read_bytes(b"12345", 5).unwrap(), "12345");
        assert_eq!(read(io::repeat(b'x'), Path::new("endless"), 5).unwrap(), "xxxxxx");
        assert!(read_bytes("xxxxé".as_bytes(), 4).unwrap().len() > 4);
    }

    #[test]
    fn bytes_that_are_no_text_are_invalid_arguments() {
        let error = read_bytes(b"{\xff}", 5).unwrap_err();
        assert_eq!(error.exit().code(), 3);
        assert!(error.to_string().contains("byte 1"), "{error}");
    }

    #[test]
    fn a_missing_file_is_wrong_usage() {
        let source = ArgumentSource::File("no/such\u{1b}.json".into());
        let error = fetch(Some(source)).unwrap_err();
        assert_eq!(error.exit().code(), 2);
        assert!(error.to_string().contains("`no/such<U+001B>.json`"), "{error}");
    }
}
