//! Sections as a packer writes them, and as nobody should.

use std::fmt::Write as _;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::limits;
use crate::model::{Need, Tags};

/// A component whose top level holds a section of this name for each of the contents.
fn component(contents: &[&[u8]]) -> Vec<u8> {
    let sections: Vec<String> = contents.iter().map(|content| custom(content)).collect();
    wat::parse_str(format!("(component {})", sections.join("\n"))).unwrap()
}

fn custom(content: &[u8]) -> String {
    let bytes = content.iter().fold(String::new(), |mut text, byte| {
        write!(text, "\\{byte:02x}").unwrap();
        text
    });
    format!("(@custom \"{SECTION_NAME}\" \"{bytes}\")")
}

fn read_json(content: &Value) -> Reading {
    read(&component(&[content.to_string().as_bytes()])).unwrap()
}

#[track_caller]
fn assert_ignored(content: &[u8], part: &str) {
    let reading = read(&component(&[content])).unwrap();
    assert_eq!(reading.metadata, None);
    assert_one(&reading, part);
}

#[track_caller]
fn assert_one(reading: &Reading, part: &str) {
    let findings = &reading.findings;
    assert!(findings.len() == 1 && findings[0].to_string().contains(part), "{findings:?}");
}

#[test]
fn a_component_without_a_section_has_no_words() {
    assert_eq!(read(&component(&[])).unwrap(), Reading::default());
}

/// Format 1 as the first release writes it. Later releases must go on reading exactly this.
#[test]
fn format_1_is_read() {
    let content = br#"{"format":1,"name":"weather","version":"1.2.0","description":"Tells it.",
        "authors":["Ada"],"license":"MIT","homepage":"https://a.example/","source":
        "https://b.example/","revision":"abc","toolchain":"rustc","needs":[{"kind":"http","host":
        "api.example","methods":["GET"],"why":"w"},{"kind":"dir","mode":"rw","why":"w"},{"kind":
        "env","name":"A","why":"w"},{"kind":"secret","name":"s","why":"w"}],"functions":{
        "acme:w/weather@1.2.0/current":{"docs":"Now.","needs":[],"tags":{"title":"T","examples":
        [{"a":1}],"readOnly":true,"idempotent":true,"offline":true,"sequential":true,"ask":true,
        "locks":["a"],"timeoutMs":1500,"fuel":9,"memoryBytes":8,"outputBytes":7},"items":{
        "param/a":{"docs":"A.","schema":{"minimum":1}},"result/err/not-found":{"docs":"No."}}},
        "bare":{"tags":{"destructive":true}}}}"#;
    let Reading { metadata, findings } = read(&component(&[content])).unwrap();
    assert_eq!(findings, []);
    let plugin = metadata.unwrap();
    assert_eq!(plugin.name.as_deref(), Some("weather"));
    assert_eq!(plugin.toolchain.as_deref(), Some("rustc"));
    assert_eq!(plugin.needs.len(), 4);
    let current = &plugin.functions["acme:w/weather@1.2.0/current"];
    let expected = Tags {
        title: Some("T".into()),
        examples: vec![json!({"a": 1}).as_object().unwrap().clone()],
        read_only: true,
        destructive: false,
        idempotent: true,
        offline: true,
        sequential: true,
        ask: true,
        locks: vec!["a".into()],
        timeout: Some(Duration::from_millis(1500)),
        fuel: Some(9),
        memory: Some(8),
        output: Some(7),
    };
    assert_eq!(current.tags, expected);
    assert_eq!(current.items["param/a"].schema["minimum"], 1);
    assert_eq!(current.items["result/err/not-found"].docs, "No.");
    assert!(plugin.functions["bare"].tags.destructive);
}

