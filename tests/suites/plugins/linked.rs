//! Every interface that the import check lets through is really there.

use std::collections::BTreeSet;
use std::fs;

use super::{load, only_plugin};
use crate::guests::built;

/// Interfaces that no Rust guest imports, each with one item of it: an import without items would be
/// met by nothing at all.
const BY_HAND: &[(&str, &str)] = &[
    ("belljar:tool/invocation@0.1.0", r#"(export "call-id" (func (result string)))"#),
    ("wasi:clocks/monotonic-clock@0.2.0", r#"(export "now" (func (result u64)))"#),
    ("wasi:random/insecure@0.2.0", r#"(export "get-insecure-random-u64" (func (result u64)))"#),
    (
        "wasi:random/insecure-seed@0.2.0",
        r#"(export "insecure-seed" (func (result (tuple u64 u64))))"#,
    ),
    ("wasi:random/random@0.2.0", r#"(export "get-random-u64" (func (result u64)))"#),
    ("wasi:sockets/network@0.2.0", r#"(export "network" (type (sub resource)))"#),
    ("wasi:sockets/tcp@0.2.0", r#"(export "tcp-socket" (type (sub resource)))"#),
    ("wasi:sockets/udp@0.2.0", r#"(export "udp-socket" (type (sub resource)))"#),
];

/// The names in the sandbox's list, read from its source: the list itself is nobody else's business.
fn listed() -> BTreeSet<String> {
    let source = built::root().join("host/src/sandbox/capability/link.rs");
    let text = fs::read_to_string(source).unwrap();
    let list = text.split("const LINKED: &[&str] = &[").nth(1).unwrap().split("];").next().unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn unversioned(name: &str) -> String {
    name.split('@').next().unwrap().to_owned()
}

#[test]
fn every_listed_interface_is_linked() {
    let mut linked = BTreeSet::new();
    for guest in built::RUST {
        let app = load(guest, built::rust(guest));
        linked.extend(only_plugin(&app).imports.iter().map(|name| unversioned(name)));
    }
    for (name, items) in BY_HAND {
        let text = format!(r#"(component (import "{name}" (instance {items})))"#);
        let app = load("by-hand", &wat::parse_str(text).unwrap());
        assert_eq!(only_plugin(&app).imports, [*name]);
        linked.insert(unversioned(name));
    }
    let unseen: Vec<_> = listed().into_iter().filter(|name| !linked.contains(name)).collect();
    assert!(unseen.is_empty(), "in `LINKED` and never linked here: {unseen:?}");
}

#[test]
fn an_interface_of_an_unknown_version_or_name_is_refused_with_a_list() {
    let text = r#"(component (import "acme:disk/raw@1.0.0" (instance))
        (import "wasi:keyvalue/store@0.2.0" (instance)))"#;
    let sandbox = belljar::sandbox::Sandbox::try_new().unwrap();
    let error = sandbox.compile(&wat::parse_str(text).unwrap()).unwrap_err().to_string();
    assert!(error.contains("acme:disk/raw") && error.contains("wasi:keyvalue/store"), "{error}");
}
