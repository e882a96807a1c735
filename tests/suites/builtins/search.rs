//! `search`: linear time, nothing silently left out, each file once.

use std::time::Duration;

use belljar::contract::grants::DirMode::ReadOnly;
use serde_json::{Value, json};

use super::Workspace;

fn paths(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn gr01_a_pattern_that_looks_like_an_option_is_a_pattern() {
    let ws = Workspace::new(ReadOnly);
    for pattern in ["--help", "-e", "--pre=x"] {
        ws.write("f.txt", format!("nothing\nuse {pattern} here\n"));
        let found = ws.ask("search.grep", json!({"pattern": pattern})).await;
        assert_eq!(found["matches"][0]["line"], 2, "{pattern}: {found}");
    }
}

#[tokio::test]
async fn gr02_no_pattern_takes_more_than_linear_time() {
    let ws = Workspace::new(ReadOnly);
    ws.write("f.txt", "x".repeat(50_000));
    for pattern in ["(a+)+$", "^(.*)+ ", "(x+x+)+y"] {
        // A backtracking engine needs longer than the universe has.
        let search = ws.ask("search.grep", json!({"pattern": pattern}));
        let found = tokio::time::timeout(Duration::from_secs(60), search).await.unwrap();
        assert_eq!(found["matches"], json!([]), "{pattern}");
    }
}

#[tokio::test]
async fn gr04_what_is_not_supported_is_named_with_its_place() {
    let ws = Workspace::new(ReadOnly);
    ws.write("f.txt", "aa");
    for (pattern, construct) in [("a(?=b)", "look-around"), (r"(a)\1", "backreferences")] {
        let result = ws.call("search.grep", json!({"pattern": pattern})).await;
        let said = result.error_message.unwrap();
        assert!(said.contains(construct) && said.contains("offset"), "{pattern}: {said}");
    }
    for pattern in ["(", "[z-a]", "a{2,1}"] {
        let refused = ws.refusal("search.grep", json!({"pattern": pattern})).await;
        assert_eq!(refused, "invalid-pattern", "{pattern}");
    }
}

#[tokio::test]
async fn gr06_ignored_files_are_counted_and_found_where_they_are_named() {
    let ws = Workspace::new(ReadOnly);
    ws.write(".gitignore", "dist/\n");
    ws.write("dist/x.js", "needle");
    ws.write("src/y.js", "needle");
    let broad = ws.ask("search.glob", json!({"pattern": "**/*.js"})).await;
    assert_eq!((paths(&broad["paths"]), &broad["ignored"]), (vec!["src/y.js"], &json!(1)));
    let exact = ws.ask("search.glob", json!({"pattern": "dist/x.js"})).await;
    assert_eq!(paths(&exact["paths"]), ["dist/x.js"]);
    let all = json!({"pattern": "**/*.js", "include_ignored": true});
    assert_eq!(paths(&ws.ask("search.glob", all).await["paths"]), ["dist/x.js", "src/y.js"]);
    let grep = ws.ask("search.grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        (paths(&grep["matches"]), &grep["skipped"]["ignored"]),
        (vec!["src/y.js"], &json!(1))
    );
    let named = ws.ask("search.grep", json!({"pattern": "needle", "path": "dist/x.js"})).await;
    assert_eq!(paths(&named["matches"]), ["dist/x.js"]);
}

#[tokio::test]
async fn gr10_a_cycle_of_links_ends_and_each_file_is_seen_once() {
    let ws = Workspace::new(ReadOnly);
    ws.write("a/f.txt", "needle");
    ws.link("..", "a/loop");
    ws.link("a", "b");
    let found = ws.ask("search.grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        (paths(&found["matches"]), &found["skipped"]["symlinks"]),
        (vec!["a/f.txt"], &json!(2))
    );
    let globbed = ws.ask("search.glob", json!({"pattern": "**/*.txt"})).await;
    assert_eq!(paths(&globbed["paths"]), ["a/f.txt"]);
}

#[tokio::test]
async fn gr08_no_glob_climbs_out_and_a_malformed_one_is_refused() {
    let ws = Workspace::new(ReadOnly);
    ws.write("f.txt", "");
    for pattern in ["../*", "/etc/*", "{a,b", "[z-a]", "\\", "a/../../*"] {
        let code = ws.refusal("search.glob", json!({"pattern": pattern})).await;
        assert_eq!(code, "invalid-pattern", "{pattern}");
    }
}

#[tokio::test]
async fn fs12_pipes_and_binary_files_are_passed_over_and_counted() {
    let ws = Workspace::new(ReadOnly);
    ws.pipe("p");
    ws.write("b.bin", b"needle\0\0\0");
    ws.write("t.txt", "needle");
    let found = ws.ask("search.grep", json!({"pattern": "needle"})).await;
    assert_eq!(paths(&found["matches"]), ["t.txt"]);
    assert_eq!((&found["skipped"]["special"], &found["skipped"]["binary"]), (&json!(1), &json!(1)));
    assert_eq!(ws.refusal("search.grep", json!({"pattern": "x", "path": "p"})).await, "not-a-file");
}

#[tokio::test]
async fn gr13_bytes_that_are_no_utf8_are_shown_as_escapes() {
    let ws = Workspace::new(ReadOnly);
    ws.write("f.txt", b"a needle \xff here\n");
    let found = ws.ask("search.grep", json!({"pattern": "needle"})).await;
    assert_eq!(found["matches"][0]["text"], r"a needle \xFF here");
    assert_eq!(found["matches"][0]["escaped"], true);
}

#[tokio::test]
async fn results_are_capped_and_say_so() {
    let ws = Workspace::new(ReadOnly);
    ws.write("f.txt", "needle\n".repeat(50));
    let found = ws.ask("search.grep", json!({"pattern": "needle", "limit": 7})).await;
    assert_eq!(found["matches"].as_array().unwrap().len(), 7);
    assert_eq!((&found["truncated"], &found["stopped_by"]), (&json!(true), &json!("limit")));
}
