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

/// Words of one function, for its schemas. A `@param` or `@schema` tag of the function is already
/// an item of the metadata.
pub(super) fn words_of(function: &FunctionMetadata) -> Words {
    let items: BTreeMap<String, Word> = function
        .items
        .iter()
        .map(|(path, item)| {
            let word = Word {
                description: (!item.docs.is_empty()).then(|| item.docs.clone()),
                narrowing: (!item.schema.is_empty()).then(|| item.schema.clone()),
            };
            (path.clone(), word)
        })
        .collect();
    Words { items }
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
