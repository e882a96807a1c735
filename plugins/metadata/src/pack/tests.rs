//! Packing and reading back, and every rule that stops a pack.

use serde_json::json;

use super::*;
use crate::model::{DirMode, FunctionMetadata, ItemMetadata, Need, Tags};
use crate::section::read;

fn component() -> Vec<u8> {
    wat::parse_str(
        r#"(component $old
            (core module $m (func $inner (export "f")))
            (@custom "producers" "\00")
            (core instance $i (instantiate $m))
            (@custom "version" "9.9.9")
            (func (export "f") (canon lift (core func $i "f"))))"#,
    )
    .unwrap()
}

fn metadata() -> PluginMetadata {
    let item = ItemMetadata {
        docs: "A path.".into(),
        schema: json!({"minLength": 1}).as_object().unwrap().clone(),
    };
    let function = FunctionMetadata {
        docs: "Reads.".into(),
        tags: Tags { read_only: true, fuel: Some(7), ..Tags::default() },
        needs: vec![Need::Dir { mode: DirMode::ReadOnly, why: "to read".into() }],
        items: [("param/path".to_owned(), item)].into(),
    };
    PluginMetadata {
        name: Some("files".into()),
        version: Some("1.2.3".into()),
        description: Some("Files.\nMany.".into()),
        authors: vec!["Ada".into(), "Bob <bob@b.example>".into()],
        license: Some("Apache-2.0 OR MIT".into()),
        homepage: Some("https://files.example/".into()),
        source: Some("https://files.example/source".into()),
        revision: Some("0123abcd".into()),
        toolchain: Some("rustc 1.95.0".into()),
        needs: vec![],
        functions: [("f".to_owned(), function)].into(),
    }
}

