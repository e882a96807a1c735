//! Writes JSON Schema 2020-12 for what a function takes and returns.
//!
//! Types decide; words only describe and narrow. Must not look at values.

use serde_json::{Map, Value, json};

use super::limits::SCHEMA_BYTES;
use super::number::{EXACT, whole};
use super::plan::PlanError;
use super::shape::{Field, Int, Names, Record, Shape};
use super::words::Words;

/// Which way values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// What a tool takes.
    Input,
    /// What it returns.
    Output,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// Writes one schema and stops once it is too long.
pub(super) struct Writer<'a> {
    words: &'a Words,
    direction: Direction,
    path: String,
    /// A lower bound of what was written so far, in bytes.
    written: usize,
}

impl<'a> Writer<'a> {
    /// The schema of a function's arguments; `path` is that of the record whose fields they are.
    pub(super) fn input(words: &'a Words, path: &str, record: &Record) -> Result<Value, PlanError> {
        let direction = Direction::Input;
        let mut writer = Self { words, direction, path: path.to_owned(), written: 0 };
        let schema = writer.record(record)?;
        writer.finish(schema)
    }

    /// The schema of what a function returns at `path`; `None` is the unit type. What isn't an
    /// object is wrapped under `result`.
    pub(super) fn output(
        words: &'a Words,
        path: &str,
        shape: Option<&Shape>,
    ) -> Result<Value, PlanError> {
        let direction = Direction::Output;
        let mut writer = Self { words, direction, path: path.to_owned(), written: 0 };
        let schema = writer.optional(shape)?;
        writer.finish(if shape.is_some_and(Shape::is_object) {
            schema
        } else {
            closed(one("result", schema), vec!["result".into()])
        })
    }

    fn finish(&self, schema: Value) -> Result<Value, PlanError> {
        let bytes = schema.to_string().len();
        if bytes > SCHEMA_BYTES { Err(self.too_long()) } else { Ok(schema) }
    }

    fn too_long(&self) -> PlanError {
        PlanError::Schema { which: self.direction.name(), most: SCHEMA_BYTES }
    }

    fn write(&mut self, bytes: usize) -> Result<(), PlanError> {
        self.written = self.written.saturating_add(bytes);
        if self.written > SCHEMA_BYTES { Err(self.too_long()) } else { Ok(()) }
    }

    fn within<R>(&mut self, segment: &str, step: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.path.len();
        if before > 0 {
            self.path.push('/');
        }
        self.path.push_str(segment);
        let result = step(self);
        self.path.truncate(before);
        result
    }

    fn optional(&mut self, shape: Option<&Shape>) -> Result<Value, PlanError> {
        match shape {
            Some(shape) => self.described(shape),
            None => Ok(json!({"type": "null"})),
        }
    }

    /// The schema of what stands at the present path, with its description.
    fn described(&mut self, shape: &Shape) -> Result<Value, PlanError> {
        let schema = self.bare(shape)?;
        self.describe(schema, &self.description(shape))
    }

    fn describe(&mut self, mut schema: Value, text: &str) -> Result<Value, PlanError> {
        self.write(text.len())?;
        if let Some(object) = schema.as_object_mut().filter(|_| !text.is_empty()) {
            object.shift_insert(object.len().min(1), "description".into(), text.into());
        }
        Ok(schema)
    }

    /// What is said here, and of each name of an enum or flags type, which have no place of their
    /// own in a schema.
    fn description(&self, shape: &Shape) -> String {
        let mut text = self.words.description(&self.path).unwrap_or_default().to_owned();
        if let Shape::Enum(names) | Shape::Flags(names) = shape.innermost() {
            for name in names.list() {
                if let Some(said) = self.words.description(&format!("{}/{name}", self.path)) {
                    let line_break = if text.is_empty() { "" } else { "\n" };
                    text.push_str(&format!("{line_break}`{name}`: {said}"));
                }
            }
        }
        text
    }

