//! What the file says, checked against the schema: amounts are numbers, lists are lists.
//!
//! Doesn't know what any key means.

use std::fmt::Write as _;

use crate::contract::escape::clipped_line;
use crate::contract::limits::LimitKind;

/// Most bytes of a value that a table shows.
const SHOWN: usize = 200;

/// A checked value and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// From 1; 0 for a default.
    pub(super) line: u32,
    pub(super) value: Value,
}

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Text(String),
    Count(u64),
    Millis(u64),
    Bytes(u64),
    /// A limit, in the unit of its kind.
    Limit(LimitKind, u64),
    List(Vec<Node>),
    Table(Table),
    /// Something else than was expected, which has been told.
    Wrong,
}

/// Keys and their values, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    pub(super) entries: Vec<(String, Node)>,
    /// Whether a key was left out that nobody knows: it may be a missing one, misspelt.
    pub(super) unknown: bool,
}

impl Table {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.entries.iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }
}

impl Table {
    /// Whether nothing in it was told to be wrong.
    pub(super) fn is_sound(&self) -> bool {
        !self.unknown && self.entries.iter().all(|(_, node)| node.value.is_sound())
    }
}

impl Value {
    fn is_sound(&self) -> bool {
        match self {
            Self::Wrong => false,
            Self::List(nodes) => nodes.iter().all(|node| node.value.is_sound()),
            Self::Table(table) => table.is_sound(),
            _ => true,
        }
    }

    /// As a person reads it, in one bounded line that is safe to look at.
    pub(super) fn show(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        clipped_line(&out, SHOWN)
    }

    fn write(&self, out: &mut String) {
        // Far more than is shown: the rest of a long list need not be written at all.
        if out.len() > 4 * SHOWN {
            return;
        }
        let written = match self {
            Self::Wrong => write!(out, "?"),
            Self::Bool(yes) => write!(out, "{yes}"),
            Self::Text(text) => write!(out, "\"{text}\""),
            Self::Count(count) => write!(out, "{count}"),
            Self::Millis(ms) => write!(out, "{}", LimitKind::CallDeadline.show(*ms)),
            Self::Bytes(bytes) => write!(out, "{}", LimitKind::Memory.show(*bytes)),
            Self::Limit(kind, value) => write!(out, "{}", kind.show(*value)),
            Self::List(nodes) => {
                out.push('[');
                for (index, node) in nodes.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    node.value.write(out);
                }
                out.push(']');
                Ok(())
            }
            Self::Table(table) => {
                out.push('{');
                for (index, (key, node)) in table.entries.iter().enumerate() {
                    out.push_str(if index == 0 { " " } else { ", " });
                    out.push_str(key);
                    out.push_str(" = ");
                    node.value.write(out);
                }
                out.push_str(" }");
                Ok(())
            }
        };
        // A `String` takes every write.
        debug_assert!(written.is_ok());
    }
}