#[track_caller]
fn assert_refused(change: impl FnOnce(&mut PluginMetadata), part: &str) {
    let mut metadata = metadata();
    change(&mut metadata);
    let error = pack(&component(), &metadata).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn what_is_packed_is_read_back() {
    let reading = read(&pack(&component(), &metadata()).unwrap()).unwrap();
    assert_eq!(reading.findings, []);
    assert_eq!(reading.metadata, Some(metadata()));
}

#[test]
fn packing_twice_gives_the_same_bytes() {
    let once = pack(&component(), &metadata()).unwrap();
    assert_eq!(pack(&component(), &metadata()).unwrap(), once);
    assert_eq!(pack(&once, &metadata()).unwrap(), once);
}

#[test]
fn other_words_replace_all_that_an_earlier_pack_wrote() {
    let mut other = metadata();
    other.name = Some("other".into());
    other.functions.clear();
    let repacked = pack(&pack(&component(), &metadata()).unwrap(), &other).unwrap();
    assert_eq!(repacked, pack(&component(), &other).unwrap());
}

#[test]
fn the_section_has_sorted_keys_at_every_level() {
    let mut metadata = metadata();
    let example = json!({"zeta": {"b": 1, "a": 2}, "alpha": [{"d": 1, "c": 2}]});
    metadata.functions.get_mut("f").unwrap().tags.examples =
        vec![example.as_object().unwrap().clone()];
    let packed = pack(&component(), &metadata).unwrap();
    let text = String::from_utf8_lossy(&packed);
    let sorted = r#"{"alpha":[{"c":2,"d":1}],"zeta":{"a":2,"b":1}}"#;
    assert!(text.contains(sorted), "{text}");
}

/// The reader of `wasm-tools metadata show`.
#[test]
fn other_tools_show_the_standard_sections() {
    let packed = pack(&component(), &metadata()).unwrap();
    let shown = wasm_metadata::Payload::from_binary(&packed).unwrap();
    let shown = shown.metadata();
    assert_eq!(shown.name.as_deref(), Some("files"));
    assert_eq!(shown.version.as_ref().unwrap().to_string(), "1.2.3");
    assert_eq!(shown.description.as_ref().unwrap().to_string(), "Files.\nMany.");
    assert_eq!(shown.authors.as_ref().unwrap().to_string(), "Ada, Bob <bob@b.example>");
    assert_eq!(shown.licenses.as_ref().unwrap().to_string(), "Apache-2.0 OR MIT");
    assert_eq!(shown.homepage.as_ref().unwrap().to_string(), "https://files.example/");
    assert_eq!(shown.source.as_ref().unwrap().to_string(), "https://files.example/source");
    assert_eq!(shown.revision.as_ref().unwrap().to_string(), "0123abcd");
}

#[test]
fn everything_else_is_kept_byte_for_byte() {
    let original = component();
    let sections = |wasm: &[u8]| {
        let mut kept = Vec::new();
        each_section(wasm, |section| {
            let name = section.custom.map(|(name, _)| name.to_owned());
            if section.depth == 0 && !matches!(name.as_deref(), Some("version" | "component-name"))
            {
                kept.push((name, section.bytes.to_vec()));
            }
        })
        .unwrap();
        kept
    };
    let before = sections(&original);
    assert!(before.iter().any(|(name, _)| name.as_deref() == Some("producers")));
    let after = sections(&pack(&original, &metadata()).unwrap());
    assert_eq!(after.get(..before.len()).unwrap(), before);
}

#[test]
fn names_inside_the_component_survive_a_new_name() {
    let packed = pack(&component(), &metadata()).unwrap();
    let names = |wasm: &[u8]| {
        let mut found = Vec::new();
        each_section(wasm, |section| {
            if let Some(("component-name", bytes)) = section.custom {
                found.push(bytes.to_vec());
            }
        })
        .unwrap();
        found
    };
    let (old, new) = (names(&component()), names(&packed));
    assert_eq!((old.len(), new.len()), (1, 1));
    let rest = old[0].strip_prefix(b"\0\x04\x03old").unwrap();
    assert!(!rest.is_empty());
    assert_eq!(new[0].strip_prefix(b"\0\x06\x05files").unwrap(), rest);
}

#[test]
fn a_standard_section_that_nothing_is_said_of_stays() {
    let mut silent = PluginMetadata::default();
    let packed = pack(&component(), &silent).unwrap();
    let version = |wasm: &[u8]| {
        let payload = wasm_metadata::Payload::from_binary(wasm).unwrap();
        payload.metadata().version.as_ref().unwrap().to_string()
    };
    assert_eq!(version(&packed), "9.9.9");
    silent.version = Some("1.0.0".into());
    assert_eq!(version(&pack(&packed, &silent).unwrap()), "1.0.0");
}

#[test]
fn repeated_sections_are_mended() {
    let mut twice = pack(&component(), &metadata()).unwrap();
    append(&mut twice, SECTION_NAME, b"{\"format\":1}");
    assert_eq!(read(&twice).unwrap().metadata, None);
    assert!(read(&pack(&twice, &metadata()).unwrap()).unwrap().findings.is_empty());
}

#[test]
fn only_a_component_is_packed() {
    let refused = |wasm: &[u8]| pack(wasm, &metadata()).unwrap_err().to_string();
    assert!(refused(b"MZ\x90").contains("expected a binary component"));
    assert!(refused(&wat::parse_str("(module)").unwrap()).contains("expected a component"));
    let whole = component();
    assert!(refused(&whole[..whole.len() - 2]).contains("damaged"));
}

#[test]
fn a_section_beyond_its_limit_is_refused() {
    let mut metadata = metadata();
    let docs = "x".repeat(limits::DOCS_BYTES);
    for n in 0..limits::SECTION_BYTES / limits::DOCS_BYTES {
        let function = FunctionMetadata { docs: docs.clone(), ..FunctionMetadata::default() };
        metadata.functions.insert(format!("g{n}"), function);
    }
    let error = pack(&component(), &metadata).unwrap_err();
    assert!(matches!(error, PackError::TooLarge { bytes } if bytes > limits::SECTION_BYTES));
}

#[test]
fn control_and_bidirectional_characters_are_kept_for_the_host_to_escape() {
    let mut metadata = metadata();
    metadata.functions.get_mut("f").unwrap().docs = "a\u{1b}[31m\u{202e}b".into();
    let reading = read(&pack(&component(), &metadata).unwrap()).unwrap();
    assert_eq!(reading.metadata, Some(metadata));
}

#[test]
fn words_that_break_a_rule_are_refused_with_each_rule() {
    assert_refused(|m| m.name = Some("Not Kebab".into()), "name: expected kebab-case ASCII");
    assert_refused(|m| m.license = Some("free as in beer".into()), "license: expected an SPDX");
    assert_refused(|m| m.homepage = Some("https://".into()), "homepage: expected an http or https");
    assert_refused(|m| m.source = Some("https://a:b/".into()), "source: expected an http or https");
    let mut both = metadata();
    both.name = Some(String::new());
    both.version = Some(String::new());
    let error = pack(&component(), &both).unwrap_err();
    assert!(matches!(error, PackError::Refused { findings } if findings.len() == 2));
}
