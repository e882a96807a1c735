//! The shape of `output` in `wit/types.wit`; a test compares the two.
//!
//! Must not read values.

use super::super::shape::{Field, Int, Names, Record, Shape};

/// The shape of `output`.
pub(in super::super) fn output() -> Shape {
    record([("content", list(content()))])
}

fn content() -> Shape {
    variant([
        ("text", record([("text", Shape::String), ("annotations", option(annotations()))])),
        ("image", media()),
        ("audio", media()),
        ("resource-link", resource_link()),
        ("embedded-resource", embedded_resource()),
    ])
}

fn media() -> Shape {
    record([
        ("mime-type", Shape::String),
        ("bytes", Shape::Bytes),
        ("annotations", option(annotations())),
    ])
}

fn resource_link() -> Shape {
    record([
        ("uri", Shape::String),
        ("name", Shape::String),
        ("title", option(Shape::String)),
        ("description", option(Shape::String)),
        ("mime-type", option(Shape::String)),
        ("size", option(Shape::Int(Int::U64))),
        ("annotations", option(annotations())),
    ])
}

fn embedded_resource() -> Shape {
    record([
        ("uri", Shape::String),
        ("mime-type", option(Shape::String)),
        ("contents", variant([("text", Shape::String), ("blob", Shape::Bytes)])),
        ("annotations", option(annotations())),
    ])
}

fn annotations() -> Shape {
    let audience = Names::exact(vec!["user".into(), "assistant".into()]);
    record([
        ("audience", list(Shape::Enum(audience))),
        ("priority", option(Shape::F32)),
        ("last-modified", option(Shape::String)),
    ])
}

fn record<const N: usize>(fields: [(&str, Shape); N]) -> Shape {
    let fields = fields.into_iter().map(|(name, shape)| Field::new(name, shape, None));
    Shape::Record(Record::new(fields.collect()))
}

fn variant<const N: usize>(cases: [(&str, Shape); N]) -> Shape {
    let (names, payloads): (Vec<_>, Vec<_>) =
        cases.into_iter().map(|(name, shape)| (name.to_owned(), Some(shape))).unzip();
    Shape::Variant(Names::exact(names), payloads)
}

fn list(shape: Shape) -> Shape {
    Shape::List(Box::new(shape))
}

fn option(shape: Shape) -> Shape {
    Shape::Option(Box::new(shape))
}
