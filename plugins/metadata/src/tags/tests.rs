//! Doc comments as authors write them, well and badly.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::model::DirMode;

fn function(docs: &str) -> (DocComment, Vec<String>) {
    read(docs, Place::Function)
}

fn read(docs: &str, place: Place) -> (DocComment, Vec<String>) {
    let (comment, findings) = parse(docs, place, "here");
    (comment, findings.iter().map(|finding| finding.to_string()).collect())
}

#[track_caller]
fn assert_finding(docs: &str, place: Place, part: &str) {
    let (_, findings) = read(docs, place);
    assert!(findings.len() == 1 && findings[0].contains(part), "{docs}: {findings:?}");
}

#[test]
fn every_tag_is_read_and_leaves_the_description() {
    let docs = r#"
        Finds the weather.

        Second paragraph, mail me@example.com.
        @title Current weather
        @param city-name Where to look
        @schema city-name {"minLength":1}
        @example {"city-name":"Graz"}

        @idempotent
        @offline
        @sequential
        @ask
        @read-only
        @locks city-name
        @timeout 5s
        @fuel 2e9
        @memory 64MiB
        @output 1MiB
        @needs dir ro "the maps"
    "#;
    let lines: Vec<&str> = docs.lines().map(str::trim_start).collect();
    let (comment, findings) = function(&lines.join("\n"));
    assert_eq!(findings, Vec::<String>::new());
    let text = "Finds the weather.\n\nSecond paragraph, mail me@example.com.";
    assert_eq!(comment.description, text);
    assert_eq!(comment.params["city-name"], "Where to look");
    assert_eq!(json!(comment.schemas), json!({"city-name": {"minLength": 1}}));
    assert_eq!(comment.needs, [Need::Dir { mode: DirMode::ReadOnly, why: "the maps".into() }]);
    let expected = Tags {
        title: Some("Current weather".into()),
        examples: vec![json!({"city-name": "Graz"}).as_object().unwrap().clone()],
        read_only: true,
        destructive: false,
        idempotent: true,
        offline: true,
        sequential: true,
        locks: vec!["city-name".into()],
        ask: true,
        timeout: Some(Duration::from_secs(5)),
        fuel: Some(2_000_000_000),
        memory: Some(64 << 20),
        output: Some(1 << 20),
    };
    assert_eq!(comment.tags, expected);
}

#[test]
fn a_comment_without_tags_is_all_description() {
    let (comment, findings) = function("One.\n\n  Two, indented.");
    assert_eq!(comment.description, "One.\n\n  Two, indented.");
    assert!(findings.is_empty());
    assert_eq!(function("").0, DocComment::default());
    assert_eq!(function("@read-only").0.description, "");
}

#[test]
fn a_tag_above_text_is_reported_since_it_would_be_lost() {
    let docs = "Deletes.\n@destructive\n@ask\nreally";
    let (comment, findings) = function(docs);
    assert_eq!(comment.description, docs);
    assert!(comment.tags.is_empty());
    assert_eq!(findings.len(), 2);
    assert!(findings[0].contains("`@destructive` is not among the last lines"), "{findings:?}");
}

#[test]
fn an_at_sign_that_is_no_tag_may_stand_in_text() {
    assert!(function("@alice wrote this.\nMore.").1.is_empty());
}

#[test]
fn an_unknown_tag_is_a_finding_and_the_others_count() {
    let (comment, findings) = function("Does.\n@readonly\n@offline");
    assert!(comment.tags.offline && !comment.tags.read_only);
    assert_eq!(comment.description, "Does.");
    assert!(findings[0].starts_with("here: unknown tag `@readonly`, expected one of title"));
}

#[test]
fn a_malformed_tag_says_what_was_expected() {
    let cases = [
        ("@read-only yes", "takes no argument, found `yes`"),
        ("@title", "expected text"),
        ("@param", "expected NAME TEXT"),
        ("@param a", "expected text"),
        ("@param a/b text", "as the name"),
        ("@schema a", "JSON object on one line"),
        ("@schema a {", "JSON object on one line"),
        ("@schema a {\"type\":\"string\"}", "not allowed"),
        ("@example [1]", "JSON object on one line"),
        ("@locks", "expected NAME"),
        ("@locks a b", "expected one name"),
        ("@timeout 5", "expected a time"),
        ("@fuel lots", "expected a whole number"),
        ("@memory 1MB", "expected a size"),
        ("@output -1", "expected a size"),
        ("@needs", "expected `http`"),
        ("@", "unknown tag"),
    ];
    for (docs, part) in cases {
        assert_finding(docs, Place::Function, part);
    }
    let long = format!("@title {}", "x".repeat(limits::TITLE_BYTES + 1));
    assert_finding(&long, Place::Function, "expected at most 128");
}

#[test]
fn json_of_several_lines_is_refused() {
    let (comment, findings) = function("Does.\n@example {\n  \"a\": 1\n}");
    assert!(comment.tags.examples.is_empty());
    assert!(findings[0].contains("keep each tag on one line"), "{findings:?}");
}

#[test]
fn what_may_stand_once_is_refused_twice() {
    for tag in
        ["@title a", "@timeout 1s", "@ask", "@locks a", "@param a x", "@schema a {\"minimum\":1}"]
    {
        assert_finding(&format!("{tag}\n{tag}"), Place::Function, "given twice");
    }
    assert_finding("@param a-b x\n@param a_b y", Place::Function, "given twice");
    assert_finding("@schema {\"minimum\":1}\n@schema {\"minimum\":2}", Place::Field, "given twice");
}

#[test]
fn lists_of_tags_are_bounded() {
    let cases = [("@example {}", limits::EXAMPLES), ("@needs env A \"x\"", limits::NEEDS)];
    for (tag, most) in cases {
        assert!(function(&vec![tag; most].join("\n")).1.is_empty(), "{tag}");
        assert_finding(&vec![tag; most + 1].join("\n"), Place::Function, "more than");
    }
    let locks: Vec<String> = (0..=limits::LOCKS).map(|n| format!("@locks n{n}")).collect();
    assert_finding(&locks.join("\n"), Place::Function, "more than 8");
}

#[test]
fn read_only_and_destructive_contradict_and_neither_counts() {
    let (comment, findings) = function("@read-only\n@destructive\n@ask");
    assert_eq!(comment.tags, Tags { ask: true, ..Tags::default() });
    assert!(findings[0].contains("contradict"), "{findings:?}");
}

#[test]
fn each_place_has_its_tags() {
    let (field, findings) = read("A field.\n@schema {\"maximum\":9}", Place::Field);
    assert_eq!(json!(field.schema), json!({"maximum": 9}));
    assert!(findings.is_empty());
    assert_finding("@ask", Place::Field, "not allowed here");
    let (world, findings) = read("A plugin.\n@needs env A \"x\"", Place::World);
    assert_eq!(world.needs.len(), 1);
    assert!(findings.is_empty());
    assert_finding("@read-only", Place::World, "not allowed here");
    assert_finding("@needs env A \"x\"", Place::Other, "not allowed here");
}
