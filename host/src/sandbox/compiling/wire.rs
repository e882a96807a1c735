//! What the process that compiles answers: a mark, one byte that says what, then the rest.
//!
//! Both sides are one build of belljar, or the answer is refused by the engine's hash.

use std::io::Write;

use super::super::compiled::{ComponentError, shown};
use super::CompilingError;

/// The subcommand by which a program compiles.
pub(super) const SUBCOMMAND: &str = "compile";
/// Longest words of a refusal that are sent or taken, in bytes.
pub(super) const WORDS_MAX_LEN: usize = 4096;

/// What every answer begins with, so that no other program's words are taken for code.
const MARK: [u8; 8] = *b"\0belljar";
/// Bytes before the rest of an answer.
pub(super) const HEAD_LEN: usize = MARK.len() + 1;

const CODE: u8 = b'c';
const INVALID: u8 = b'i';
const ASYNC: u8 = b'a';
const OTHER_ENGINE: u8 = b'e';
const NO_COMPILER: u8 = b'n';
const PANICKED: u8 = b'p';
const NO_ROOM: u8 = b'r';

/// Says how it went.
pub(super) fn write(
    mut to: impl Write,
    answer: &Result<Vec<u8>, ComponentError>,
) -> std::io::Result<()> {
    let words;
    let (kind, rest) = match answer {
        Ok(code) => (CODE, code.as_slice()),
        Err(ComponentError::Async) => (ASYNC, &[][..]),
        Err(ComponentError::Compiling(CompilingError::OtherEngine { found, .. })) => {
            (OTHER_ENGINE, found.as_bytes())
        }
        Err(ComponentError::Compiling(CompilingError::Start(why))) => (NO_COMPILER, why.as_bytes()),
        Err(ComponentError::Compiling(CompilingError::Panicked(why))) => (PANICKED, why.as_bytes()),
        Err(ComponentError::NoRoom(why)) => (NO_ROOM, why.as_bytes()),
        Err(ComponentError::Invalid(why)) => (INVALID, why.as_bytes()),
        Err(other) => {
            words = other.to_string();
            (INVALID, words.as_bytes())
        }
    };
    let rest = if kind == CODE { rest } else { rest.get(..WORDS_MAX_LEN).unwrap_or(rest) };
    to.write_all(&MARK)?;
    to.write_all(&[kind])?;
    to.write_all(rest)?;
    to.flush()
}

/// Takes it apart again. `None`: it is no answer.
pub(super) fn read(mut answer: Vec<u8>, wanted: &str) -> Option<Result<Vec<u8>, ComponentError>> {
    let (&kind, words) = answer.strip_prefix(&MARK)?.split_first()?;
    if kind == CODE {
        // Moves tens of megabytes once, which is nothing beside what it took to make them.
        drop(answer.drain(..HEAD_LEN));
        return Some(Ok(answer));
    }
    let words = shown(&String::from_utf8_lossy(words.get(..WORDS_MAX_LEN).unwrap_or(words)));
    Some(Err(match kind {
        INVALID => ComponentError::Invalid(words),
        ASYNC => ComponentError::Async,
        OTHER_ENGINE => {
            CompilingError::OtherEngine { wanted: wanted.to_owned(), found: words }.into()
        }
        NO_COMPILER => CompilingError::Start(words).into(),
        PANICKED => CompilingError::Panicked(words).into(),
        NO_ROOM => ComponentError::NoRoom(words),
        _ => return None,
    }))
}
