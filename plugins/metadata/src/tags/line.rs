//! Parses one tag line into a typed tag.
//!
//! Must not know of other lines: what is given twice or contradicts is found by the comment.

use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Place, narrowing, need, quantity};
use crate::finding::quoted;
use crate::limits;
use crate::model::{Narrowing, Need};

/// Why a line is no good as a tag.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TagsError {
    /// No such tag.
    #[error("unknown tag {tag}, expected one of {}", KNOWN.join(", "))]
    Unknown {
        /// The tag, quoted.
        tag: String,
    },
    /// A tag that this place doesn't have.
    #[error("`@{tag}` is not allowed here: {allowed}")]
    Misplaced {
        /// The tag's word.
        tag: String,
        /// What the place may have.
        allowed: &'static str,
    },
    /// An argument that can't be read.
    #[error("malformed `@{tag}`: {reason}")]
    Malformed {
        /// The tag's word.
        tag: String,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A tag that may stand once.
    #[error("`@{tag}` is given twice")]
    Twice {
        /// The tag's word, with its name where it has one.
        tag: String,
    },
    /// A tag that may stand only so often.
    #[error("more than {most} `@{tag}` tags")]
    TooMany {
        /// The tag's word.
        tag: String,
        /// How many are allowed.
        most: usize,
    },
}

/// Every tag's word, in the order of the documentation.
const KNOWN: [&str; 16] = [
    "title",
    "param",
    "schema",
    "example",
    "read-only",
    "destructive",
    "idempotent",
    "offline",
    "sequential",
    "ask",
    "locks",
    "timeout",
    "fuel",
    "memory",
    "output",
    "needs",
];

#[derive(Debug, Clone, Copy)]
pub(super) enum Flag {
    ReadOnly,
    Destructive,
    Idempotent,
    Offline,
    Sequential,
    Ask,
}

impl Flag {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Destructive => "destructive",
            Self::Idempotent => "idempotent",
            Self::Offline => "offline",
            Self::Sequential => "sequential",
            Self::Ask => "ask",
        }
    }
}

pub(super) enum Tag {
    Title(String),
    Param(String, String),
    Schema(String, Narrowing),
    FieldSchema(Narrowing),
    Example(Map<String, Value>),
    Flag(Flag),
    Locks(String),
    Timeout(Duration),
    Fuel(u64),
    Memory(u64),
    Output(u64),
    Need(Need),
}

/// The word of a known tag with which a line of text begins.
pub(super) fn known_tag(line: &str) -> Option<&'static str> {
    let (word, _) = words(line.trim_start().strip_prefix('@')?);
    KNOWN.into_iter().find(|known| *known == word)
}

/// Parses a line that begins with `@`.
pub(super) fn parse(line: &str, place: Place) -> Result<Tag, TagsError> {
    let (word, rest) = words(line.strip_prefix('@').unwrap_or(line));
    if !KNOWN.contains(&word) {
        return Err(TagsError::Unknown { tag: quoted(&format!("@{word}")) });
    }
    let allowed = match place {
        Place::Function => None,
        Place::Field if word == "schema" => None,
        Place::World if word == "needs" => None,
        Place::Field => Some("a record field may have `@schema {…}`"),
        Place::World => Some("a world may have `@needs`"),
        Place::Other => Some("tags belong to exported functions, record fields and the world"),
    };
    if let Some(allowed) = allowed {
        return Err(TagsError::Misplaced { tag: word.to_owned(), allowed });
    }
    parse_argument(word, rest, place)
        .map_err(|reason| TagsError::Malformed { tag: word.to_owned(), reason })
}

fn parse_argument(word: &str, rest: &str, place: Place) -> Result<Tag, String> {
    Ok(match word {
        "title" => Tag::Title(text(rest, limits::TITLE_BYTES)?),
        "param" => {
            let (name, said) = named(rest, "NAME TEXT")?;
            Tag::Param(name, text(said, limits::DOCS_BYTES)?)
        }
        "schema" if place == Place::Field => Tag::FieldSchema(narrowing::parse(rest)?),
        "schema" => {
            let (name, keywords) = named(rest, "NAME {…}")?;
            Tag::Schema(name, narrowing::parse(keywords)?)
        }
        "example" => Tag::Example(narrowing::parse_object(rest)?),
        "locks" => match named(rest, "NAME")? {
            (name, "") => Tag::Locks(name),
            (_, more) => {
                return Err(format!("expected one name, found {} after it", quoted(more)));
            }
        },
        "timeout" => Tag::Timeout(quantity::parse_duration(rest)?),
        "fuel" => Tag::Fuel(quantity::parse_count(rest)?),
        "memory" => Tag::Memory(quantity::parse_bytes(rest)?),
        "output" => Tag::Output(quantity::parse_bytes(rest)?),
        "needs" => Tag::Need(need::parse(rest)?),
        _ if !rest.is_empty() => return Err(format!("takes no argument, found {}", quoted(rest))),
        "read-only" => Tag::Flag(Flag::ReadOnly),
        "destructive" => Tag::Flag(Flag::Destructive),
        "idempotent" => Tag::Flag(Flag::Idempotent),
        "offline" => Tag::Flag(Flag::Offline),
        "sequential" => Tag::Flag(Flag::Sequential),
        "ask" => Tag::Flag(Flag::Ask),
        _ => return Err("not a tag".to_owned()),
    })
}

/// The first word and the trimmed rest.
pub(super) fn words(text: &str) -> (&str, &str) {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

fn named<'a>(rest: &'a str, expected: &str) -> Result<(String, &'a str), String> {
    let (name, rest) = words(rest);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > limits::WORD_BYTES || !name.chars().all(is_name) {
        return Err(format!("expected {expected}, found {} as the name", quoted(name)));
    }
    Ok((name.to_owned(), rest))
}

fn text(rest: &str, most: usize) -> Result<String, String> {
    match rest.len() {
        0 => Err("expected text".to_owned()),
        len if len > most => Err(format!("text of {len} bytes, expected at most {most}")),
        _ => Ok(rest.to_owned()),
    }
}
