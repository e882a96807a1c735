//! What a plugin says of itself, as values: the shape of the `belljar:plugin` section.
//!
//! # Paths
//! A function's path is `<interface>/<function>`, with the interface as the component exports it
//! (`acme:weather/weather@1.2.0/current`, or `local/current` for an interface written inside the
//! world), or the bare `<function>` for one that the world itself exports.
//!
//! Below a function, an item's path starts with `param/NAME` or with `result` and goes down with
//! the type:
//!
//! | type | its segment |
//! |---|---|
//! | record, variant, enum, flags | the name of the field, case or flag |
//! | result | `ok`, `err` |
//! | tuple | the index from 0 |
//! | map | `key`, `value` |
//! | option, list, alias | none: what is said of the inner type is said of the outer |
//!
//! So `result/err/not-found` is a case of the error variant, and `param/points/0` the first half
//! of each pair in a `list<tuple<…>>`. All names are the WIT's own, in kebab-case.
//!
//! Must not parse, check or write anything.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the section's JSON that this crate writes, and the newest that it reads.
///
/// A new key that an older reader may leave out keeps the number: the reader reports the key and
/// goes on. A change of meaning raises it: older readers report that and ignore the section.
pub const FORMAT: u64 = 1;

/// What a plugin says of itself. Every word is a claim of its author.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PluginMetadata {
    /// Kebab-case ASCII, at most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Usually a semantic version; ASCII letters, digits, `.`, `+` and `-`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What the plugin is for; may have several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// One person or organisation an entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// An SPDX licence expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// An http or https URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// An http or https URL of the source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The source's revision, such as a commit id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What built the component, in the builder's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<String>,
    /// What every function of the plugin needs. Needs grant nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Functions by path. A path may name what the component doesn't export.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, FunctionMetadata>,
}

/// What a plugin says of one function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FunctionMetadata {
    /// The description, without tags; empty when nothing is said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub docs: String,
    /// Tags of the function itself. What `@param` and `@schema` say is in `items`.
    #[serde(skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// What this function needs beside the plugin's needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Parameters, results, fields and cases by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub items: BTreeMap<String, ItemMetadata>,
}

/// What a plugin says of a parameter, a result, a field or a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ItemMetadata {
    /// The description, without tags; empty when nothing is said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub docs: String,
    /// Keywords that narrow the item's schema; empty when nothing narrows it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub schema: Narrowing,
}

/// JSON Schema keywords that narrow a type, from a closed list (see [`crate::tags`]).
pub type Narrowing = Map<String, Value>;

/// The tags of a function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Tags {
    /// `@title`: a short name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `@example`: whole arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Map<String, Value>>,
    /// `@read-only`: changes nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// `@destructive`: may destroy what it changes.
    #[serde(skip_serializing_if = "is_false")]
    pub destructive: bool,
    /// `@idempotent`: a second identical call changes nothing more.
    #[serde(skip_serializing_if = "is_false")]
    pub idempotent: bool,
    /// `@offline`: uses no network.
    #[serde(skip_serializing_if = "is_false")]
    pub offline: bool,
    /// `@sequential`: unsafe beside other calls.
    #[serde(skip_serializing_if = "is_false")]
    pub sequential: bool,
    /// `@locks`: arguments whose equal values run one after another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// `@ask`: always wants a person's approval.
    #[serde(skip_serializing_if = "is_false")]
    pub ask: bool,
    /// `@timeout`: the most time one attempt takes; whole milliseconds, never 0.
    #[serde(rename = "timeoutMs", with = "millis", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// `@fuel`: the most fuel one attempt takes, never 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// `@memory`: the most memory one attempt takes, in bytes, never 0.
    #[serde(rename = "memoryBytes", skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// `@output`: the longest output that the model is shown, in bytes, never 0.
    #[serde(rename = "outputBytes", skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

impl Tags {
    /// Whether no tag is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A capability that a plugin says it wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Need {
    /// Requests to a host.
    Http {
        /// A name or address with an optional `:port`, a `*.` wildcard, or `*`; lower case.
        host: String,
        /// Upper-case methods, at least one.
        methods: Vec<String>,
        /// The author's reason.
        why: String,
    },
    /// A folder.
    Dir {
        /// What is done in it.
        mode: DirMode,
        /// The author's reason.
        why: String,
    },
    /// An environment variable that the plugin reads.
    Env {
        /// The variable.
        name: String,
        /// The author's reason.
        why: String,
    },
    /// A secret that the host uses for the plugin, which never sees it.
    Secret {
        /// The name under which the operator configures it.
        name: String,
        /// The author's reason.
        why: String,
    },
}

/// What a plugin wants to do in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DirMode {
    /// Read only.
    #[serde(rename = "ro")]
    ReadOnly,
    /// Read and write.
    #[serde(rename = "rw")]
    ReadWrite,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

mod millis {
    use super::{Deserialize, Duration};

    pub(super) fn serialize<S: serde::Serializer>(
        value: &Option<Duration>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(time) => out.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            None => out.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        input: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(input)?.map(Duration::from_millis))
    }
}
