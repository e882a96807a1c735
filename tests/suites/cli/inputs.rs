//! Wrong input of every kind: one sentence, the documented code, no panic, nothing half-done.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use crate::guests::built;
use crate::suites::harness::{Ran, belljar, folder_with, run};

const HASH: &str = r#"{"algorithm":"sha256","text":"abc"}"#;

/// Loads a file as a plugin.
fn load(path: &Path) -> Ran {
    let mut command = belljar();
    command.args(["call", "codec.hash", HASH, "--plugin"]).arg(path);
    Ran::of(command.output().unwrap())
}

fn load_bytes(bytes: &[u8]) -> Ran {
    let folder = folder_with(&[("x", bytes)]);
    load(&folder.path().join("x.wasm"))
}

#[test]
fn a_plugin_that_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.wasm");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    load(&pipe).refused(3, &["pipe.wasm", "neither a file nor a folder"]);
    run(["inspect".as_ref(), pipe.as_os_str()]).refused(3, &["neither a file nor a folder"]);
    load(&folder.path().join("gone.wasm")).refused(3, &["gone.wasm", "No such file"]);
    load(Path::new("/dev/zero")).refused(3, &["/dev/zero"]);
    // The folder holds a pipe of the right name and no file.
    load(folder.path()).refused(3, &["holds no .wasm file"]);
    run(["inspect".as_ref(), folder.path().as_os_str()]).refused(2, &["is a folder"]);
}

#[test]
fn wh08_what_is_no_component_is_refused_as_what_it_is() {
    load_bytes(b"").refused(3, &["can't be loaded"]);
    load_bytes(&built::wat("core-module")).refused(3, &["can't be loaded", "core wasm module"]);
    load_bytes(built::wat_text("counter").as_bytes()).refused(3, &["can't be loaded"]);
    load_bytes(&built::wat("unknown-import")).refused(3, &["can't be loaded"]);
    load_bytes(b"\x7fELF\x02\x01\x01").refused(3, &["can't be loaded"]);
}

#[test]
fn wh08_a_component_that_was_cut_short_is_refused_wherever_it_was_cut() {
    let whole = built::rust("stock");
    for length in (1..whole.len()).step_by(997) {
        let ran = load_bytes(&whole[..length]);
        // A cut between two sections can leave a whole component, which then has fewer functions.
        assert!(matches!(ran.code, Some(0 | 3)), "{length}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{length}: {ran:?}");
    }
}

#[test]
fn wh08_a_file_that_is_too_large_is_refused_without_being_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.wasm");
    // Sparse: it takes no room on the disk, and would take this machine's memory if it were read.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    load(&path).refused(3, &["huge.wasm", "bytes"]);
}

#[test]
fn a_bad_file_in_a_folder_is_left_out_with_its_reason() {
    let folder = folder_with(&[("good", &built::wat("counter")), ("bad", b"bad")]);
    let mut command = belljar();
    command.args(["call", "good.count", "--plugin"]).arg(folder.path());
    let ran = Ran::of(command.output().unwrap()).ends_with(0);
    assert_eq!(ran.stdout, "1\n");
    assert!(ran.stderr.starts_with("warning: left out the plugin"), "{ran:?}");
    assert!(ran.stderr.contains("bad.wasm"), "{ran:?}");
}

#[test]
fn limits_that_are_none_are_wrong_usage() {
    let wrong = [
        ["--fuel", "lots"],
        ["--fuel", "0"],
        ["--fuel", "1e13"],
        ["--timeout", "5"],
        ["--timeout", "16m"],
        ["--memory", "1.5B"],
        ["--memory", "5GiB"],
        ["--output", "65MiB"],
    ];
    for [option, value] in wrong {
        let ran = run(["call", "codec.hash", HASH, option, value]);
        ran.refused(2, &["error: ", option]);
    }
}

#[test]
fn grants_that_cant_be_given_are_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("inner")).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["--dir", "gone"], "`gone`"),
        (&["--dir", "file"], "not a folder"),
        (&["--dir", ""], "--dir"),
        (&["--dir", ".:rwx"], "rwx"),
        (&["--dir", ".:rw", "--dir", "inner:ro"], "overlap"),
        (&["--dir", "inner", "--dir", "inner"], "/inner"),
        (&["--env", "A=1", "--env", "A=2"], "`A`"),
        (&["--env", "A"], "NAME=VALUE"),
    ];
    for (args, word) in cases {
        let mut command = belljar();
        command.args(["call", "codec.hash", HASH]).args(args).current_dir(folder.path());
        Ran::of(command.output().unwrap()).refused(2, &["error: ", word]);
    }
}

#[test]
fn arguments_that_are_none_are_refused_with_what_was_expected() {
    let cases = [
        ("", "algorithm"),
        ("{", "truncated"),
        ("nonsense", "not JSON"),
        ("[]", "expected a JSON object"),
        ("null", "expected a JSON object"),
        (r#"{"algorithm":"sha256","algorithm":"md5"}"#, "twice"),
        (r#"{"algorithm":"sha1","text":""}"#, "algorithm"),
        (r#"{"algorithm":"md5","txet":""}"#, "txet"),
    ];
    for (arguments, word) in cases {
        run(["call", "codec.hash", arguments]).refused(3, &["invalid_arguments", word]);
    }
    let folder = tempfile::tempdir().unwrap();
    let (long, endless) = (folder.path().join("long.json"), "@/dev/zero");
    fs::write(&long, format!(r#"{{"algorithm":"md5","text":"{}"}}"#, "x".repeat(2 << 20))).unwrap();
    for source in [&format!("@{}", long.display()), endless] {
        run(["call", "codec.hash", source]).refused(3, &["invalid_arguments", "1 MiB"]);
    }
    run(["call", "codec.hash", "@gone.json"]).refused(2, &["gone.json"]);
}

#[test]
fn names_that_are_taken_reserved_or_alike_are_refused() {
    let folder = folder_with(&[("counter", &built::wat("counter"))]);
    let file = folder.path().join("counter.wasm");
    let named = |name: &str| format!("{name}={}", file.display());
    let with = |names: &[&str]| {
        let mut command = belljar();
        command.arg("tools");
        names.iter().for_each(|name| {
            command.args(["--plugin", &named(name)]);
        });
        Ran::of(command.output().unwrap())
    };
    with(&["twice", "twice"]).refused(3, &["`twice` is the name of two plugins"]);
    with(&["codec"]).refused(3, &["`codec`"]);
    for reserved in ["mcp", "belljar", "results", "jobs"] {
        with(&[reserved]).refused(3, &["reserved"]);
    }
    with(&["co-dec"]).refused(3, &["`codec`", "`co-dec`", "look alike"]);
    with(&["paypal", "paypa1"]).refused(3, &["look alike"]);
    with(&["fs\u{430}"]).refused(2, &["--plugin"]);
    with(&["one", "two"]).ends_with(0);
}

#[test]
fn an_unknown_tool_brings_near_names() {
    run(["call", "serch.grep", "{}"]).refused(3, &["not_found", "`search.grep`"]);
    run(["call", "grep", "{}"]).refused(3, &["not_found", "`search.grep`"]);
    run(["inspect", "serch"]).refused(3, &["`serch`", "`search`"]);
}

#[test]
fn a_wire_name_calls_its_tool() {
    assert!(run(["call", "codec_hash", HASH]).ends_with(0).stdout.contains("ba7816bf"));
}
