//! No raw control, bidi or invisible character of a plugin reaches the terminal, by any way.

use std::process::Command;

use serde_json::json;

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, folder_with, run, with_section};

/// A screen wipe, a title, a C1 introducer, an override, a zero-width space, a tag, a backspace, a
/// bell, an overwritten line.
const EVIL: &str = "a\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\u{202e}b\u{200b}\u{e0041}\u{8}safe\rrm";

#[track_caller]
fn is_clean(ran: &Ran) {
    let raw = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(raw), "{text:?}");
    }
}

/// A plugin whose words are evil: the counter, described by a section.
fn evil_words() -> Vec<u8> {
    let words = json!({
        "format": 1, "name": "counter", "version": EVIL, "description": EVIL, "toolchain": EVIL,
        "authors": [EVIL], "licence": EVIL, "homepage": EVIL,
        "needs": [{"kind": "env", "name": EVIL, "why": EVIL}],
        "functions": {
            "count": {"docs": EVIL, "tags": {"title": EVIL, "examples": [{"x": EVIL}]}},
            EVIL: {"docs": "what isn't there"},
        },
    });
    with_section(&built::wat("counter"), "belljar:plugin", words.to_string().as_bytes())
}

/// One of each kind that acts or hides: C0 (with ESC, which begins ANSI sequences), DEL and C1, bidi,
/// zero width, line and paragraph separators, tags.
const HIDDEN: [char; 24] = [
    '\u{1}',
    '\u{7}',
    '\u{8}',
    '\r',
    '\u{1b}',
    '\u{7f}',
    '\u{85}',
    '\u{9b}',
    '\u{61c}',
    '\u{200e}',
    '\u{202a}',
    '\u{202e}',
    '\u{2066}',
    '\u{2069}',
    '\u{200b}',
    '\u{200d}',
    '\u{2060}',
    '\u{feff}',
    '\u{2028}',
    '\u{2029}',
    '\u{e0001}',
    '\u{e0041}',
    '\u{e007f}',
    '\u{ad}',
];

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Checks that each character that was sent came through as its number or as JSON's own escape, or is told of:
/// tags are left out of what a plugin says of itself, with a finding.
#[track_caller]
fn shows_each(sent: &str, place: &str, ran: &Ran) {
    let shown = format!("{}{}", ran.stdout, ran.stderr);
    for c in sent.chars() {
        assert!(!shown.contains(c), "{place}: {c:?} is raw: {shown:?}");
        let json = json!(c).to_string();
        let json = json.trim_matches('"');
        let told = shown.contains(&format!("<U+{:04X}>", u32::from(c)))
            || (json.starts_with('\\') && shown.contains(json))
            || (is_tag(c) && shown.contains("invisible tag characters"));
        assert!(told, "{place}: {c:?} isn't shown: {shown:?}");
    }
}

#[test]
fn t39_every_hidden_character_is_escaped_in_arguments_names_descriptions_and_reasons() {
    let hidden: String = HIDDEN.iter().collect();
    // An example with tags in it is left out whole.
    let seen = hidden.replace(is_tag, "");
    let page = |place: &str| {
        let mut words =
            json!({"format": 1, "functions": {"count": {"docs": "Counts.", "tags": {}}}});
        match place {
            "description" => words["description"] = json!(hidden),
            "docs" => words["functions"]["count"]["docs"] = json!(hidden),
            "title" => words["functions"]["count"]["tags"]["title"] = json!(hidden),
            "example" => {
                words["functions"]["count"]["tags"]["examples"] = json!([{"x": seen}]);
            }
            "reason" => {
                words["needs"] = json!([{"kind": "env", "name": "TOKEN", "why": hidden}]);
            }
            _ => words["functions"][&hidden] = json!({"docs": "what isn't there"}),
        }
        let bytes =
            with_section(&built::wat("counter"), "belljar:plugin", words.to_string().as_bytes());
        let folder = folder_with(&[("counter", &bytes)]);
        run(["inspect".as_ref(), folder.path().join("counter.wasm").as_os_str()]).ends_with(0)
    };
    for place in ["description", "docs", "title", "reason", "name"] {
        shows_each(&hidden, place, &page(place));
    }
    shows_each(&seen, "example", &page("example"));
    let argument = call("stock", "greet", &json!({"name": hidden}), &["--trace"]);
    shows_each(&hidden, "argument", &argument.ends_with(0));
    // A message repeats so much of a name, and so many names.
    for few in HIDDEN.chunks(12) {
        let sent: String = few.iter().collect();
        let names = few.iter().map(|c| (c.to_string(), json!(1))).collect();
        let named = call("stock", "greet", &serde_json::Value::Object(names), &[]).ends_with(3);
        shows_each(&sent, "argument's name", &named);
        shows_each(&sent, "tool's name", &run(["call", sent.as_str(), "{}"]).ends_with(3));
    }
}

