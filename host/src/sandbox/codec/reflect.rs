//! Reads the types of a component's function by wasmtime's reflection.
//!
//! Types are facts, and hostile ones: nesting, size and kinds are bounded here, before anything else
//! sees them. Must not write schemas or look at values.

use wasmtime::component::types::{self, Type};

use super::limits::{DEPTH, NODES};
use super::narrow::Narrow;
use super::plan::PlanError;
use super::shape::{Field, Int, Names, Record, Shape};
use super::words::Words;

/// Builds shapes for one function and counts what they cost.
pub(super) struct Reflection<'a> {
    words: &'a Words,
    path: String,
    depth: usize,
    nodes: usize,
    /// Whether `@schema` counts: what a tool returns is not checked, so it isn't narrowed either.
    narrows: bool,
    /// What the author said that doesn't fit the types.
    pub(super) findings: Vec<String>,
}

impl<'a> Reflection<'a> {
    pub(super) fn new(words: &'a Words) -> Self {
        let (path, findings) = (String::new(), Vec::new());
        Self { words, path, depth: 0, nodes: 0, narrows: false, findings }
    }

    /// The parameters of `ty`.
    pub(super) fn parameters(&mut self, ty: &types::ComponentFunc) -> Result<Record, PlanError> {
        self.narrows = true;
        let fields = ty
            .params()
            .map(|(name, ty)| self.within(&format!("param/{name}"), |this| this.field(name, &ty)));
        Ok(Record::new(fields.collect::<Result<_, _>>()?))
    }

    /// A type below `result`, at `segment` if it isn't the result itself.
    pub(super) fn returned(&mut self, segment: &str, ty: &Type) -> Result<Shape, PlanError> {
        self.narrows = false;
        self.within(segment, |this| this.shape(ty))
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

    fn count(&mut self, nodes: usize) -> Result<(), PlanError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > NODES { Err(PlanError::Nodes { most: NODES }) } else { Ok(()) }
    }

    fn field(&mut self, name: &str, ty: &Type) -> Result<Field, PlanError> {
        let shape = self.shape(ty)?;
        let mut narrow = None;
        if let Some(keywords) = self.words.narrowing(&self.path).filter(|_| self.narrows) {
            let (found, findings) = Narrow::new(&shape, keywords);
            narrow = found;
            self.findings
                .extend(findings.into_iter().map(|text| format!("`{}`: {text}", self.path)));
        }
        Ok(Field::new(name, shape, narrow))
    }

    fn shape(&mut self, ty: &Type) -> Result<Shape, PlanError> {
        self.count(1)?;
        if self.depth >= DEPTH {
            return Err(PlanError::Depth { path: self.path.clone(), most: DEPTH });
        }
        self.depth += 1;
        let shape = self.shape_within(ty);
        self.depth -= 1;
        shape
    }

    fn shape_within(&mut self, ty: &Type) -> Result<Shape, PlanError> {
        Ok(match ty {
            Type::Bool => Shape::Bool,
            Type::U8 => Shape::Int(Int::U8),
            Type::S8 => Shape::Int(Int::S8),
            Type::U16 => Shape::Int(Int::U16),
            Type::S16 => Shape::Int(Int::S16),
            Type::U32 => Shape::Int(Int::U32),
            Type::S32 => Shape::Int(Int::S32),
            Type::U64 => Shape::Int(Int::U64),
            Type::S64 => Shape::Int(Int::S64),
            Type::Float32 => Shape::F32,
            Type::Float64 => Shape::F64,
            Type::Char => Shape::Char,
            Type::String => Shape::String,
            Type::List(list) if list.ty() == Type::U8 => Shape::Bytes,
            Type::List(list) => Shape::List(Box::new(self.shape(&list.ty())?)),
            Type::Option(option) => Shape::Option(Box::new(self.shape(&option.ty())?)),
            Type::Record(record) => self.record(record)?,
            Type::Tuple(tuple) => self.tuple(tuple)?,
            Type::Variant(variant) => self.variant(variant)?,
            Type::Enum(names) => Shape::Enum(self.names(names.names())?),
            Type::Flags(names) => Shape::Flags(self.names(names.names())?),
            Type::Result(result) => Shape::Result(
                self.case("ok", result.ok())?.map(Box::new),
                self.case("err", result.err())?.map(Box::new),
            ),
            Type::Own(_) | Type::Borrow(_) => return Err(self.unsupported("a resource")),
            Type::Stream(_) => return Err(self.unsupported("a stream")),
            Type::Future(_) => return Err(self.unsupported("a future")),
            Type::ErrorContext => return Err(self.unsupported("an error-context")),
            Type::Map(_) => return Err(self.unsupported("a map")),
            Type::FixedLengthList(_) => return Err(self.unsupported("a list of fixed length")),
        })
    }

    fn unsupported(&self, what: &'static str) -> PlanError {
        PlanError::Unsupported { path: self.path.clone(), what }
    }

    fn record(&mut self, record: &types::Record) -> Result<Shape, PlanError> {
        let fields = record
            .fields()
            .map(|field| self.within(field.name, |this| this.field(field.name, &field.ty)));
        Ok(Shape::Record(Record::new(fields.collect::<Result<_, _>>()?)))
    }

    fn tuple(&mut self, tuple: &types::Tuple) -> Result<Shape, PlanError> {
        let elements = tuple.types().enumerate();
        let shapes = elements.map(|(at, ty)| self.within(&at.to_string(), |this| this.shape(&ty)));
        Ok(Shape::Tuple(shapes.collect::<Result<_, _>>()?))
    }

    fn variant(&mut self, variant: &types::Variant) -> Result<Shape, PlanError> {
        let names = self.names(variant.cases().map(|case| case.name))?;
        let payloads = variant.cases().map(|case| self.case(case.name, case.ty));
        Ok(Shape::Variant(names, payloads.collect::<Result<_, _>>()?))
    }

    fn case(&mut self, name: &str, ty: Option<Type>) -> Result<Option<Shape>, PlanError> {
        ty.map(|ty| self.within(name, |this| this.shape(&ty))).transpose()
    }

    fn names<'n>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'n str>,
    ) -> Result<Names, PlanError> {
        self.count(names.len())?;
        Ok(Names::exact(names.map(str::to_owned).collect()))
    }
}
