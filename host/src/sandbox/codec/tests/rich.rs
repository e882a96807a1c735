//! Rich output: that its shape is the one in `wit/types.wit`, and what becomes of each item.

use std::collections::HashMap;

use serde_json::json;

use super::super::rich::output_shape;
use super::super::shape::{Field, Int, Names, Record, Shape};
use super::*;
use crate::contract::result::AttachmentKind;

const TYPES_WIT: &str = include_str!("../../../../../wit/types.wit");

type Member = (String, String);
type Declared = HashMap<String, (String, Vec<Member>)>;

/// Reads the few forms of WIT that `types.wit` uses: a keyword, a name, and members in braces.
fn declared() -> Declared {
    let mut declared = HashMap::new();
    let mut open: Option<(String, String, Vec<Member>)> = None;
    for line in TYPES_WIT.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &mut open) {
            ([kind @ ("record" | "variant" | "enum"), name, "{"], _) => {
                open = Some(((*kind).to_owned(), (*name).to_owned(), Vec::new()));
            }
            (["}"], Some(_)) => {
                let (kind, name, members) = open.take().unwrap();
                declared.insert(name, (kind, members));
            }
            (_, Some((_, _, members))) if !line.is_empty() => {
                let member = line.trim_end_matches(',');
                let (name, ty) = member.split_once([':', '(']).unwrap_or((member, ""));
                let ty = ty.trim().trim_end_matches(')');
                members.push((name.to_owned(), ty.to_owned()));
            }
            _ => {}
        }
    }
    declared
}

fn shape_of(ty: &str, declared: &Declared) -> Shape {
    let inner = |prefix: &str| ty.strip_prefix(prefix)?.strip_suffix('>');
    if let Some(inner) = inner("option<") {
        return Shape::Option(Box::new(shape_of(inner, declared)));
    }
    match (ty, inner("list<")) {
        (_, Some("u8")) => return Shape::Bytes,
        (_, Some(inner)) => return Shape::List(Box::new(shape_of(inner, declared))),
        ("string", _) => return Shape::String,
        ("u64", _) => return Shape::Int(Int::U64),
        ("f32", _) => return Shape::F32,
        _ => {}
    }
    let (kind, members) = declared.get(ty).unwrap_or_else(|| panic!("`{ty}` is not declared"));
    let names = || Names::exact(members.iter().map(|(name, _)| name.clone()).collect());
    let shapes = || members.iter().map(|(_, ty)| shape_of(ty, declared));
    match kind.as_str() {
        "enum" => Shape::Enum(names()),
        "variant" => Shape::Variant(names(), shapes().map(Some).collect()),
        _ => {
            let fields = members.iter().zip(shapes());
            Shape::Record(Record::new(
                fields.map(|((name, _), shape)| Field::new(name, shape, None)).collect(),
            ))
        }
    }
}

#[test]
fn the_shape_is_the_one_of_the_wit_package() {
    assert_eq!(output_shape(), shape_of("output", &declared()));
}

/// `output` as component text, its own types first.
pub(super) const OUTPUT: [(&str, &str); 9] = [
    ("audience", r#"(enum "user" "assistant")"#),
    (
        "annotations",
        r#"(record (field "audience" (list $audience)) (field "priority" (option f32))
                   (field "last-modified" (option string)))"#,
    ),
    (
        "text-content",
        r#"(record (field "text" string) (field "annotations" (option $annotations)))"#,
    ),
    (
        "media-content",
        r#"(record (field "mime-type" string) (field "bytes" (list u8))
                   (field "annotations" (option $annotations)))"#,
    ),
    (
        "resource-link",
        r#"(record (field "uri" string) (field "name" string) (field "title" (option string))
                   (field "description" (option string)) (field "mime-type" (option string))
                   (field "size" (option u64)) (field "annotations" (option $annotations)))"#,
    ),
    ("resource-contents", r#"(variant (case "text" string) (case "blob" (list u8)))"#),
    (
        "embedded-resource",
        r#"(record (field "uri" string) (field "mime-type" (option string))
                   (field "contents" $resource-contents)
                   (field "annotations" (option $annotations)))"#,
    ),
    (
        "content",
        r#"(variant (case "text" $text-content) (case "image" $media-content)
                    (case "audio" $media-content) (case "resource-link" $resource-link)
                    (case "embedded-resource" $embedded-resource))"#,
    ),
    ("output", r#"(record (field "content" (list $content)))"#),
];