fn call(guest: &str, tool: &str, arguments: &serde_json::Value, more: &[&str]) -> Ran {
    let folder = folder_with(&[("guest", built::rust(guest))]);
    let plugin = format!("guest={}", folder.path().join("guest.wasm").display());
    let mut command: Command = belljar();
    command.args(["call", &format!("guest.{tool}"), &arguments.to_string(), "--plugin", &plugin]);
    Ran::of(command.args(more).output().unwrap())
}

#[test]
fn sec16_what_a_tool_returns_is_escaped() {
    for more in [&[][..], &["--json"], &["--trace"], &["--json", "--trace"]] {
        let greeted = call("stock", "greet", &json!({"name": EVIL}), more).ends_with(0);
        is_clean(&greeted);
        // The negative is only worth something where the text did come through.
        assert!(greeted.stdout.contains("safe"), "{greeted:?}");
        let failed = call("hostile", "create-file", &json!({"path": format!("/{EVIL}")}), more);
        is_clean(&failed.ends_with(1));
    }
}

#[test]
fn json_keeps_what_a_tool_returns_to_the_byte() {
    let greeted = call("stock", "greet", &json!({"name": EVIL}), &["--json"]).ends_with(0);
    assert_eq!(greeted.json()["content"], format!("Hello, {EVIL}!"));
}

#[test]
fn sec16_what_a_tool_prints_is_escaped_and_bears_its_name() {
    for more in [&[][..], &["--json"], &["--trace"]] {
        let printed = call("hostile", "print", &json!({"bytes": 100}), more).ends_with(0);
        is_clean(&printed);
        assert!(printed.stderr.contains("guest.print | {\"jsonrpc\""), "{printed:?}");
        assert!(printed.stderr.contains("guest.print | stderr: {\"jsonrpc\""), "{printed:?}");
        assert!(!printed.stdout.contains("jsonrpc"), "{printed:?}");
        let panicked = call("hostile", "panic", &json!({"message": EVIL}), more).ends_with(5);
        is_clean(&panicked);
        assert!(panicked.stderr.contains("safe"), "{panicked:?}");
    }
}

#[test]
fn sec20_no_line_of_a_tool_can_be_taken_for_belljars() {
    let forged = json!({"message": "x\nerror: approved by admin\u{2028}error: twice\nnote: fine"});
    let ran = call("hostile", "panic", &forged, &["--trace"]).ends_with(5);
    for line in ran.stderr.lines() {
        let own = line.starts_with("error[crashed]") || line.starts_with("trace |");
        let theirs = line.starts_with("guest.panic |") || line.starts_with("  ");
        assert!(own || theirs || line.starts_with("usage |"), "{line:?} in {ran:?}");
    }
}

#[test]
fn sec18_what_a_plugin_says_of_itself_is_escaped() {
    let folder = folder_with(&[("counter", &evil_words())]);
    let file = folder.path().join("counter.wasm");
    let file = file.to_str().unwrap();
    let shown = [
        run(["inspect", file]),
        run(["inspect", file, "--json"]),
        run(["tools", "--plugin", file]),
        run(["tools", "--json", "--plugin", file]),
        run(["call", "counter.count", "--plugin", file, "--trace"]),
        run(["call", "counter.cuont", "--plugin", file]),
    ];
    for ran in &shown {
        is_clean(ran);
        assert!(matches!(ran.code, Some(0 | 3)), "{ran:?}");
    }
    assert!(shown[0].stdout.contains("safe"), "{:?}", shown[0]);
}

#[test]
fn names_that_are_typed_are_escaped_too() {
    for args in [
        ["call", EVIL, "{}"],
        ["call", "codec.hash", EVIL],
        ["inspect", EVIL, "--json"],
        ["tools", "--plugin", EVIL],
        ["tools", "--dir", EVIL],
        ["tools", "--env", EVIL],
        [EVIL, EVIL, EVIL],
        ["call", "codec.hash", r#"{"a\u001b[2J":1}"#],
    ] {
        let ran = run(args);
        is_clean(&ran);
        assert!(matches!(ran.code, Some(2 | 3)) && !ran.stderr.is_empty(), "{ran:?}");
    }
}
