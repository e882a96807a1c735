//! Checks arguments against a type and rewrites them to the form that gate, audit and tool see.
//!
//! Every failure is found and named by where it is; nothing is guessed, and nothing repaired but what
//! `decode` says. Must not make component values: `to_val` does, and relies on what is checked here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::contract::arguments::ArgumentFailure;

use super::decode;
use super::expect::{expected, found, takes_json};
use super::failures::{Failures, Step};
use super::limits::DYNAMIC_BYTES;
use super::near::{listed, shown};
use super::number;
use super::shape::{Field, Record, Shape};

/// Walks one set of arguments.
pub(super) struct Checker<'p> {
    path: Vec<Step<'p>>,
    failures: Failures,
    bytes: usize,
    /// Whether byte lists become dynamic values, which are dear.
    dynamic: bool,
    /// Whether an array or object that came as its own text is read.
    decodes: bool,
}

impl<'p> Checker<'p> {
    /// Checks the arguments of one function.
    ///
    /// # Errors
    /// Every failure, up to a bound; the last one counts those beyond it.
    pub(super) fn check(
        record: &'p Record,
        arguments: Map<String, Value>,
        dynamic: bool,
    ) -> Result<Map<String, Value>, Vec<ArgumentFailure>> {
        let mut checker = Self { decodes: true, ..Self::new(dynamic) };
        let checked = checker.record(record, arguments);
        checker.failures.finish()?;
        Ok(checked)
    }

    /// Checks one value on its own.
    pub(super) fn check_alone(shape: &'p Shape, value: Value) -> Option<Value> {
        let mut checker = Self::new(true);
        checker.value(shape, value).filter(|_| checker.failures.finish().is_ok())
    }

    fn new(dynamic: bool) -> Self {
        Self { path: Vec::new(), failures: Failures::default(), bytes: 0, dynamic, decodes: false }
    }

    pub(super) fn fail(&mut self, message: impl FnOnce() -> String) -> Option<Value> {
        self.failures.add(&self.path, message);
        None
    }

    pub(super) fn within<R>(&mut self, step: Step<'p>, walk: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(step);
        let result = walk(self);
        self.path.pop();
        result
    }

    /// Rewrites a value of this type; `None` where it failed, and that is noted.
    pub(super) fn value(&mut self, shape: &'p Shape, value: Value) -> Option<Value> {
        match value {
            Value::String(text) if self.decodes && decode::may_be_text_of(shape, &text) => {
                self.decoded(shape, &text)
            }
            value => self.as_given(shape, value),
        }
    }

    /// Reads a text once: in what it holds, texts stay texts.
    fn decoded(&mut self, shape: &'p Shape, text: &str) -> Option<Value> {
        let mut inner = Self { bytes: self.bytes, ..Self::new(self.dynamic) };
        let checked = decode::read(text).and_then(|value| {
            let checked = inner.value(shape, value);
            let failures = std::mem::take(&mut inner.failures);
            failures.finish().map_err(|failures| decode::refusal(&failures))?;
            Ok(checked)
        });
        self.bytes = inner.bytes;
        checked.unwrap_or_else(|why| {
            self.fail(|| format!("expected {}, got a string; read as JSON, {why}", expected(shape)))
        })
    }

    fn as_given(&mut self, shape: &'p Shape, value: Value) -> Option<Value> {
        match (shape, value) {
            (Shape::Bool, value @ Value::Bool(_)) => Some(value),
            (Shape::Int(kind), value) => match number::integer(*kind, &value) {
                Ok(value) => Some(value),
                Err(expected) => self.fail(|| format!("{expected}, got {}", found(&value))),
            },
            (Shape::F32, value) => self.number(number::read_single(&value), &value),
            (Shape::F64, value) => self.number(number::read_double(&value), &value),
            (Shape::Char, Value::String(text)) if text.chars().count() == 1 => Some(text.into()),
            (Shape::String, value @ Value::String(_)) => Some(value),
            (Shape::Bytes, Value::String(text)) => self.bytes(text),
            (Shape::List(inner), Value::Array(values)) => self.list(inner, values),
            (Shape::Option(_), Value::Null) => Some(Value::Null),
            (Shape::Option(inner), value) => self.some(inner, value),
            (Shape::Record(record), Value::Object(fields)) => {
                Some(Value::Object(self.record(record, fields)))
            }
            (Shape::Tuple(shapes), Value::Array(values)) if shapes.len() == values.len() => {
                self.tuple(shapes, values)
            }
            (Shape::Variant(names, payloads), value) => self.variant(names, payloads, value),
            (Shape::Enum(names), Value::String(text)) => self.name(names, text),
            (Shape::Flags(names), Value::Array(values)) => self.flags(names, values),
            (Shape::Result(ok, err), Value::Object(fields)) => {
                self.result(ok.as_deref(), err.as_deref(), fields)
            }
            (shape, value) => self.wrong(shape, &value),
        }
    }

