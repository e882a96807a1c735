//! Reads the tags at the end of a doc comment.
//!
//! The last lines that begin with `@` are tags; they leave the description. Blank lines between
//! them don't count. A tag is one line, its JSON too: a line that doesn't begin with `@` ends the
//! block, and a known tag above it is reported, since it would be lost without a word.
//!
//! | tag | argument |
//! |---|---|
//! | `@title` | text |
//! | `@param NAME` | text |
//! | `@schema NAME` | a JSON object of `minimum`, `maximum`, `minLength`, `maxLength`, `pattern`, `format`, `default`, `examples`, `minItems`, `maxItems`; on a record field without NAME |
//! | `@example` | a JSON object of whole arguments |
//! | `@read-only`, `@destructive`, `@idempotent`, `@offline`, `@sequential`, `@ask` | none |
//! | `@locks` | the name of an argument |
//! | `@timeout` | `500ms`, `5s`, `2m` |
//! | `@fuel` | `2000000000`, `2e9`, `1.5e9` |
//! | `@memory`, `@output` | bytes: `65536`, `64KiB`, `64MiB`, `1GiB` |
//! | `@needs http` | HOST METHODS "why" |
//! | `@needs dir` | `ro` or `rw`, "why" |
//! | `@needs env`, `@needs secret` | NAME "why" |
//!
//! Knows nothing of types: whether NAME exists is for whoever has the types.

mod line;
mod narrowing;
mod need;
pub mod quantity;

use std::collections::BTreeMap;

pub(crate) use narrowing::check_keyword;
pub(crate) use need::check_need;

use crate::finding::{Finding, Findings};
use crate::limits;
use crate::model::{Narrowing, Need, Tags};
pub use line::TagsError;
use line::{Flag, Tag};

/// What a doc comment belongs to, which decides the tags that it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// An exported function: every tag, `@schema` with a name.
    Function,
    /// A field of a record: `@schema` without a name.
    Field,
    /// A world: `@needs`.
    World,
    /// Anything else: no tags.
    Other,
}

/// A doc comment, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocComment {
    /// The text above the tags.
    pub description: String,
    /// Tags of the function itself.
    pub tags: Tags,
    /// `@needs`.
    pub needs: Vec<Need>,
    /// `@param`: text by name, as the author spelled it.
    pub params: BTreeMap<String, String>,
    /// `@schema NAME`: keywords by name, as the author spelled it.
    pub schemas: BTreeMap<String, Narrowing>,
    /// `@schema` of a record field.
    pub schema: Narrowing,
}

/// Reads a doc comment. `path` says where it stands, for the findings.
///
/// A tag that is unknown, malformed, given twice or out of place is left out and reported.
pub fn parse(docs: &str, place: Place, path: &str) -> (DocComment, Vec<Finding>) {
    let mut findings = Findings::default();
    let comment = parse_into(docs, place, path, &mut findings);
    (comment, findings.into_vec())
}

pub(crate) fn parse_into(
    docs: &str,
    place: Place,
    path: &str,
    findings: &mut Findings,
) -> DocComment {
    let (text, tag_lines) = split(docs);
    let mut comment = DocComment { description: text.join("\n"), ..DocComment::default() };
    for line in &text {
        if let Some(tag) = line::known_tag(line) {
            findings.add(
                path,
                format!("`@{tag}` is not among the last lines, so it is no tag: {SINGLE_LINES}"),
            );
        }
    }
    for line in tag_lines {
        let added = line::parse(line, place).and_then(|tag| comment.add(tag));
        if let Err(error) = added {
            findings.add(path, error.to_string());
        }
    }
    if comment.tags.read_only && comment.tags.destructive {
        // Neither is kept: without them a reader assumes the cautious value.
        comment.tags.read_only = false;
        comment.tags.destructive = false;
        findings.add(path, CONTRADICTION);
    }
    comment
}

/// Said of `@read-only` beside `@destructive`, in a comment or in a section.
pub(crate) const CONTRADICTION: &str =
    "`@read-only` and `@destructive` contradict each other: keep one";

