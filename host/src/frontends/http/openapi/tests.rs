//! The description names each route and nothing else.

use std::collections::BTreeSet;

use super::*;

fn document() -> Value {
    serde_json::from_slice(&description().unwrap()).unwrap()
}

#[test]
fn every_route_is_described_and_nothing_else() {
    let document = document();
    let described: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone()))
        })
        .collect();
    let routes = routes::all();
    let there: BTreeSet<_> = routes
        .iter()
        .map(|route| (route.path.to_owned(), route.method.as_str().to_ascii_lowercase()))
        .collect();
    assert_eq!(described, there);
    assert_eq!(there.len(), routes.len(), "each route once");
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_name() {
    let (document, text) =
        (document(), String::from_utf8(description().unwrap().to_vec()).unwrap());
    for reference in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap())
    {
        assert!(document.pointer(reference).is_some(), "{reference}");
    }
    let mut names = BTreeSet::new();
    for operation in document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|it| it.as_object().unwrap().values())
    {
        assert!(names.insert(operation["operationId"].as_str().unwrap()), "{operation}");
        for status in ["400", "401", "403", "429", "500"] {
            let of = &operation["responses"][status]["content"]["application/problem+json"];
            assert!(of.is_object(), "{status}: {operation}");
        }
        assert!(operation["security"].is_array());
    }
}

#[test]
fn the_schemas_are_schemas() {
    for (name, schema) in document()["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::is_valid(schema), "{name}");
    }
}

#[test]
fn every_outcome_is_described() {
    let document = document();
    let described = &document["components"]["schemas"]["Result"]["properties"]["outcome"]["enum"];
    let all: Vec<_> = crate::contract::outcome::Outcome::ALL.iter().map(|it| it.name()).collect();
    assert_eq!(*described, json!(all));
}
