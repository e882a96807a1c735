//! `belljar policy explain`: what each stage says, and which one decides.

use serde_json::json;

use super::HASH;
use super::place::{ASK, Place};
use crate::suites::harness::Ran;

const WRITE: &str = r#"{"path":"a.txt","content":"x"}"#;

fn explain(place: &Place, args: &[&str]) -> Ran {
    let grant = format!("{}:/ws:rw", place.workspace().display());
    place.run(["policy", "explain"].iter().chain(args).chain(&["--dir", &grant]))
}

#[test]
fn a_command_that_only_looks_refuses_the_grants_that_a_call_would() {
    let place = Place::new("[audit]\npath = \"log\"\n");
    let log = place.path().join("log");
    std::fs::create_dir(&log).unwrap();
    for (folder, keeps) in [(log, "its audit log"), (place.path().join("state"), "its approvals")] {
        std::fs::create_dir_all(&folder).unwrap();
        let grant = format!("{}:/x:rw", folder.display());
        for args in
            [&["policy", "explain", "codec.hash", HASH][..], &["tools"], &["inspect", "codec"]]
        {
            let ran = place.run(args.iter().chain(&["--dir", &grant]));
            ran.refused(2, &["belljar keeps", keeps]);
        }
    }
}

#[test]
fn full_lets_through_read_only_asks_and_so_does_a_rule_each_with_its_reason() {
    let place = Place::new("");
    for (args, verdict, winner) in [
        (&["files.write", WRITE][..], "allow", "level"),
        (&["files.write", WRITE, "--level", "READ_ONLY"], "ask", "level"),
        (&["files.write", WRITE, "--level", "READ_WRITE"], "allow", "level"),
        (&["codec.hash", HASH, "--level", "READ_ONLY"], "allow", "level"),
    ] {
        let json = explain(&place, &[args, &["--json"]].concat()).ends_with(0).json();
        let found = (json["verdict"].as_str().unwrap(), json["winner"].as_str().unwrap());
        assert_eq!(found, (verdict, winner), "{args:?}: {json}");
        let words = explain(&place, args).ends_with(0).stdout;
        let last = words.lines().last().unwrap();
        assert!(last.starts_with(&format!("verdict: {verdict}, by {winner}: ")), "{words}");
        let marked: Vec<_> = words.lines().filter(|line| line.starts_with("> ")).collect();
        assert!(marked.len() == 1 && marked[0].contains(winner), "{words}");
    }
    place.configure(ASK);
    let asked = explain(&place, &["files.write", WRITE]).ends_with(0).stdout;
    assert!(asked.contains("> rules"), "{asked}");
    assert!(asked.contains("it changes files"), "{asked}");
    assert!(!place.workspace().join("a.txt").exists(), "nothing ran");
    assert!(!place.database().exists(), "nobody was asked");
}

#[test]
fn a_caller_of_the_configuration_has_its_level_and_its_tools() {
    let place = Place::new("[callers.ci]\nlevel = \"READ_ONLY\"\ntools = [\"codec.*\"]\n");
    let json = explain(&place, &["codec.hash", HASH, "--as", "ci", "--json"]).ends_with(0).json();
    assert_eq!((&json["caller"], &json["permissionLevel"]), (&json!("ci"), &json!("READ_ONLY")));
    assert_eq!(json["verdict"], "allow");
    let json = explain(&place, &["files.write", WRITE, "--as", "ci", "--json"]).ends_with(0).json();
    assert_eq!((&json["verdict"], &json["winner"]), (&json!("deny"), &json!("allowed-set")));
    explain(&place, &["codec.hash", HASH, "--as", "nobody"]).refused(2, &["`nobody`", "`ci`"]);
}

#[test]
fn a_remembered_answer_is_one_of_the_stages() {
    let place = Place::asking();
    let id = place.asked("a.txt", "x");
    place.run(["approvals", "approve", &id, "--always"]).ends_with(0);
    let json = explain(&place, &["files.write", WRITE, "--json"]).ends_with(0).json();
    assert_eq!((&json["verdict"], &json["winner"]), (&json!("allow"), &json!("remembered")));
    assert!(json["reason"].as_str().unwrap().contains(&id), "{json}");
}

#[test]
fn a_call_that_would_end_before_the_gate_ends_as_it_would() {
    let place = Place::new("");
    explain(&place, &["files.wirte", WRITE]).refused(3, &["error[not_found]", "`files.write`"]);
    explain(&place, &["files.write", "{}"]).refused(3, &["error[invalid_arguments]", "path"]);
}