    fn bare(&mut self, shape: &Shape) -> Result<Value, PlanError> {
        self.write(16)?;
        let output = self.direction == Direction::Output;
        Ok(match shape {
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Int(kind) => integer(*kind, self.direction),
            Shape::F32 | Shape::F64 if output => json!({"type": ["number", "null"]}),
            Shape::F32 | Shape::F64 => json!({"type": "number"}),
            Shape::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            Shape::String => json!({"type": "string"}),
            Shape::Bytes if output => json!({"type": "string", "format": "uri"}),
            Shape::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
            Shape::List(inner) => json!({"type": "array", "items": self.bare(inner)?}),
            Shape::Option(inner) => nullable(match **inner {
                Shape::Option(_) => closed(one("some", self.bare(inner)?), vec!["some".into()]),
                _ => self.bare(inner)?,
            }),
            Shape::Record(record) => self.record(record)?,
            Shape::Tuple(elements) => self.tuple(elements)?,
            Shape::Variant(names, payloads) => self.variant(names, payloads)?,
            Shape::Enum(names) => json!({"type": "string", "enum": self.names(names)?}),
            Shape::Flags(names) => {
                let items = json!({"type": "string", "enum": self.names(names)?});
                json!({"type": "array", "items": items, "uniqueItems": true})
            }
            Shape::Result(ok, err) => {
                let ok = self.case("ok", ok.as_deref())?;
                json!({"oneOf": [ok, self.case("err", err.as_deref())?]})
            }
        })
    }

    fn names(&mut self, names: &Names) -> Result<Value, PlanError> {
        self.write(names.list().iter().map(String::len).sum())?;
        Ok(json!(names.list()))
    }

    fn record(&mut self, record: &Record) -> Result<Value, PlanError> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &record.fields {
            self.write(field.json.len())?;
            let schema = self.within(&field.wit, |this| this.field(field))?;
            properties.insert(field.json.clone(), schema);
            if field.is_required() {
                required.push(field.json.as_str().into());
            }
        }
        Ok(closed(properties, required))
    }

    fn field(&mut self, field: &Field) -> Result<Value, PlanError> {
        let mut schema = self.described(&field.shape)?;
        if let (Some(narrow), Some(object)) = (&field.narrow, schema.as_object_mut()) {
            narrow.tighten(object);
        }
        Ok(schema)
    }

    fn tuple(&mut self, elements: &[Shape]) -> Result<Value, PlanError> {
        let schemas = elements
            .iter()
            .enumerate()
            .map(|(at, shape)| self.within(&at.to_string(), |this| this.described(shape)))
            .collect::<Result<Vec<_>, _>>()?;
        let length = schemas.len();
        Ok(json!({
            "type": "array",
            "prefixItems": schemas,
            "items": false,
            "minItems": length,
            "maxItems": length,
        }))
    }

    fn variant(&mut self, names: &Names, payloads: &[Option<Shape>]) -> Result<Value, PlanError> {
        let cases = names.list().iter().zip(payloads).map(|(name, payload)| match payload {
            Some(shape) => self.case(name, Some(shape)),
            None => self.within(name, |this| {
                this.write(name.len())?;
                let text = this.words.description(&this.path).unwrap_or_default();
                this.describe(json!({"type": "string", "const": name}), text)
            }),
        });
        Ok(json!({"oneOf": cases.collect::<Result<Vec<_>, _>>()?}))
    }

    /// An object whose one key is the case.
    fn case(&mut self, name: &str, shape: Option<&Shape>) -> Result<Value, PlanError> {
        self.write(name.len())?;
        let payload = self.within(name, |this| this.optional(shape))?;
        Ok(closed(one(name, payload), vec![name.into()]))
    }
}

fn integer(kind: Int, direction: Direction) -> Value {
    let (least, greatest) = kind.range();
    if kind.is_wide() && direction == Direction::Output {
        let (least, greatest) = (least.max(-EXACT), greatest.min(EXACT));
        let ty = ["integer", "string"];
        return json!({"type": ty, "minimum": whole(least), "maximum": whole(greatest)});
    }
    json!({"type": "integer", "minimum": whole(least), "maximum": whole(greatest)})
}

fn one(name: &str, schema: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), schema)])
}

fn closed(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema.into()
}

/// `schema` or null: in `type` and `enum` where that says all, else as `anyOf`.
fn nullable(mut schema: Value) -> Value {
    let Some(object) = schema.as_object_mut() else { return schema };
    match object.get_mut("type") {
        Some(Value::Array(types)) => {
            if !types.contains(&"null".into()) {
                types.push("null".into());
            }
        }
        Some(Value::String(name)) if name != "object" => {
            let both = json!([name, "null"]);
            object.insert("type".into(), both);
        }
        _ => return json!({"anyOf": [schema, {"type": "null"}]}),
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.push(Value::Null);
    }
    schema
}
