//! Components that componentize-js and componentize-py built, through the real binary.

use std::path::PathBuf;
use std::sync::Once;

use serde_json::{Value, json};

use super::harness::{Ran, belljar, run};
use crate::guests::built;

const SHARED: &[&str] = &["reverse", "greet", "count-bytes", "add", "next-number", "throw", "spin"];

/// A component that a toolchain from another registry built, and the name of its plugin.
struct Foreign {
    file: &'static str,
    plugin: &'static str,
}

const BOTH: [Foreign; 2] =
    [Foreign { file: "js", plugin: "javascript" }, Foreign { file: "python", plugin: "python" }];

impl Foreign {
    fn path(&self) -> PathBuf {
        let path = built::root().join(format!("target/foreign/{}.wasm", self.file));
        assert!(path.is_file(), "`{}` isn't built: make foreign-toolchains", path.display());
        path
    }

    fn call(&self, tool: &str, arguments: &Value, more: &[&str]) -> Ran {
        compile_once();
        let mut command = belljar();
        command.args(["call", &format!("{}.{tool}", self.plugin), &arguments.to_string()]);
        command.arg("--plugin").arg(self.path()).arg("--json").args(more);
        Ran::of(command.output().unwrap())
    }

    fn answer(&self, tool: &str, arguments: &Value) -> Value {
        self.call(tool, arguments, &[]).ends_with(0).json()
    }
}

/// So that tests side by side don't each compile them: it takes an unoptimised build a minute.
fn compile_once() {
    static COMPILED: Once = Once::new();
    COMPILED.call_once(|| {
        for foreign in BOTH {
            run(["inspect".as_ref(), foreign.path().as_os_str()]).ends_with(0);
        }
    });
}

#[test]
fn inspect_shows_their_tools_and_none_of_their_runtimes() {
    compile_once();
    for (foreign, own) in BOTH.iter().zip(["fetch-status", "read-text"]) {
        let shown = run(["inspect".as_ref(), foreign.path().as_os_str(), "--json".as_ref()]);
        let shown = shown.ends_with(0).json();
        let ids: Vec<&str> = shown["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap())
            .collect();
        let mut expected: Vec<_> =
            SHARED.iter().chain([&own]).map(|name| format!("{}.{name}", foreign.plugin)).collect();
        expected.sort();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(!ids.iter().any(|id| id.contains("exports")), "{ids:?}");
    }
}

#[test]
fn typed_records_go_in_and_come_out() {
    let visitor = json!({"name": "Ada", "age": 36, "tone": "casual", "tags": ["x", "y"]});
    for foreign in BOTH {
        let result = foreign.answer("greet", &visitor);
        let expected = json!({"greeting": "Hi, Ada x y", "adult": true, "tag_count": 2});
        assert_eq!(result["structured"], expected, "{}", foreign.file);
    }
}

#[test]
fn a_result_is_success_or_tool_error_by_its_case() {
    for foreign in BOTH {
        assert_eq!(foreign.answer("reverse", &json!({"text": "añb"}))["content"], "bña");
        let failed = foreign.call("reverse", &json!({"text": ""}), &[]).ends_with(1).json();
        assert_eq!(failed["outcome"], "tool_error", "{failed}");
        assert!(failed["errorMessage"].as_str().unwrap().contains("the text is empty"), "{failed}");
        let sum = foreign.answer("add", &json!({"left": "9007199254740993", "right": 1}));
        assert_eq!(sum["content"], "9007199254740994", "{sum}");
    }
}

#[test]
fn bytes_become_an_attachment() {
    for foreign in BOTH {
        let result = foreign.answer("count-bytes", &json!({"length": 4}));
        let [attachment] = &result["attachments"].as_array().unwrap()[..] else {
            panic!("{result}")
        };
        assert_eq!((&attachment["bytes"], &attachment["size"]), (&json!("AAECAw=="), &json!(4)));
    }
}

#[test]
fn an_exception_that_no_type_allows_for_is_a_crash() {
    for foreign in BOTH {
        let result = foreign.call("throw", &json!({"message": "boo"}), &[]).ends_with(5).json();
        assert_eq!(result["outcome"], "crashed", "{result}");
    }
}

#[test]
fn an_endless_loop_meets_its_deadline() {
    for foreign in BOTH {
        let result = foreign.call("spin", &json!({}), &["--timeout", "500ms"]).ends_with(4).json();
        assert_eq!(result["outcome"], "timed_out", "{result}");
    }
}

#[test]
fn each_call_has_its_own_instance() {
    for foreign in BOTH {
        for _ in 0..2 {
            assert_eq!(foreign.answer("next-number", &json!({}))["content"], "1");
        }
    }
}

#[test]
fn javascripts_fetch_is_denied_and_what_is_missing_is_named() {
    let [js, _] = BOTH;
    let url = json!({"url": "http://example.com/"});
    let result = js.call("fetch-status", &url, &[]).ends_with(1).json();
    assert_eq!(result["missingGrants"][0]["kind"], "http", "{result}");
    assert!(result["errorMessage"].as_str().unwrap().contains("http"), "{result}");
}

#[test]
fn pythons_open_needs_a_folder_and_works_with_it() {
    let [_, python] = BOTH;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "granted").unwrap();
    let path = json!({"path": "a.txt"});
    let denied = python.call("read-text", &path, &[]).ends_with(1).json();
    assert_eq!(denied["missingGrants"][0]["kind"], "dir", "{denied}");
    let dir = folder.path().to_str().unwrap();
    let read = python.call("read-text", &path, &["--dir", dir]).ends_with(0).json();
    assert_eq!(read["content"], "granted");
}
