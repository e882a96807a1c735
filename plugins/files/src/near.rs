//! Says that a path does not exist, and which names near it do.
//!
//! It only suggests: no other name is ever opened in place of the one that was asked for.

use std::fs;

use crate::bindings::exports::belljar::files::files::{ErrorCode, FileError};
use crate::failure::refuse;
use crate::path::join;
use crate::shown::{quote, quote_beside};

/// Names looked at in one folder, so that a miss in a huge one costs little.
const NAMES_MAX: usize = 4096;
/// Longer names are only compared folded: the distance takes the product of both lengths.
const COMPARED_MAX_CHARS: usize = 64;
/// Names suggested.
const SUGGESTED_MAX: usize = 3;
/// Edits beyond which two names are not near.
const DISTANCE_MAX: usize = 2;

/// The refusal for `path`, which was not found.
pub(crate) fn missing(path: &str) -> FileError {
    let Some((folder, name)) = first_missing(path) else {
        // Without a grant not even the folder that paths start from is there.
        if fs::metadata(start_of(path)).is_err() {
            return refuse(
                ErrorCode::Denied,
                format!("{} is in no folder that is granted to the plugin", quote(path)),
            );
        }
        return refuse(
            ErrorCode::NotFound,
            format!("{} is, or leads through, a symbolic link to nothing", quote(path)),
        );
    };
    let names = near_names(&folder, &name);
    if names.is_empty() {
        let shown = quote(path);
        let at = join(&folder, &name);
        let message = if at == path {
            format!("{shown} does not exist")
        } else {
            format!("{shown} does not exist: there is no {}", quote(&at))
        };
        return refuse(ErrorCode::NotFound, message);
    }
    let list: Vec<String> =
        names.iter().map(|near| quote_beside(&join(&folder, near), path)).collect();
    refuse(
        ErrorCode::NotFound,
        format!(
            "{} does not exist; near names are {}",
            quote_beside(path, &names.concat()),
            list.join(", ")
        ),
    )
}

/// The first name on the way to `path` that does not exist, and the folder it is missing from.
fn first_missing(path: &str) -> Option<(String, String)> {
    let mut folder = start_of(path).to_owned();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        let next = join(&folder, name);
        // Absolute paths start above the granted folder, where nothing can be looked at: only a
        // plain "not found" below something that was seen counts.
        if fs::symlink_metadata(&next).is_err() && fs::metadata(&folder).is_ok() {
            return Some((folder, name.to_owned()));
        }
        folder = next;
    }
    None
}

fn start_of(path: &str) -> &'static str {
    if path.starts_with('/') { "/" } else { "." }
}

/// At most three names in `folder` that resemble `asked`, nearest first.
fn near_names(folder: &str, asked: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let wanted = fold(asked);
    let mut near: Vec<(usize, String)> = entries
        .take(NAMES_MAX)
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| Some((distance(&wanted, &fold(&name))?, name)))
        .collect();
    near.sort();
    near.into_iter().take(SUGGESTED_MAX).map(|(_, name)| name).collect()
}

/// `name` without case, marks, invisible characters and kinds of spaces: what looks alike is equal.
fn fold(name: &str) -> Vec<char> {
    // U+00C0 to U+00FF without their marks (Latin-1 Supplement).
    const LATIN_1: &str = "aaaaaaaceeeeiiiidnooooo×ouuuuyþsaaaaaaaceeeeiiiidnooooo÷ouuuuyþy";
    name.chars()
        .filter(|character| {
            !matches!(character, '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{2060}'
                | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
        })
        .map(|character| match character {
            'À'..='ÿ' => {
                let at = u32::from(character).saturating_sub(u32::from('À'));
                usize::try_from(at).ok().and_then(|at| LATIN_1.chars().nth(at)).unwrap_or(character)
            }
            _ if character.is_whitespace() => ' ',
            _ => character.to_lowercase().next().unwrap_or(character),
        })
        .collect()
}

/// Edits between two folded names, or none if they are not near for their length.
fn distance(left: &[char], right: &[char]) -> Option<usize> {
    if left == right {
        return Some(0);
    }
    let longest = left.len().max(right.len());
    if longest > COMPARED_MAX_CHARS || left.len().abs_diff(right.len()) > DISTANCE_MAX {
        return None;
    }
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut before = row + 1;
        for (to, pair) in right.iter().zip(above.windows(2)) {
            let [diagonal, over] = pair else { continue };
            before = (diagonal + usize::from(from != to)).min(over + 1).min(before + 1);
            current.push(before);
        }
        if current.iter().all(|edits| *edits > DISTANCE_MAX) {
            return None;
        }
        above = current;
    }
    // A third of a short name is not the same name.
    above.last().copied().filter(|edits| *edits <= DISTANCE_MAX && edits * 3 <= longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        folder
    }

    fn message_for(folder: &tempfile::TempDir, name: &str) -> String {
        let refusal = missing(folder.path().join(name).to_str().unwrap());
        assert_eq!(refusal.code, ErrorCode::NotFound);
        refusal.message
    }

    #[test]
    fn fs_09_names_in_another_spelling_are_listed_with_code_points() {
        let folder = folder_with(&["e\u{301}"]);
        let message = message_for(&folder, "\u{e9}");
        assert!(message.contains("<U+00E9>` does not exist"), "{message}");
        assert!(message.contains("e<U+0301>`"), "{message}");

        let folder = folder_with(&["Shot 3\u{202f}PM.png"]);
        let message = message_for(&folder, "Shot 3 PM.png");
        assert!(message.contains("Shot 3<U+202F>PM.png`"), "{message}");
    }

    #[test]
    fn misspelt_names_get_at_most_three_suggestions_nearest_first() {
        let folder = folder_with(&["reader.rs", "readme.rs", "reade.rs", "raedr.rs", "other.txt"]);
        let message = message_for(&folder, "Reader.rs");
        assert_eq!(message.matches(folder.path().to_str().unwrap()).count(), 4, "{message}");
        let first = message.split("near names are ").nth(1).unwrap();
        assert!(first.split(',').next().unwrap().ends_with("/reader.rs`"), "{message}");
        assert!(!message.contains("other.txt"));
    }

    #[test]
    fn short_names_are_not_near_everything() {
        let folder = folder_with(&["a", "b", "cd"]);
        assert!(!message_for(&folder, "x").contains("near"));
    }

    #[test]
    fn the_part_of_the_path_that_is_missing_is_named() {
        let folder = folder_with(&[]);
        fs::create_dir(folder.path().join("source")).unwrap();
        let message = message_for(&folder, "sorce/main.rs");
        assert!(message.contains("/source`"), "{message}");
        let message = message_for(&folder, "elsewhere/main.rs");
        assert!(message.contains("there is no"), "{message}");
    }

    #[test]
    fn long_names_are_not_measured() {
        let name = vec!['a'; COMPARED_MAX_CHARS + 1];
        let mut other = name.clone();
        other.push('b');
        assert_eq!(distance(&name, &other), None);
        assert_eq!(distance(&name, &name), Some(0));
    }
}
