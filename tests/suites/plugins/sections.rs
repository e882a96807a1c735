//! What a plugin says of itself, where it can't be believed: it is reported, and the plugin works.

use serde_json::{Value, json};

use super::{load, only_plugin, seven, tools};
use crate::suites::harness::{call, with_section};

const NAME: &str = "belljar:plugin";
const GET: &str = r#"(export "get" (func $f))"#;

fn said(words: &Value) -> Vec<u8> {
    with_section(&seven(GET), NAME, words.to_string().as_bytes())
}

fn honest() -> Value {
    json!({"format": 1, "functions": {"get": {"docs": "Says seven."}}})
}

/// Loads it, checks that its tool works, and gives back description and findings.
async fn shown(bytes: &[u8]) -> (bool, String) {
    let app = load("stem", bytes);
    assert_eq!(tools(&app), ["stem.get"]);
    assert_eq!(call(&app, "stem.get", json!({})).await.content, "7");
    let plugin = only_plugin(&app);
    let findings = plugin.findings.join("\n");
    assert!(!findings.contains(|c: char| c.is_control() && c != '\n'), "{findings:?}");
    (plugin.tools[0].descriptor.documented, findings)
}

#[tokio::test]
async fn honest_words_are_shown() {
    assert_eq!(shown(&said(&honest())).await, (true, String::new()));
}

#[tokio::test]
async fn words_about_what_isnt_exported_are_reported() {
    let mut words = honest();
    words["functions"]["acme:x/y/gone"] = json!({"docs": "x", "tags": {"readOnly": true}});
    words["functions"]["a\u{1b}[2J"] = json!({"docs": "x"});
    let (documented, findings) = shown(&said(&words)).await;
    let lie = "describes `acme:x/y/gone`, which it doesn't export";
    assert!(documented && findings.contains(lie), "{findings}");
    assert!(findings.contains("a<U+001B>[2J"), "{findings}");
}

#[tokio::test]
async fn a_second_section_takes_the_trust_of_both() {
    let twice = with_section(&said(&honest()), NAME, honest().to_string().as_bytes());
    let (documented, findings) = shown(&twice).await;
    assert!(!documented && findings.contains("2 `belljar:plugin` sections"), "{findings}");
}

#[tokio::test]
async fn a_nested_section_is_not_the_plugins() {
    let words = honest().to_string().replace('"', "\\\"");
    let nested = seven(&format!(r#"(component (@custom "{NAME}" "{words}")) {GET}"#));
    let (documented, findings) = shown(&nested).await;
    assert!(!documented && findings.contains("nested"), "{findings}");
    let both = with_section(&nested, NAME, honest().to_string().as_bytes());
    let (documented, findings) = shown(&both).await;
    assert!(documented && findings.contains("nested"), "{findings}");
}

#[tokio::test]
async fn words_of_a_newer_packer_are_left_alone() {
    let mut words = honest();
    words["format"] = json!(2);
    let (documented, findings) = shown(&said(&words)).await;
    assert!(!documented && findings.contains("newer belljar"), "{findings}");
}

#[tokio::test]
async fn what_is_no_section_at_all_is_reported() {
    let deep = format!(r#"{{"format":1,"functions":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    for content in [&b""[..], b"\xff\xfe", b"[]", b"{", deep.as_bytes(), br#"{"format":"1"}"#] {
        let (documented, findings) = shown(&with_section(&seven(GET), NAME, content)).await;
        assert!(!documented && !findings.is_empty(), "{content:?}");
    }
}

#[tokio::test]
async fn a_huge_section_is_reported_and_its_content_left_alone() {
    let mut words = honest();
    words["description"] = json!("x".repeat(20 << 20));
    let (documented, findings) = shown(&said(&words)).await;
    assert!(!documented && findings.contains("bytes, expected at most"), "{findings}");
}

#[tokio::test]
async fn a_huge_section_of_others_is_none_of_our_business() {
    let foreign = with_section(&said(&honest()), "debug", &vec![0; 50 << 20]);
    assert_eq!(shown(&foreign).await, (true, String::new()));
}

#[test]
fn a_name_that_no_plugin_can_have_is_not_taken() {
    let app = load("stem", &said(&json!({"format": 1, "name": "Not a name\u{202e}"})));
    assert_eq!(tools(&app), ["stem.get"]);
    assert!(only_plugin(&app).findings.iter().any(|finding| finding.contains("name")));
}
