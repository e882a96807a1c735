//! Random types with random values: what a check lets through converts, and comes back the same.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::check::Checker;
use super::super::from_val::Collector;
use super::super::number::whole;
use super::super::shape::{Field, Int, Names, Record, Shape};
use super::super::to_val;
use super::{call_id, object};

const NAMES: [&str; 4] = ["a", "b-c", "some", "X-y2"];

fn names(count: usize) -> Vec<String> {
    NAMES.iter().take(count).map(|name| (*name).to_owned()).collect()
}

fn leaf() -> impl Strategy<Value = Shape> {
    let kinds = [Int::U8, Int::S8, Int::U16, Int::S16, Int::U32, Int::S32, Int::U64, Int::S64];
    prop_oneof![
        Just(()).prop_map(|()| Shape::Bool),
        proptest::sample::select(kinds.to_vec()).prop_map(Shape::Int),
        Just(()).prop_map(|()| Shape::F32),
        Just(()).prop_map(|()| Shape::F64),
        Just(()).prop_map(|()| Shape::Char),
        Just(()).prop_map(|()| Shape::String),
        Just(()).prop_map(|()| Shape::Bytes),
        (1..=4_usize).prop_map(|count| Shape::Enum(Names::exact(names(count)))),
        (1..=4_usize).prop_map(|count| Shape::Flags(Names::exact(names(count)))),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let some = || inner.clone().prop_map(Box::new);
        let several = || proptest::collection::vec(inner.clone(), 1..=4);
        let payloads = proptest::collection::vec(proptest::option::of(inner.clone()), 1..=4);
        prop_oneof![
            some().prop_map(Shape::List),
            some().prop_map(Shape::Option),
            several().prop_map(|shapes| Shape::Record(record(shapes))),
            several().prop_map(Shape::Tuple),
            payloads.prop_map(|payloads| {
                Shape::Variant(Names::exact(names(payloads.len())), payloads)
            }),
            (proptest::option::of(some()), proptest::option::of(some()))
                .prop_map(|(ok, err)| Shape::Result(ok, err)),
        ]
    })
}

fn record(shapes: Vec<Shape>) -> Record {
    let fields = names(4).into_iter().zip(shapes);
    Record::new(fields.map(|(name, shape)| Field::new(&name, shape, None)).collect())
}

/// A value of this type, in any of the forms that are taken.
fn value(shape: &Shape) -> BoxedStrategy<Value> {
    match shape {
        Shape::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Int(kind) => integer(*kind),
        Shape::F32 => any::<f32>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| json!(f64::from(number)))
            .boxed(),
        Shape::F64 => any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| json!(number))
            .boxed(),
        Shape::Char => any::<char>().prop_map(|c| Value::from(c.to_string())).boxed(),
        Shape::String => any::<String>().prop_map(Value::from).boxed(),
        Shape::Bytes => any::<Vec<u8>>().prop_map(|bytes| STANDARD.encode(bytes).into()).boxed(),
        Shape::List(inner) => list(proptest::collection::vec(value(inner), 0..4)),
        Shape::Option(inner) => {
            let nested = matches!(**inner, Shape::Option(_));
            let some = value(inner).prop_map(move |value| match nested {
                true => json!({"some": value}),
                false => value,
            });
            prop_oneof![1 => Just(Value::Null), 3 => some].boxed()
        }
        Shape::Record(record) => fields(record),
        Shape::Tuple(shapes) => list(shapes.iter().map(value).collect::<Vec<_>>()),
        Shape::Variant(names, payloads) => {
            let cases = names.list().iter().zip(payloads).map(|(name, payload)| {
                let name = name.clone();
                match payload {
                    None => Just(Value::from(name)).boxed(),
                    Some(shape) => one(name, value(shape)),
                }
            });
            proptest::strategy::Union::new(cases).boxed()
        }
        Shape::Enum(names) => {
            proptest::sample::select(names.list().to_vec()).prop_map(Value::from).boxed()
        }
        Shape::Flags(names) => {
            let all = names.list().to_vec();
            let count = 0..=all.len();
            proptest::sample::subsequence(all, count).prop_shuffle().prop_map(Value::from).boxed()
        }
        Shape::Result(ok, err) => {
            let payload = |shape: &Option<Box<Shape>>| match shape {
                Some(shape) => value(shape),
                None => Just(Value::Null).boxed(),
            };
            let (ok, err) = (one("ok".into(), payload(ok)), one("err".into(), payload(err)));
            prop_oneof![ok, err].boxed()
        }
    }
}

