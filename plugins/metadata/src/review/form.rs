//! The forms that names, paths and text must have.
//!
//! Pure predicates: must not report or change anything.

use crate::limits;

/// The Unicode tag block: invisible copies of ASCII, which a model reads and a person doesn't see.
pub(super) fn is_tag_character(c: char) -> bool {
    ('\u{E0000}'..='\u{E007F}').contains(&c)
}

pub(super) const TAG_CHARACTERS: &str =
    "invisible tag characters (U+E0000 to U+E007F), which hide text from people";

pub(super) fn is_kebab(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('-').all(|word| !word.is_empty() && word.bytes().all(plain))
}

pub(super) fn is_word(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !name.is_empty() && name.len() <= limits::WORD_BYTES && name.bytes().all(plain)
}

pub(super) fn is_path(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= limits::PATH_BYTES
        && path.bytes().all(|b| b.is_ascii_graphic())
}

pub(super) fn is_item_path(path: &str) -> bool {
    let rooted = path == "result" || path.starts_with("result/") || path.starts_with("param/");
    rooted && path.len() <= limits::PATH_BYTES && path.split('/').all(is_word)
}
