//! What a plugin says of a function's parameters and results, keyed by path.
//!
//! Words are claims: they describe and narrow, and never change what a value may be otherwise. Must
//! not know where they come from; the registry fills them from the plugin's metadata section.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Words of one function.
///
/// A path starts with `param/NAME` or with `result` and goes down with the type: fields, cases and
/// flags by their WIT name, `ok` and `err` of a result, elements of a tuple by index from 0. Options
/// and lists add no segment: what is said of the inner type is said of the outer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// What is said, by path.
    pub items: BTreeMap<String, Word>,
}

/// What is said of one parameter, result, field, case or flag.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Word {
    /// The description, without tags.
    pub description: Option<String>,
    /// JSON Schema keywords that narrow the type.
    pub narrowing: Option<Map<String, Value>>,
}

impl Words {
    /// The description at `path`, if there is one that isn't blank.
    pub(super) fn description(&self, path: &str) -> Option<&str> {
        let text = self.items.get(path)?.description.as_deref()?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// The narrowing keywords at `path`.
    pub(super) fn narrowing(&self, path: &str) -> Option<&Map<String, Value>> {
        self.items.get(path)?.narrowing.as_ref().filter(|keywords| !keywords.is_empty())
    }
}
