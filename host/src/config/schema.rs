//! The form in which the configuration's keys are described, once for checking, showing and docs.
//!
//! Holds no key itself: those are in `schema::keys` and its neighbours.

mod calls;
mod checks;
mod keys;
mod people;
mod serving;
mod upstream;

use crate::contract::limits::{LimitKind, Unit};

pub(super) use keys::ROOT;

/// Most bytes of one text.
pub(super) const TEXT_MAX: usize = 4096;
/// Most values of one list.
pub(super) const LIST_MAX: usize = 256;
/// Most entries of one table whose names the operator chooses.
pub(super) const MAP_MAX: usize = 1000;

/// A table with fixed keys.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) keys: &'static [Key],
    /// For the reference: what it is for.
    pub(super) about: &'static str,
    /// For the reference: lines that are valid as they stand, at the top of a file.
    pub(super) example: &'static str,
}

/// One key of a section.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: Default,
    /// For the reference: what it means, in one line.
    pub(super) about: &'static str,
}

/// What holds where the file doesn't name a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Default {
    /// The key must be there.
    Required,
    /// Nothing, or what these words say.
    Words(&'static str),
    /// This value, written as TOML.
    Toml(&'static str),
}

/// What a key takes.
#[derive(Debug)]
pub(super) enum Kind {
    Bool,
    /// A text that a check lets through.
    Text(Text),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number.
    Count {
        min: u64,
        max: u64,
    },
    /// A time with its unit; in milliseconds here.
    Duration {
        min: u64,
        max: u64,
    },
    /// Bytes.
    Size {
        min: u64,
        max: u64,
    },
    /// The limits of a call, by their names.
    Limits,
    List(&'static Kind),
    Table(&'static Section),
    /// A table whose names the operator chooses.
    Map(&'static Map),
    /// The first that takes a value of this form.
    Either(&'static [Kind]),
}

/// A kind of text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    /// What it is, for messages and the reference: `a folder`.
    pub(super) what: &'static str,
    /// Why a text isn't one, in words that follow the text.
    pub(super) check: fn(&str) -> Result<(), String>,
}

/// Names the operator chooses, and what each stands for.
#[derive(Debug)]
pub(super) struct Map {
    /// How the reference writes a name: `NAME`.
    pub(super) placeholder: &'static str,
    pub(super) name: Text,
    pub(super) value: Kind,
    /// Whether tables may show the values.
    pub(super) hidden: bool,
}

impl Section {
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Kind {
    /// What it takes, in words that follow "expected".
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Text(text) => text.what.to_owned(),
            Self::Choice(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Duration { min, max } => {
                let show = |ms: u64| LimitKind::CallDeadline.show(ms);
                format!("a time from {} to {}, such as `\"5s\"`", show(*min), show(*max))
            }
            Self::Size { min, max } => {
                let show = |bytes: u64| match bytes {
                    1 => "1 byte".to_owned(),
                    bytes => LimitKind::Memory.show(bytes),
                };
                format!("a size from {} to {}, such as `\"64MiB\"`", show(*min), show(*max))
            }
            Self::Limits => "a table of limits".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) | Self::Map(_) => "a table".to_owned(),
            Self::Either(kinds) => {
                let each: Vec<_> = kinds.iter().map(Self::expected).collect();
                each.join(", or ")
            }
        }
    }

    /// The kind of one limit's value. A limit of 0 would refuse every call.
    pub(super) fn of_limit(kind: LimitKind) -> Self {
        let (min, max) = (1, kind.facts().ceiling);
        match kind.facts().unit {
            Unit::Fuel | Unit::Count => Self::Count { min, max },
            Unit::Milliseconds => Self::Duration { min, max },
            Unit::Bytes => Self::Size { min, max },
        }
    }
}

/// The name of a limit's key: `call_deadline`.
pub(super) fn limit_key(kind: LimitKind) -> String {
    kind.facts().name.replace('-', "_")
}

/// The limit with this name, written with `-` or `_`.
pub(super) fn limit_named(name: &str) -> Option<LimitKind> {
    LimitKind::ALL.into_iter().find(|kind| kind.facts().name == name || limit_key(*kind) == name)
}

/// Every key of fixed name with its full path, in the order of the reference. Names that the
/// operator chooses stand as placeholders.
pub(super) fn every_key() -> Vec<(String, &'static Key)> {
    let mut found = Vec::new();
    collect("", &ROOT, &mut found);
    found
}

fn collect(prefix: &str, section: &'static Section, found: &mut Vec<(String, &'static Key)>) {
    for key in section.keys {
        let path = format!("{prefix}{}", key.name);
        found.push((path.clone(), key));
        for (suffix, inner) in sections_in(&key.kind) {
            collect(&format!("{path}{suffix}."), inner, found);
        }
    }
}

/// The sections a kind leads to, each with what stands between the key and the section's keys.
pub(super) fn sections_in(kind: &'static Kind) -> Vec<(String, &'static Section)> {
    match kind {
        Kind::Table(section) => vec![(String::new(), section)],
        Kind::Map(map) => {
            let inner = sections_in(&map.value).into_iter();
            inner.map(|(rest, it)| (format!(".{}{rest}", map.placeholder), it)).collect()
        }
        Kind::List(inner) => {
            sections_in(inner).into_iter().map(|(rest, it)| (format!("[]{rest}"), it)).collect()
        }
        Kind::Either(kinds) => kinds.iter().flat_map(sections_in).collect(),
        _ => Vec::new(),
    }
}