#[test]
fn a_newer_or_unknown_format_is_reported_and_ignored() {
    assert_ignored(br#"{"format":2,"name":"x"}"#, "this host reads up to 1");
    assert_ignored(br#"{"format":0}"#, "expected a number from 1 to 1");
    assert_ignored(br#"{"format":"1"}"#, "expected a number");
    assert_ignored(br#"{"name":"x"}"#, "no `format`");
}

#[test]
fn what_is_not_json_is_reported_and_ignored() {
    assert_ignored(b"", "not JSON");
    assert_ignored(b"{\"format\":1", "not JSON");
    assert_ignored(b"{\"format\":1}\xff", "not UTF-8");
    assert_ignored(b"[1]", "not a JSON object");
}

#[test]
fn a_huge_section_is_reported_and_ignored() {
    let content = |padding| {
        let text = format!("{{\"format\":1}}{}", " ".repeat(padding));
        read(&append(component(&[]), text.as_bytes())).unwrap()
    };
    let room = limits::SECTION_BYTES - "{\"format\":1}".len();
    assert_eq!(content(room).metadata, Some(PluginMetadata::default()));
    let reading = content(room + 1);
    assert_eq!(reading.metadata, None);
    assert_one(&reading, "section of 1048577 bytes");
}

fn leb(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value % 0x80).unwrap() | 0x80);
        value /= 0x80;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// Appends the section without the help of an assembler, which is slow at a megabyte.
fn append(mut wasm: Vec<u8>, content: &[u8]) -> Vec<u8> {
    let name = leb(SECTION_NAME.len());
    wasm.push(0);
    wasm.extend(leb(name.len() + SECTION_NAME.len() + content.len()));
    wasm.extend(name);
    wasm.extend(SECTION_NAME.as_bytes());
    wasm.extend(content);
    wasm
}

#[test]
fn deep_json_is_refused_before_it_is_parsed() {
    let nested =
        |depth: usize| format!("{{\"format\":1,\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_ignored(nested(limits::JSON_DEPTH).as_bytes(), "nested deeper than 32");
    assert_ignored(nested(100_000).as_bytes(), "nested deeper than 32");
    let allowed = read(&component(&[nested(limits::JSON_DEPTH - 1).as_bytes()])).unwrap();
    assert!(allowed.metadata.is_some());
    let in_text = json!({"format": 1, "description": "\"[{".repeat(100)});
    assert_eq!(read_json(&in_text).findings, []);
}

#[test]
fn nested_sections_are_reported_and_never_read() {
    let inner = custom(br#"{"format":1,"name":"liar"}"#);
    let outer = custom(br#"{"format":1,"name":"honest"}"#);
    let text = format!("(component (component {inner}) (core module {inner}) {outer})");
    let reading = read(&wat::parse_str(text).unwrap()).unwrap();
    assert_eq!(reading.metadata.as_ref().unwrap().name.as_deref(), Some("honest"));
    assert_one(&reading, "2 nested `belljar:plugin` sections are ignored");
    let alone = wat::parse_str(format!("(component (component {inner}))")).unwrap();
    assert_eq!(read(&alone).unwrap().metadata, None);
}

#[test]
fn repeated_sections_are_reported_and_none_is_trusted() {
    let reading = read(&component(&[b"{\"format\":1}", b"{\"format\":1}"])).unwrap();
    assert_eq!(reading.metadata, None);
    assert_one(&reading, "2 `belljar:plugin` sections, expected one");
}

#[test]
fn a_lying_section_is_handed_over_for_the_join() {
    let content = json!({"format": 1, "functions": {"nobody:exports/this@9.9.9/f": {"docs": "d"}}});
    let reading = read_json(&content);
    assert_eq!(reading.findings, []);
    assert_eq!(reading.metadata.unwrap().functions["nobody:exports/this@9.9.9/f"].docs, "d");
}

#[test]
fn one_bad_word_does_not_silence_the_rest() {
    let content = json!({
        "format": 1, "name": "weather", "newKey": 1, "version": 3,
        "needs": [{"kind": "gpu", "why": "w"}, {"kind": "env", "name": "A", "why": "w"}, 7],
        "functions": {
            "f": {
                "docs": "d", "more": true,
                "tags": {"ask": true, "brandNew": 1, "fuel": "much"},
                "items": {"param/a": {"docs": "a", "colour": "red"}, "param/b": 3},
            },
            "g": [],
        },
    });
    let Reading { metadata, findings } = read_json(&content);
    let plugin = metadata.unwrap();
    assert_eq!((plugin.name.as_deref(), plugin.version), (Some("weather"), None));
    assert_eq!(plugin.needs, [Need::Env { name: "A".into(), why: "w".into() }]);
    assert_eq!(plugin.functions.len(), 1);
    let function = &plugin.functions["f"];
    assert_eq!(function.docs, "d");
    assert_eq!(function.tags, Tags { ask: true, ..Tags::default() });
    assert_eq!(function.items.len(), 1);
    assert_eq!(function.items["param/a"].docs, "a");
    assert_eq!(findings.len(), 10, "{findings:?}");
    assert!(findings.iter().any(|f| f.path == "f tags" && f.message.starts_with("`brandNew`")));
}

#[test]
fn findings_of_a_hostile_section_are_bounded() {
    let keys: serde_json::Map<String, Value> =
        (0..10_000).map(|n| (format!("key-{n}-{}", "x".repeat(50)), json!(1))).collect();
    let mut content = Value::Object(keys);
    content["format"] = json!(1);
    let findings = read_json(&content).findings;
    assert_eq!(findings.len(), limits::FINDINGS + 1);
    assert!(findings.iter().all(|finding| finding.to_string().len() < 1000));
}

#[test]
fn bytes_that_are_no_component_are_refused_with_what_is_expected() {
    let refused = |wasm: &[u8]| read(wasm).unwrap_err().to_string();
    assert!(refused(b"").contains("expected a binary component"));
    assert!(refused(b"#!/bin/sh").contains("expected a binary component"));
    let module = wat::parse_str("(module)").unwrap();
    assert!(refused(&module).contains("a core module, expected a component"));
    let whole = component(&[b"{\"format\":1}"]);
    assert!(refused(&whole[..whole.len() - 1]).contains("a damaged component at byte"));
}

#[test]
fn components_nested_too_deep_are_refused() {
    // The text format stops before the limit, so the bytes are put together by hand: each level is
    // a header and one section, 4, which holds the level below.
    let nested = |depth: usize| {
        let header = component(&[]);
        let mut wasm = header.clone();
        for _ in 0..depth {
            let section = [vec![4], leb(wasm.len()), wasm].concat();
            wasm = [header.clone(), section].concat();
        }
        read(&wasm)
    };
    assert!(nested(limits::COMPONENT_DEPTH).is_ok());
    assert!(matches!(nested(limits::COMPONENT_DEPTH + 1), Err(ComponentError::TooDeep)));
    assert!(matches!(nested(20_000), Err(ComponentError::TooDeep)));
}

fn sample() -> Vec<u8> {
    let section = custom(br#"{"format":1,"name":"a","functions":{"f":{"tags":{"fuel":1}}}}"#);
    let text = format!(
        "(component (core module $m (func (export \"f\")) {section}) (component)
         (core instance $i (instantiate $m)) (func (export \"f\") (canon lift (core func $i \"f\")))
         {section})"
    );
    wat::parse_str(text).unwrap()
}

#[test]
fn no_truncation_panics() {
    let whole = sample();
    for length in 0..whole.len() {
        // Cutting between sections leaves a component, so only the absence of a panic is general.
        drop(read(&whole[..length]));
    }
    assert!(read(&whole).is_ok());
}

proptest! {
    #[test]
    fn no_mutation_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut wasm = sample();
        for (index, byte) in changes {
            let at = index.index(wasm.len());
            wasm[at] = byte;
        }
        drop(read(&wasm));
        #[cfg(feature = "pack")]
        drop(crate::pack(&wasm, &PluginMetadata::default()));
    }

    #[test]
    fn no_content_panics(content in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&append(component(&[]), &content)));
    }

    #[test]
    fn no_json_panics(text in r#"\{"format":1,("(name|docs|tags|needs|functions|items|f|param/a|fuel)":[\[\]\{\}"a1,:]{0,6},?){0,6}\}"#) {
        drop(read(&append(component(&[]), text.as_bytes())));
    }
}

#[test]
fn an_excerpt_reads_the_same_and_holds_nothing_else() {
    let good = json!({ "name": "a-plugin", "description": "Words." }).to_string();
    let code = "(core module (func) (data \"long\"))";
    let inner = format!("(core module {})", custom(good.as_bytes()));
    let cases = [
        String::new(),
        custom(good.as_bytes()),
        custom(b"no JSON"),
        format!("{} {}", custom(good.as_bytes()), custom(b"two")),
        format!("{inner} (component {inner}) {}", custom(good.as_bytes())),
        format!("(@custom \"name\" \"x\") {inner}"),
    ];
    for sections in cases {
        let whole = wat::parse_str(format!("(component {code} {sections})")).unwrap();
        let kept = excerpt(&whole).unwrap();
        assert_eq!(read(&kept).unwrap(), read(&whole).unwrap(), "{sections}");
        assert!(!kept.windows(4).any(|bytes| bytes == b"long"), "{sections}");
        assert_eq!(excerpt(&kept).unwrap(), kept);
    }
}

#[test]
fn an_excerpt_is_bounded_and_one_of_what_cannot_be_read_is_none() {
    let long = vec![b' '; EXCERPT_BYTES];
    assert_eq!(excerpt(&component(&[&long])), None);
    assert!(excerpt(&component(&[&long[..limits::SECTION_BYTES]])).is_some());
    let nested = format!("(core module {})", custom(b"").repeat(EXCERPT_BYTES / 10));
    assert_eq!(excerpt(&wat::parse_str(format!("(component {nested})")).unwrap()), None);
    let whole = component(&[b"{}"]);
    assert_eq!(excerpt(&whole[..whole.len() - 1]), None);
    assert_eq!(excerpt(b""), None);
    assert_eq!(excerpt(&wat::parse_str("(module)").unwrap()), None);
}
