//! Every value in force with where it comes from, for `belljar config show`.
//!
//! Made from the schema and the checked file, so that it can't leave out a key.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::contract::limits::LimitKind;

use super::schema::{Default, Kind, ROOT, Section, limit_key};
use super::value::{Node, Table, Value};

/// Most entries that are shown; the file's own bound comes first.
const SHOWN_MAX: usize = 20_000;

/// Tables in which only what is set is shown, and what has a value by default.
const CHOSEN: [&str; 5] = ["plugins.", "policy.", "secrets.", "tokens.", "upstream."];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the file.
    File {
        /// The file's name.
        name: String,
        /// The line, from 1.
        line: u32,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One value in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// Its full path: `engine.concurrency`.
    pub key: String,
    /// As a person reads it, in one line that is safe to look at. Never a secret's value, a
    /// token's or a variable's.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Every value of the file and every default, in the order of the schema.
/// `derived` are defaults that the schema has only words for, by their paths.
pub(super) fn effective(file: &str, table: &Table, derived: &[(String, String)]) -> Vec<Effective> {
    let mut view = View { file, derived, found: Vec::new() };
    view.section("", &ROOT, Some(table));
    view.found
}

struct View<'a> {
    file: &'a str,
    derived: &'a [(String, String)],
    found: Vec<Effective>,
}

impl View<'_> {
    fn push(&mut self, key: String, value: String, origin: Origin) {
        if self.found.len() < SHOWN_MAX {
            self.found.push(Effective { key, value, origin });
        }
    }

    fn at(&self, line: u32) -> Origin {
        Origin::File { name: self.file.to_owned(), line }
    }

    fn section(&mut self, prefix: &str, section: &'static Section, table: Option<&Table>) {
        for key in section.keys {
            let path = format!("{prefix}{}", key.name);
            match (table.and_then(|table| table.get(key.name)), key.default) {
                (Some(node), _) => self.node(&path, &key.kind, node),
                (None, Default::Toml(text)) => {
                    // By way of the same reader as the file, so that both look the same.
                    let value = super::check::check_value(&key.kind, text);
                    let value = value.map_or(text.to_owned(), |node| node.value.show());
                    self.push(path, value, Origin::Default);
                }
                (None, Default::Words(words)) => self.absent(&path, &key.kind, words),
                (None, Default::Required) => {}
            }
        }
    }

    /// A table that isn't there has defaults inside all the same.
    fn absent(&mut self, path: &str, kind: &'static Kind, words: &'static str) {
        match kind {
            Kind::Table(section) => self.section(&format!("{path}."), section, None),
            Kind::Limits if path == "limits" => self.limits(path, None),
            Kind::Limits => {}
            Kind::Map(_) => self.derived(&format!("{path}.")),
            // Names that the operator chose stand in rules, tools and callers: a table of every
            // condition that isn't set would bury the rest.
            _ if CHOSEN.iter().any(|chosen| path.starts_with(chosen)) => {}
            _ => match self.derived.iter().find(|(key, _)| key == path) {
                Some((_, value)) => self.push(path.to_owned(), value.clone(), Origin::Default),
                None => self.push(path.to_owned(), words.to_owned(), Origin::Default),
            },
        }
    }

    /// Derived defaults below a path that nothing has been shown of.
    fn derived(&mut self, prefix: &str) {
        for (key, value) in self.derived {
            let is_new = || !self.found.iter().any(|it| it.key == *key);
            if key.starts_with(prefix) && is_new() {
                self.push(key.clone(), value.clone(), Origin::Default);
            }
        }
    }

    fn node(&mut self, path: &str, kind: &'static Kind, node: &Node) {
        match (kind, &node.value) {
            (Kind::Table(section), Value::Table(table)) => {
                self.section(&format!("{path}."), section, Some(table));
            }
            (Kind::Limits, Value::Table(table)) => self.limits(path, Some(table)),
            (Kind::Map(map), Value::Table(table)) => {
                for (name, inner) in &table.entries {
                    let path = format!("{path}.{}", super::check::key_text(name));
                    if map.hidden {
                        let origin = self.at(inner.line);
                        self.push(path, "(set, not shown)".to_owned(), origin);
                    } else {
                        self.node(&path, &map.value, inner);
                    }
                }
                self.derived(&format!("{path}."));
            }
            (Kind::List(Kind::Table(section)), Value::List(nodes)) => {
                for (inner, place) in nodes.iter().zip(1..) {
                    if let Value::Table(table) = &inner.value {
                        self.section(&format!("{path}[{place}]."), section, Some(table));
                    }
                }
            }
            _ => {
                let origin = self.at(node.line);
                self.push(path.to_owned(), node.value.show(), origin);
            }
        }
    }

    fn limits(&mut self, path: &str, table: Option<&Table>) {
        for kind in LimitKind::ALL {
            let key = limit_key(kind);
            match table.and_then(|table| table.get(&key)) {
                Some(node) => {
                    let origin = self.at(node.line);
                    self.push(format!("{path}.{key}"), node.value.show(), origin);
                }
                // A plugin's limits are every tool's where it sets none.
                None if path == "limits" => {
                    let value = kind.show(kind.facts().default);
                    self.push(format!("{path}.{key}"), value, Origin::Default);
                }
                None => {}
            }
        }
    }
}