const SINGLE_LINES: &str = "move it below the text, and keep each tag on one line";

/// The description's lines and the tag lines, both without the blank lines between them.
fn split(docs: &str) -> (Vec<&str>, Vec<&str>) {
    let lines: Vec<&str> = docs.lines().map(str::trim_end).collect();
    let is_text = |line: &&str| !line.is_empty() && !line.trim_start().starts_with('@');
    let text_len = lines.iter().rposition(is_text).map_or(0, |last| last + 1);
    let (text, tags) = lines.split_at(text_len);
    let text = text.iter().copied().skip_while(|line| line.is_empty()).collect();
    let tags = tags.iter().map(|line| line.trim_start()).filter(|line| !line.is_empty()).collect();
    (text, tags)
}

impl DocComment {
    fn add(&mut self, tag: Tag) -> Result<(), TagsError> {
        let tags = &mut self.tags;
        match tag {
            Tag::Title(text) => set(&mut tags.title, text, "title"),
            Tag::Timeout(time) => set(&mut tags.timeout, time, "timeout"),
            Tag::Fuel(amount) => set(&mut tags.fuel, amount, "fuel"),
            Tag::Memory(bytes) => set(&mut tags.memory, bytes, "memory"),
            Tag::Output(bytes) => set(&mut tags.output, bytes, "output"),
            Tag::Flag(flag) => raise(flag_of(tags, flag), flag.word()),
            Tag::Example(value) => push(&mut tags.examples, value, limits::EXAMPLES, "example"),
            Tag::Locks(name) if tags.locks.contains(&name) => Err(twice(format!("locks {name}"))),
            Tag::Locks(name) => push(&mut tags.locks, name, limits::LOCKS, "locks"),
            Tag::Need(need) => push(&mut self.needs, need, limits::NEEDS, "needs"),
            Tag::Param(name, text) => insert(&mut self.params, name, text, "param"),
            Tag::Schema(name, keywords) => insert(&mut self.schemas, name, keywords, "schema"),
            Tag::FieldSchema(keywords) if self.schema.is_empty() => {
                self.schema = keywords;
                Ok(())
            }
            Tag::FieldSchema(_) => Err(twice("schema".to_owned())),
        }
    }
}

fn flag_of(tags: &mut Tags, flag: Flag) -> &mut bool {
    match flag {
        Flag::ReadOnly => &mut tags.read_only,
        Flag::Destructive => &mut tags.destructive,
        Flag::Idempotent => &mut tags.idempotent,
        Flag::Offline => &mut tags.offline,
        Flag::Sequential => &mut tags.sequential,
        Flag::Ask => &mut tags.ask,
    }
}

fn twice(tag: String) -> TagsError {
    TagsError::Twice { tag }
}

fn raise(flag: &mut bool, tag: &str) -> Result<(), TagsError> {
    if std::mem::replace(flag, true) { Err(twice(tag.to_owned())) } else { Ok(()) }
}

fn set<T>(slot: &mut Option<T>, value: T, tag: &str) -> Result<(), TagsError> {
    if slot.is_some() {
        return Err(twice(tag.to_owned()));
    }
    *slot = Some(value);
    Ok(())
}

fn push<T>(list: &mut Vec<T>, value: T, most: usize, tag: &str) -> Result<(), TagsError> {
    if list.len() >= most {
        return Err(TagsError::TooMany { tag: tag.to_owned(), most });
    }
    list.push(value);
    Ok(())
}

fn insert<T>(
    map: &mut BTreeMap<String, T>,
    name: String,
    value: T,
    tag: &str,
) -> Result<(), TagsError> {
    // `a-b` and `a_b` are one name, so they are also one name given twice.
    if map.keys().any(|known| known.replace('_', "-") == name.replace('_', "-")) {
        return Err(twice(format!("{tag} {name}")));
    }
    map.insert(name, value);
    Ok(())
}

#[cfg(test)]
mod tests;
