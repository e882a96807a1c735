//! Finds the name that was probably meant.
//!
//! Doesn't decide what is valid.

use super::super::error::shown;
use super::super::schema::every_key;
use crate::contract::escape::cut;

/// Most bytes of a name that are compared.
const COMPARED: usize = 64;
/// Most names of a list in a message.
const LISTED: usize = 16;

/// The name most like `wrong`, if one is like it.
pub(in crate::config) fn nearest(wrong: &str, names: &[String]) -> Option<String> {
    let wrong = cut(wrong, COMPARED).to_lowercase().replace('-', "_");
    let distance =
        |name: &str| strsim::osa_distance(&wrong, &name.to_lowercase().replace('-', "_"));
    let found = names.iter().map(|name| (distance(name), name)).min_by_key(|(far, _)| *far);
    let (far, name) = found?;
    let allowed = (wrong.chars().count().max(name.chars().count()) / 3).max(1);
    (far <= allowed).then(|| name.clone())
}

/// The full path of the first key with exactly this name, in whatever section it is.
pub(super) fn elsewhere(wrong: &str) -> Option<String> {
    let same = |key: &str| key == wrong.replace('-', "_");
    every_key().into_iter().find(|(_, key)| same(key.name)).map(|(path, _)| path)
}

/// Names in one clause, bounded in number.
pub(in crate::config) fn listed(names: &[String]) -> String {
    let quoted = names.iter().take(LISTED).map(|name| format!("`{}`", shown(name)));
    let mut text = quoted.collect::<Vec<_>>().join(", ");
    if let Some(more) = names.len().checked_sub(LISTED).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
