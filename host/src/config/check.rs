//! Holds a file against the schema: from TOML to checked values, with every fault named.
//!
//! Doesn't know what any key means: two keys that don't go together are found later.

pub(super) mod near;
mod scalar;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::error::{Problems, shown};
use super::schema::{Default, Kind, LIST_MAX, MAP_MAX, Map, ROOT, Section, limit_key, limit_named};
use super::value::{Node, Table, Value};
use crate::contract::limits::LimitKind;

/// A text with the beginnings of its lines.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(at, _)| at + 1).collect())
    }

    /// The line, from 1, that the byte `at` is in.
    fn line(&self, at: usize) -> u32 {
        let before = self.0.partition_point(|start| *start <= at);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }
}

/// Reads `text` by the schema. What is wrong is added to `problems`; the rest is returned.
pub(super) fn check(text: &str, problems: &mut Problems) -> Table {
    // Editors of some systems write a mark before the text that isn't part of it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::of(text);
    let (document, faults) = DeTable::parse_recoverable(text);
    for fault in &faults {
        let line = fault.span().map_or(1, |span| lines.line(span.start));
        problems.push(line, format!("it is not TOML: {}", shown(fault.message())));
    }
    if !faults.is_empty() {
        // What could be read of a broken file would be blamed for what is missing.
        return Table::default();
    }
    let mut walk = Walk { text, lines, path: Vec::new(), hidden: false, problems };
    walk.section(&ROOT, document.get_ref(), 1)
}

/// One value by one kind, for defaults and tests: `text` is TOML.
pub(super) fn check_value(kind: &'static Kind, text: &str) -> Result<Node, Problems> {
    let mut problems = Problems::new("default");
    let found = DeValue::parse(text).map_err(|fault| {
        problems.push(0, fault.message().to_owned());
        problems.clone()
    })?;
    let lines = Lines::of(text);
    let mut walk = Walk { text, lines, path: Vec::new(), hidden: false, problems: &mut problems };
    let node = walk.value(kind, &found);
    node.filter(|_| problems.is_empty()).ok_or(problems)
}

struct Walk<'a> {
    text: &'a str,
    lines: Lines,
    path: Vec<String>,
    /// What stands here may be a secret in the wrong place, and isn't repeated.
    hidden: bool,
    problems: &'a mut Problems,
}

