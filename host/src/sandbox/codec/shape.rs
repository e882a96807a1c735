//! The types of a function as the codec walks them: a tree without handles into the engine.
//!
//! Must not read component types (`reflect` does) or look at values.

use std::collections::HashMap;

use super::narrow::Narrow;

/// A type that a tool can take or return.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    Bool,
    Int(Int),
    F32,
    F64,
    Char,
    String,
    /// `list<u8>`.
    Bytes,
    List(Box<Shape>),
    Option(Box<Shape>),
    Record(Record),
    Tuple(Vec<Shape>),
    /// The payload at the index of its name.
    Variant(Names, Vec<Option<Shape>>),
    Enum(Names),
    Flags(Names),
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
}

impl Shape {
    /// The type below all options and lists.
    pub(super) fn innermost(&self) -> &Self {
        let mut shape = self;
        while let Self::List(inner) | Self::Option(inner) = shape {
            shape = inner;
        }
        shape
    }

    /// Whether every value is a JSON object, whatever the case.
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Self::Record(_))
    }
}

/// An integer type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Int {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl Int {
    /// The least and the greatest value.
    pub(super) fn range(self) -> (i128, i128) {
        fn of<T: Into<i128>>(least: T, greatest: T) -> (i128, i128) {
            (least.into(), greatest.into())
        }
        match self {
            Self::U8 => of(u8::MIN, u8::MAX),
            Self::S8 => of(i8::MIN, i8::MAX),
            Self::U16 => of(u16::MIN, u16::MAX),
            Self::S16 => of(i16::MIN, i16::MAX),
            Self::U32 => of(u32::MIN, u32::MAX),
            Self::S32 => of(i32::MIN, i32::MAX),
            Self::U64 => of(u64::MIN, u64::MAX),
            Self::S64 => of(i64::MIN, i64::MAX),
        }
    }

    /// Whether it holds values that a double can't.
    pub(super) fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::S64)
    }
}

/// Names with their positions. A lookup costs the same whatever their number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    list: Vec<String>,
    positions: HashMap<String, usize>,
}

impl Names {
    /// Names that are written one way only.
    pub(super) fn exact(list: Vec<String>) -> Self {
        let positions = list.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect();
        Self { list, positions }
    }

    /// Field names: snake_case in schemas, found by their kebab-case too.
    fn fields(fields: &[Field]) -> Self {
        let mut names = Self::exact(fields.iter().map(|field| field.json.clone()).collect());
        for (at, field) in fields.iter().enumerate() {
            names.positions.insert(field.wit.clone(), at);
        }
        names
    }

    /// Where `name` stands.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The names in declared order.
    pub(super) fn list(&self) -> &[String] {
        &self.list
    }

    /// The name at a position.
    pub(super) fn get(&self, at: usize) -> &str {
        self.list.get(at).map_or("", String::as_str)
    }
}

/// A record, or the parameters of a function, which are called the same way.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    pub(super) names: Names,
    pub(super) fields: Vec<Field>,
}

impl Record {
    pub(super) fn new(fields: Vec<Field>) -> Self {
        Self { names: Names::fields(&fields), fields }
    }
}

/// A field or parameter.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    /// The name in the component, kebab-case.
    pub(super) wit: String,
    /// The name in JSON, snake_case.
    pub(super) json: String,
    pub(super) shape: Shape,
    /// What the author's `@schema` adds.
    pub(super) narrow: Option<Narrow>,
}

impl Field {
    pub(super) fn new(wit: &str, shape: Shape, narrow: Option<Narrow>) -> Self {
        Self { wit: wit.to_owned(), json: wit.replace('-', "_"), shape, narrow }
    }

    /// Whether a value must be there.
    pub(super) fn is_required(&self) -> bool {
        !matches!(self.shape, Shape::Option(_))
    }
}