    fn wrong(&mut self, shape: &Shape, value: &Value) -> Option<Value> {
        let looks_like_json = |text: &str| text.trim_start().starts_with(['{', '[']);
        let hint = match value {
            Value::String(text) if takes_json(shape) && looks_like_json(text) => {
                " that holds JSON: pass the value itself, not its text"
            }
            _ => "",
        };
        self.fail(|| format!("expected {}, got {}{hint}", expected(shape), found(value)))
    }

    fn number(&mut self, read: Option<Value>, value: &Value) -> Option<Value> {
        read.or_else(|| self.fail(|| format!("expected a finite number, got {}", found(value))))
    }

    fn bytes(&mut self, text: String) -> Option<Value> {
        let Ok(bytes) = STANDARD.decode(&text) else {
            return self.fail(|| {
                "expected base64 in the standard alphabet, padded with `=`, got other text".into()
            });
        };
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.dynamic && self.bytes > DYNAMIC_BYTES {
            return self.fail(|| {
                format!("expected at most {DYNAMIC_BYTES} bytes in all byte lists of this tool")
            });
        }
        Some(text.into())
    }

    fn list(&mut self, inner: &'p Shape, values: Vec<Value>) -> Option<Value> {
        let values = values.into_iter().enumerate();
        let checked: Vec<Option<Value>> = values
            .map(|(at, value)| self.within(Step::Index(at), |this| this.value(inner, value)))
            .collect();
        checked.into_iter().collect()
    }

    fn tuple(&mut self, shapes: &'p [Shape], values: Vec<Value>) -> Option<Value> {
        let pairs = shapes.iter().zip(values).enumerate();
        let checked: Vec<Option<Value>> = pairs
            .map(|(at, (shape, value))| {
                self.within(Step::Index(at), |this| this.value(shape, value))
            })
            .collect();
        checked.into_iter().collect()
    }

    /// A record's fields in declared order, without those that are none.
    ///
    /// What failed is left out too; the caller has to look whether anything did.
    fn record(&mut self, record: &'p Record, fields: Map<String, Value>) -> Map<String, Value> {
        let mut declared = record.fields.iter();
        // Mostly names come as they are declared; then nothing has to be built anew.
        if fields.keys().all(|name| declared.any(|field| field.json == *name)) {
            return self.in_place(record, fields);
        }
        let mut given: Vec<Option<Value>> = record.fields.iter().map(|_| None).collect();
        for (name, value) in fields {
            let slot = record.names.position(&name).and_then(|at| given.get_mut(at));
            match slot {
                Some(slot) if slot.is_none() => *slot = Some(value),
                Some(_) => {
                    let json = name.replace('-', "_");
                    self.fail(|| format!("`{json}` is given twice, in two spellings"));
                }
                None => self.unknown_field(&name, record),
            }
        }
        let mut checked = Map::new();
        for (field, value) in record.fields.iter().zip(given) {
            let value = self.within(Step::Name(&field.json), |this| this.field(field, value));
            checked.extend(value.map(|value| (field.json.clone(), value)));
        }
        checked
    }

    /// The same, of fields by the names and in the order that are declared.
    fn in_place(
        &mut self,
        record: &'p Record,
        mut fields: Map<String, Value>,
    ) -> Map<String, Value> {
        let mut some_went = false;
        let mut given = fields.iter_mut().peekable();
        for field in &record.fields {
            let slot = given.next_if(|(name, _)| **name == field.json).map(|(_, slot)| slot);
            let (value, slot) = match slot {
                Some(slot) => (Some(std::mem::take(slot)), Some(slot)),
                None => (None, None),
            };
            let value = self.within(Step::Name(&field.json), |this| this.field(field, value));
            if let Some(slot) = slot {
                some_went |= value.is_none();
                *slot = value.unwrap_or_default();
            }
        }
        drop(given);
        if some_went {
            // What went left null behind, and no field that stays is null.
            fields.retain(|_, value| !value.is_null());
        }
        fields
    }

    fn unknown_field(&mut self, name: &str, record: &Record) {
        self.fail(|| match record.names.list() {
            [] => format!("unknown name {}: the tool takes no arguments", shown(name)),
            valid => {
                format!("unknown name {}, expected one of {}", shown(name), listed(name, valid))
            }
        });
    }

    fn field(&mut self, field: &'p Field, value: Option<Value>) -> Option<Value> {
        let Some(value) = value else {
            if field.is_required() {
                self.fail(|| format!("missing, expected {}", expected(&field.shape)));
            }
            return None;
        };
        let value = self.value(&field.shape, value).filter(|value| {
            // None is absent, and only the schema's own none is ever null here.
            !(value.is_null() && matches!(field.shape, Shape::Option(_)))
        })?;
        if let Some(narrow) = &field.narrow {
            for (below, message) in narrow.check(&value) {
                self.within(Step::Below(below), |this| this.fail(|| message));
            }
        }
        Some(value)
    }
}
