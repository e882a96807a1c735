//! Checks the types that say which of several things a value is: options, results, variants, enums
//! and flags.
//!
//! Must not check what a case carries; `check` does.

use serde_json::{Map, Value};

use super::check::Checker;
use super::expect::found;
use super::failures::Step;
use super::near::{listed, shown};
use super::shape::{Names, Shape};

impl<'p> Checker<'p> {
    /// A value that isn't null, where one may be absent.
    pub(super) fn some(&mut self, inner: &'p Shape, value: Value) -> Option<Value> {
        if !matches!(inner, Shape::Option(_)) {
            return self.value(inner, value);
        }
        match only(value) {
            Ok((key, value)) if key == "some" => self.case("some", Some(inner), value),
            Ok((_, value)) | Err(value) => {
                self.fail(|| format!("expected null or {{\"some\": …}}, got {}", found(&value)))
            }
        }
    }

    /// An object with one key, whose value is a payload or, where there is none, null.
    fn case(&mut self, name: &'p str, shape: Option<&'p Shape>, value: Value) -> Option<Value> {
        let payload = self.within(Step::Name(name), |this| match (shape, value) {
            (Some(shape), value) => this.value(shape, value),
            (None, Value::Null) => Some(Value::Null),
            (None, value) => this.fail(|| format!("expected null, got {}", found(&value))),
        })?;
        Some(Value::Object(Map::from_iter([(name.to_owned(), payload)])))
    }

    pub(super) fn result(
        &mut self,
        ok: Option<&'p Shape>,
        err: Option<&'p Shape>,
        fields: Map<String, Value>,
    ) -> Option<Value> {
        match only(Value::Object(fields)) {
            Ok((key, value)) if key == "ok" => self.case("ok", ok, value),
            Ok((key, value)) if key == "err" => self.case("err", err, value),
            _ => self.fail(|| "expected an object with one key, `ok` or `err`".into()),
        }
    }

    pub(super) fn variant(
        &mut self,
        names: &'p Names,
        payloads: &'p [Option<Shape>],
        value: Value,
    ) -> Option<Value> {
        let (name, payload) = match value {
            Value::String(name) => (name, None),
            value => match only(value) {
                Ok((name, payload)) => (name, Some(payload)),
                Err(value) => {
                    let valid = listed("", names.list());
                    return self.fail(|| {
                        let got = found(&value);
                        format!("expected a case name or an object with one: {valid}; got {got}")
                    });
                }
            },
        };
        let Some(at) = names.position(&name) else {
            return self.unknown(&name, names);
        };
        match (payloads.get(at).and_then(Option::as_ref), payload) {
            (None, None) => Some(name.into()),
            (Some(shape), Some(payload)) => self.case(names.get(at), Some(shape), payload),
            (Some(_), None) => {
                self.fail(|| format!("case `{name}` has a value: expected {{\"{name}\": …}}"))
            }
            (None, Some(_)) => {
                self.fail(|| format!("case `{name}` has no value: expected the string \"{name}\""))
            }
        }
    }

    pub(super) fn name(&mut self, names: &Names, text: String) -> Option<Value> {
        match names.position(&text) {
            Some(_) => Some(text.into()),
            None => self.unknown(&text, names),
        }
    }

    fn unknown(&mut self, name: &str, names: &Names) -> Option<Value> {
        self.fail(|| {
            format!("{} is none of the valid values: {}", shown(name), listed(name, names.list()))
        })
    }

    /// Flags in declared order, whatever order they came in.
    pub(super) fn flags(&mut self, names: &'p Names, values: Vec<Value>) -> Option<Value> {
        let mut set = vec![false; names.list().len()];
        let mut failed = false;
        for (index, value) in values.into_iter().enumerate() {
            let checked = self.within(Step::Index(index), |this| {
                let Value::String(text) = value else {
                    return this.fail(|| format!("expected a string, got {}", found(&value)));
                };
                let Some(slot) = names.position(&text).and_then(|at| set.get_mut(at)) else {
                    return this.unknown(&text, names);
                };
                if std::mem::replace(slot, true) {
                    return this.fail(|| format!("{} stands there twice", shown(&text)));
                }
                Some(Value::Null)
            });
            failed |= checked.is_none();
        }
        let chosen = names.list().iter().zip(set).filter(|(_, chosen)| *chosen);
        (!failed).then(|| chosen.map(|(name, _)| Value::from(name.as_str())).collect())
    }
}

/// The key and value of an object that has exactly one, else what came.
fn only(value: Value) -> Result<(String, Value), Value> {
    match value {
        Value::Object(fields) if fields.len() == 1 => fields.into_iter().next().ok_or(Value::Null),
        value => Err(value),
    }
}
