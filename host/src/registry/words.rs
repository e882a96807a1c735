//! Joins what a plugin says of itself with what its component really exports, by name.
//!
//! Words without a function are reported and never trusted.

use std::collections::BTreeMap;

use belljar_metadata::{FunctionMetadata, Need as SaidNeed, PluginMetadata};

use crate::contract::descriptor::Need;
use crate::contract::escape::clipped_line;
use crate::sandbox::ExportedFunction;
use crate::sandbox::codec::{Word, Words};

/// Longest path that is shown in a finding, in bytes.
const PATH_MAX_LEN: usize = 200;

/// The metadata's path of a function.
pub(super) fn path_of(function: &ExportedFunction) -> String {
    match &function.interface {
        Some(interface) => format!("{interface}/{}", function.name),
        None => function.name.clone(),
    }
}

/// What the metadata names and the component doesn't export.
pub(super) fn lies(metadata: &PluginMetadata, functions: &[ExportedFunction]) -> Vec<String> {
    metadata
        .functions
        .keys()
        .filter(|path| !functions.iter().any(|function| path_of(function) == **path))
        .map(|path| {
            let path = clipped_line(path, PATH_MAX_LEN);
            format!("the plugin describes `{path}`, which it doesn't export")
        })
        .collect()
}

/// Patterns one plugin may have checked. Attack: a section of 1 MiB holds twenty thousand, and each
/// compiles to as much as `codec::limits` allows.
const PATTERNS_MAX: usize = 64;

/// How many more patterns a plugin may have checked.
#[derive(Debug)]
pub(super) struct PatternBudget(usize);

impl Default for PatternBudget {
    fn default() -> Self {
        Self(PATTERNS_MAX)
    }
}

/// Words of one function, for its schemas, and what had to be left out of them. A `@param` or
/// `@schema` tag of the function is already an item of the metadata.
pub(super) fn words_of(
    function: &FunctionMetadata,
    patterns: &mut PatternBudget,
) -> (Words, Option<String>) {
    let mut left_out = 0_usize;
    let items: BTreeMap<String, Word> = function
        .items
        .iter()
        .map(|(path, item)| {
            let mut schema = item.schema.clone();
            if schema.contains_key("pattern") {
                match patterns.0.checked_sub(1) {
                    Some(left) => patterns.0 = left,
                    None => {
                        schema.remove("pattern");
                        left_out += 1;
                    }
                }
            }
            let word = Word {
                description: (!item.docs.is_empty()).then(|| item.docs.clone()),
                narrowing: (!schema.is_empty()).then_some(schema),
            };
            (path.clone(), word)
        })
        .collect();
    let said = format!("{left_out} patterns aren't checked: a plugin may have {PATTERNS_MAX}");
    (Words { items }, (left_out > 0).then_some(said))
}

/// A need in the contract's words.
pub(super) fn need(said: &SaidNeed) -> Need {
    let (kind, what, why) = match said {
        SaidNeed::Http { host, methods, why } => {
            ("http", format!("{host} {}", methods.join(",")), why)
        }
        SaidNeed::Dir { mode: belljar_metadata::DirMode::ReadOnly, why } => {
            ("dir", "ro".into(), why)
        }
        SaidNeed::Dir { mode: belljar_metadata::DirMode::ReadWrite, why } => {
            ("dir", "rw".into(), why)
        }
        SaidNeed::Env { name, why } => ("env", name.clone(), why),
        SaidNeed::Secret { name, why } => ("secret", name.clone(), why),
    };
    Need { kind: kind.to_owned(), what, why: why.clone() }
}

#[cfg(test)]
mod tests {
    use belljar_metadata::ItemMetadata;

    use super::*;

    #[test]
    fn patterns_past_the_bound_are_left_out_and_told() {
        let serde_json::Value::Object(schema) = serde_json::json!({"pattern": "a", "maxLength": 3})
        else {
            panic!("an object")
        };
        let item = ItemMetadata { docs: String::new(), schema };
        let items = (0..PATTERNS_MAX + 5).map(|n| (format!("param/p{n}"), item.clone())).collect();
        let function = FunctionMetadata { items, ..FunctionMetadata::default() };
        let mut budget = PatternBudget::default();
        let (words, told) = words_of(&function, &mut budget);
        let has_pattern = |word: &&Word| word.narrowing.as_ref().unwrap().contains_key("pattern");
        assert_eq!(words.items.values().filter(has_pattern).count(), PATTERNS_MAX);
        assert!(told.unwrap().starts_with("5 patterns"));
        assert!(words_of(&function, &mut budget).1.unwrap().starts_with("69 patterns"));
    }
}