fn integer(kind: Int) -> BoxedStrategy<Value> {
    let (least, greatest) = kind.range();
    let numbers = prop_oneof![Just(least), Just(greatest), least..=greatest];
    (numbers, 0..3_u8)
        .prop_map(move |(number, form)| match form {
            0 if kind.is_wide() => json!(number.to_string()),
            1 if number.unsigned_abs() < 1 << 53 => json!(number as f64),
            _ => Value::Number(whole(number).unwrap()),
        })
        .boxed()
}

fn list<S: Strategy<Value = Vec<Value>> + 'static>(values: S) -> BoxedStrategy<Value> {
    values.prop_map(Value::Array).boxed()
}

fn one(name: String, payload: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    payload.prop_map(move |payload| json!({name.clone(): payload})).boxed()
}

fn fields(record: &Record) -> BoxedStrategy<Value> {
    let names: Vec<_> = record
        .fields
        .iter()
        .map(|field| (field.wit.clone(), field.json.clone(), field.is_required()))
        .collect();
    let values: Vec<_> = record.fields.iter().map(|field| value(&field.shape)).collect();
    let forms = proptest::collection::vec(0..4_u8, names.len());
    (values, forms)
        .prop_map(move |(values, forms)| {
            let mut fields = Map::new();
            for (((wit, json, required), value), form) in names.iter().zip(values).zip(forms) {
                match form {
                    0 if !required => {}
                    1 => drop(fields.insert(wit.clone(), value)),
                    _ => drop(fields.insert(json.clone(), value)),
                }
            }
            Value::Object(fields)
        })
        .boxed()
}

fn shape_with_value() -> impl Strategy<Value = (Arc<Shape>, Value)> {
    shape().prop_flat_map(|shape| {
        let record = Arc::new(Shape::Record(record(vec![shape])));
        let arguments = value(&record);
        (Just(record), arguments)
    })
}

/// Puts the bytes back where an attachment's address stands.
fn inlined(value: Value, bytes: &HashMap<String, String>) -> Value {
    match value {
        Value::String(text) => bytes.get(&text).cloned().unwrap_or(text).into(),
        Value::Array(values) => values.into_iter().map(|value| inlined(value, bytes)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, inlined(value, bytes))).collect()
        }
        other => other,
    }
}

/// The same value with the names of each object the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(reversed).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().rev().map(|(name, value)| (name.clone(), reversed(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn what_passes_converts_and_comes_back((record, arguments) in shape_with_value()) {
        let Shape::Record(fields) = &*record else { panic!("{record:?}") };
        let checked = Checker::check(fields, object(arguments), true)
            .map_err(|failures| TestCaseError::fail(format!("{failures:?}")))?;
        let given = to_val::named(fields, &checked).unwrap();
        let id = call_id();
        let mut collector = Collector::new(&id);
        let back = collector.value(&record, given).unwrap();
        let attachments = collector.attachments.into_iter();
        let bytes = attachments.map(|it| (it.uri, STANDARD.encode(it.bytes))).collect();
        // What comes back is taken again, and is then the very same.
        let again = Checker::check(fields, object(inlined(back, &bytes)), true).unwrap();
        let (again, checked) = (Value::Object(again), Value::Object(checked));
        prop_assert_eq!(again.to_string(), checked.to_string());
    }

    #[test]
    fn whatever_comes_is_refused_or_converts(
        shape in shape(),
        donor in shape_with_value(),
    ) {
        let record = record(vec![shape]);
        if let Ok(checked) = Checker::check(&record, object(donor.1), true) {
            prop_assert!(to_val::named(&record, &checked).is_ok());
            // A checked value passes as it is.
            let again = Checker::check(&record, checked.clone(), true);
            prop_assert_eq!(again, Ok(checked));
        }
    }

    #[test]
    fn the_order_of_names_changes_nothing(
        fit in shape_with_value(),
        shape in shape(),
    ) {
        let Shape::Record(fits) = &*fit.0 else { panic!("{:?}", fit.0) };
        let turned = reversed(&fit.1);
        // Of a type that it fits, and of another that it mostly doesn't.
        for record in [fits, &record(vec![shape])] {
            let checked = |value: &Value| match Checker::check(record, object(value.clone()), true) {
                Ok(checked) => Ok(Value::Object(checked).to_string()),
                // Unknown names come in the order in which they were given.
                Err(failures) => {
                    let mut told: Vec<_> = failures.iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
                    told.sort();
                    Err(told)
                }
            };
            prop_assert_eq!(checked(&fit.1), checked(&turned));
        }
    }
}
