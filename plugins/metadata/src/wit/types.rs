//! Goes down the types of one function and collects what is said of their fields and cases.
//!
//! The paths are those of [`crate::model`]. Bounded by depth and by steps, since records that hold
//! each other twice double at every level.

use std::collections::{BTreeMap, HashSet};

use wit_parser::{Docs, Record, Resolve, Type, TypeDefKind, TypeId};

use crate::finding::Findings;
use crate::limits;
use crate::model::{ItemMetadata, Narrowing};
use crate::tags::{self, Place};

/// The walk below one function.
pub(super) struct Walk<'a> {
    resolve: &'a Resolve,
    function: &'a str,
    items: &'a mut BTreeMap<String, ItemMetadata>,
    findings: &'a mut Findings,
    visits: usize,
    depth: usize,
    /// Types whose tags were looked at: a type that is used twice is reported once.
    reported: HashSet<TypeId>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        resolve: &'a Resolve,
        function: &'a str,
        items: &'a mut BTreeMap<String, ItemMetadata>,
        findings: &'a mut Findings,
    ) -> Self {
        let reported = HashSet::new();
        Self { resolve, function, items, findings, visits: 0, depth: 0, reported }
    }

    /// Collects what is said of `ty` and of all below it. What an argument's tag, a field or a case
    /// says of itself wins over what its type says in general.
    pub(super) fn describe(&mut self, ty: &Type, path: &str) {
        let Type::Id(id) = ty else { return };
        let Some(definition) = self.resolve.types.get(*id) else {
            return;
        };
        self.visits += 1;
        if self.visits == limits::TYPE_VISITS + 1 {
            let most = limits::TYPE_VISITS;
            let message = format!("more than {most} types below it: the rest has no docs");
            self.findings.add(self.function, message);
        }
        if self.depth == limits::TYPE_DEPTH {
            let message = format!("{path} is nested deeper than {}", limits::TYPE_DEPTH);
            self.findings.add(self.function, message);
        }
        if self.visits > limits::TYPE_VISITS || self.depth >= limits::TYPE_DEPTH {
            return;
        }
        let first_use = self.reported.insert(*id);
        self.say(&definition.docs, Place::Other, path, first_use);
        self.depth += 1;
        self.go_down(&definition.kind, path, first_use);
        self.depth -= 1;
    }

    fn go_down(&mut self, kind: &TypeDefKind, path: &str, first_use: bool) {
        match kind {
            TypeDefKind::Type(inner)
            | TypeDefKind::Option(inner)
            | TypeDefKind::List(inner)
            | TypeDefKind::FixedLengthList(inner, _) => self.describe(inner, path),
            TypeDefKind::Record(record) => self.fields(record, path, first_use),
            TypeDefKind::Variant(variant) => {
                for case in &variant.cases {
                    let path = format!("{path}/{}", case.name);
                    self.say(&case.docs, Place::Other, &path, first_use);
                    self.describe_some(case.ty.as_ref(), &path);
                }
            }
            TypeDefKind::Enum(cases) => {
                for case in &cases.cases {
                    self.say(&case.docs, Place::Other, &format!("{path}/{}", case.name), first_use);
                }
            }
            TypeDefKind::Flags(flags) => {
                for flag in &flags.flags {
                    self.say(&flag.docs, Place::Other, &format!("{path}/{}", flag.name), first_use);
                }
            }
            TypeDefKind::Tuple(tuple) => {
                for (index, ty) in tuple.types.iter().enumerate() {
                    self.describe(ty, &format!("{path}/{index}"));
                }
            }
            TypeDefKind::Result(result) => {
                self.describe_some(result.ok.as_ref(), &format!("{path}/ok"));
                self.describe_some(result.err.as_ref(), &format!("{path}/err"));
            }
            TypeDefKind::Map(key, value) => {
                self.describe(key, &format!("{path}/key"));
                self.describe(value, &format!("{path}/value"));
            }
            // A function that has one of these is no tool.
            TypeDefKind::Resource
            | TypeDefKind::Handle(_)
            | TypeDefKind::Future(_)
            | TypeDefKind::Stream(_)
            | TypeDefKind::Unknown => {}
        }
    }

    fn fields(&mut self, record: &Record, path: &str, first_use: bool) {
        for field in &record.fields {
            let path = format!("{path}/{}", field.name);
            self.say(&field.docs, Place::Field, &path, first_use);
            self.describe(&field.ty, &path);
        }
    }

    fn describe_some(&mut self, ty: Option<&Type>, path: &str) {
        if let Some(ty) = ty {
            self.describe(ty, path);
        }
    }

    /// Keeps docs and schema of an item, where nothing nearer has said something.
    fn say(&mut self, docs: &Docs, place: Place, path: &str, first_use: bool) {
        let Some(docs) = docs.contents.as_deref() else {
            return;
        };
        let mut unseen = Findings::default();
        let findings = if first_use { &mut *self.findings } else { &mut unseen };
        let at = format!("{} {path}", self.function);
        let said = tags::parse_into(docs, place, &at, findings);
        if said.description.is_empty() && said.schema.is_empty() {
            return;
        }
        // One above the limit is kept, so that the review sees and reports that there were more.
        if self.items.len() > limits::ITEMS && !self.items.contains_key(path) {
            return;
        }
        let item = self.items.entry(path.to_owned()).or_default();
        if item.docs.is_empty() {
            item.docs = said.description;
        }
        narrow(&mut item.schema, said.schema);
    }
}

/// Adds the keywords that nothing nearer has set.
fn narrow(nearer: &mut Narrowing, further: Narrowing) {
    for (keyword, value) in further {
        nearer.entry(keyword).or_insert(value);
    }
}