fn text(text: &str) -> Val {
    Val::String(text.to_owned())
}

fn some(value: Val) -> Val {
    Val::Option(Some(Box::new(value)))
}

fn bytes(bytes: &[u8]) -> Val {
    Val::List(bytes.iter().copied().map(Val::U8).collect())
}

fn item<const N: usize>(case: &str, fields: [(&str, Val); N]) -> Val {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Val::Variant(case.to_owned(), Some(Box::new(Val::Record(fields))))
}

fn output(items: Vec<Val>) -> Val {
    Val::Record(vec![("content".into(), Val::List(items))])
}

#[test]
fn text_becomes_the_value_and_all_else_attachments_in_order() {
    let ty = function(&OUTPUT, r#"(param "x" u8) (result (result $output (error string)))"#);
    let plan = FunctionPlan::new(&ty, &Words::default(), true).unwrap();
    assert_eq!(plan.output_schema(), None);
    let none = || ("annotations", Val::Option(None));
    let link = item(
        "resource-link",
        [
            ("uri", text("https://example.invalid/a")),
            ("name", text("a")),
            ("title", Val::Option(None)),
            ("description", Val::Option(None)),
            ("mime-type", some(text("text/html"))),
            ("size", some(Val::U64(7))),
            none(),
        ],
    );
    let contents = Val::Variant("text".into(), Some(Box::new(text("inside"))));
    let embedded = item(
        "embedded-resource",
        [("uri", text("x:b")), ("mime-type", Val::Option(None)), ("contents", contents), none()],
    );
    let png = [("mime-type", text("image/png")), ("bytes", bytes(&[1, 2])), none()];
    let items = vec![
        item("text", [("text", text("one")), none()]),
        item("image", png),
        item("text", [("text", text("{\"error\":\"two\"}")), none()]),
        link,
        embedded,
    ];
    let returned = returned(&plan, Val::Result(Ok(Some(Box::new(output(items))))));
    assert_eq!((returned.case, returned.wrapped), (ReturnCase::Ok, false));
    assert_eq!(returned.value, Some(json!("one\n{\"error\":\"two\"}")));
    let [image, link, embedded] = returned.attachments.as_slice() else { panic!("{returned:?}") };
    assert_eq!((&image.kind, image.bytes.as_slice()), (&AttachmentKind::Image, &[1, 2][..]));
    assert_eq!(image.mime_type.as_deref(), Some("image/png"));
    assert_eq!((link.size, link.bytes.len(), link.uri.as_str()), (7, 0, "belljar://result/c/1"));
    let target = "https://example.invalid/a".to_owned();
    assert_eq!(link.kind, AttachmentKind::ResourceLink { target, name: "a".into() });
    assert_eq!(embedded.kind, AttachmentKind::Resource { target: "x:b".into() });
    assert_eq!(embedded.bytes, b"inside");
}

#[test]
fn the_same_type_without_the_import_and_another_with_it_are_plain_records() {
    let ty = function(&OUTPUT, "(result $output)");
    let plan = FunctionPlan::new(&ty, &Words::default(), false).unwrap();
    assert!(plan.output_schema().is_some());
    assert_eq!(returned(&plan, output(Vec::new())).value, Some(json!({"content": []})));

    let other = [("output", r#"(record (field "content" (list string)))"#)];
    let plan = FunctionPlan::new(&function(&other, "(result $output)"), &Words::default(), true);
    let one = output(vec![text("a")]);
    assert_eq!(returned(&plan.unwrap(), one).value, Some(json!({"content": ["a"]})));
}