impl Walk<'_> {
    fn line<T>(&self, spanned: &Spanned<T>) -> u32 {
        self.lines.line(spanned.span().start)
    }

    /// The full path of what is looked at, as a person would write it.
    fn here(&self) -> String {
        joined(&self.path)
    }

    fn wrong(&mut self, line: u32, text: &str) {
        let here = self.here();
        self.problems.push(line, format!("`{here}`: {text}"));
    }

    /// What was found where something else was expected.
    fn mismatch(&mut self, kind: &Kind, found: &Spanned<DeValue<'_>>) {
        let source = self.text.get(found.span()).unwrap_or_default();
        let what = match found.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            _ if self.hidden => "another value".to_owned(),
            _ => format!("`{}`", shown(source)),
        };
        let line = self.line(found);
        self.wrong(line, &format!("expected {}, found {what}", kind.expected()));
    }

    fn section(&mut self, section: &'static Section, found: &DeTable<'_>, line: u32) -> Table {
        let mut table = Table::default();
        for (name, value) in in_order(found) {
            self.path.push(key_text(name.get_ref()));
            match section.key(name.get_ref()) {
                Some(key) => {
                    let node = self.value_or_wrong(&key.kind, value);
                    table.entries.push((key.name.to_owned(), node));
                }
                None => {
                    table.unknown = true;
                    self.unknown(section, name);
                }
            }
            self.path.pop();
        }
        for key in section.keys {
            if matches!(key.default, Default::Required)
                && table.get(key.name).is_none()
                && !table.unknown
            {
                let expected = key.kind.expected();
                self.path.push(key.name.to_owned());
                self.wrong(line, &format!("it is missing, expected {expected}"));
                self.path.pop();
            }
        }
        table
    }

    fn unknown(&mut self, section: &'static Section, name: &Spanned<std::borrow::Cow<'_, str>>) {
        let names: Vec<_> = section.keys.iter().map(|key| key.name.to_owned()).collect();
        let line = self.line(name);
        let mut text = "there is no such key".to_owned();
        let mut beside = self.path.clone();
        let mut instead = |near: String| {
            beside.pop();
            beside.push(near);
            joined(&beside)
        };
        text.push_str(&match near::nearest(name.get_ref(), &names) {
            Some(near) => format!(", did you mean `{}`?", instead(near)),
            None => match near::elsewhere(name.get_ref()) {
                Some(path) => format!(", did you mean `{path}`?"),
                None => format!(", expected one of {}", near::listed(&names)),
            },
        });
        self.wrong(line, &text);
    }

    /// What is wrong stays in its place, so that it isn't blamed for being missing too.
    fn value_or_wrong(&mut self, kind: &'static Kind, found: &Spanned<DeValue<'_>>) -> Node {
        let line = self.line(found);
        self.value(kind, found).unwrap_or(Node { line, value: Value::Wrong })
    }

    fn value(&mut self, kind: &'static Kind, found: &Spanned<DeValue<'_>>) -> Option<Node> {
        let line = self.line(found);
        let value = match (kind, found.get_ref()) {
            (Kind::Table(section), DeValue::Table(table)) => {
                Some(Value::Table(self.section(section, table, line)))
            }
            (Kind::Map(map), DeValue::Table(table)) => self.map(map, table, line),
            (Kind::Limits, DeValue::Table(table)) => Some(Value::Table(self.limits(table))),
            (Kind::List(inner), DeValue::Array(list)) => self.list(inner, list, line),
            (Kind::Either(kinds), value) => {
                match kinds.iter().find(|kind| scalar::takes(kind, value)) {
                    Some(kind) => return self.value(kind, found),
                    None => {
                        self.mismatch(kind, found);
                        None
                    }
                }
            }
            _ => self.scalar(kind, found),
        };
        value.map(|value| Node { line, value })
    }

    fn scalar(&mut self, kind: &Kind, found: &Spanned<DeValue<'_>>) -> Option<Value> {
        match scalar::read(kind, found.get_ref()) {
            Ok(value) => Some(value),
            Err(scalar::Fault::Mismatch) => {
                self.mismatch(kind, found);
                None
            }
            Err(scalar::Fault::Said(text)) => {
                let line = self.line(found);
                self.wrong(line, &text);
                None
            }
        }
    }

    fn list(&mut self, inner: &'static Kind, found: &DeArray<'_>, line: u32) -> Option<Value> {
        if found.len() > LIST_MAX {
            self.wrong(line, &format!("it has {} values, at most {LIST_MAX} fit", found.len()));
            return None;
        }
        let mut nodes = Vec::new();
        for (index, value) in found.iter().enumerate() {
            // From 1, as the gate counts rules.
            self.path.push(format!("[{}]", index + 1));
            nodes.push(self.value_or_wrong(inner, value));
            self.path.pop();
        }
        Some(Value::List(nodes))
    }

    fn map(&mut self, map: &'static Map, found: &DeTable<'_>, line: u32) -> Option<Value> {
        if found.len() > MAP_MAX {
            self.wrong(line, &format!("it has {} entries, at most {MAP_MAX} fit", found.len()));
            return None;
        }
        let mut table = Table::default();
        let outside = self.hidden;
        self.hidden |= map.hidden;
        for (name, value) in in_order(found) {
            self.path.push(key_text(name.get_ref()));
            if let Err(why) = (map.name.check)(name.get_ref()) {
                let line = self.line(name);
                self.wrong(line, &format!("expected {}: {why}", map.name.what));
            } else {
                let node = self.value_or_wrong(&map.value, value);
                table.entries.push((name.get_ref().to_string(), node));
            }
            self.path.pop();
        }
        self.hidden = outside;
        Some(Value::Table(table))
    }

    fn limits(&mut self, found: &DeTable<'_>) -> Table {
        let mut table = Table::default();
        for (name, value) in in_order(found) {
            self.path.push(key_text(name.get_ref()));
            match limit_named(name.get_ref()) {
                Some(kind) if table.get(&limit_key(kind)).is_some() => {
                    let line = self.line(name);
                    self.wrong(line, "it is set twice, with `-` and with `_`");
                }
                Some(kind) => {
                    let node = self.limit(kind, value);
                    table.entries.extend(node.map(|node| (limit_key(kind), node)));
                }
                None => {
                    let names = LimitKind::ALL.map(limit_key);
                    let line = self.line(name);
                    let meant = match near::nearest(name.get_ref(), &names) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("expected one of {}", near::listed(&names)),
                    };
                    self.wrong(line, &format!("there is no such limit, {meant}"));
                }
            }
            self.path.pop();
        }
        table
    }

    fn limit(&mut self, limit: LimitKind, found: &Spanned<DeValue<'_>>) -> Option<Node> {
        let value = self.scalar(&Kind::of_limit(limit), found)?;
        let (Value::Count(value) | Value::Millis(value) | Value::Bytes(value)) = value else {
            return None;
        };
        Some(Node { line: self.line(found), value: Value::Limit(limit, value) })
    }
}

/// Keys with dots between them; places in a list follow without.
fn joined(path: &[String]) -> String {
    path.iter().fold(String::new(), |mut joined, part| {
        if !joined.is_empty() && !part.starts_with('[') {
            joined.push('.');
        }
        joined + part
    })
}

type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// In the order of the file: what a person reads first is told and loaded first.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// A key as TOML writes it, safe to look at.
pub(super) fn key_text(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match shown(name) {
        text if !text.is_empty() && text.bytes().all(bare) => text,
        text => format!("\"{text}\""),
    }
}
