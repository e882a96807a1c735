//! Clients and judges that nobody here wrote, against the real binary: what they are installed by is
//! `tests/clients/setup`, and what each checks is in its script. Judges nothing itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use super::harness::{folder_with, run, settled};
use crate::guests::built;

/// Longer than any script takes on a busy machine; `timeout` then ends it with 124.
const PATIENCE_SECONDS: &str = "420";

/// What runs a script, below `target/foreign/clients`.
const MODERN: &str = "modern/bin/python";
const LEGACY: &str = "legacy/bin/python";
const NODE: &str = "node/node";

/// A file of `tests/clients`.
fn source(name: &str) -> PathBuf {
    built::root().join("tests/clients").join(name)
}

/// A program that `tests/clients/setup` installed.
pub(super) fn installed(name: &str) -> PathBuf {
    let path = built::root().join("target/foreign/clients").join(name);
    assert!(path.exists(), "`{}` isn't installed: make foreign-toolchains", path.display());
    path
}

/// A folder as the scripts want it: the configuration, the fixture plugin, and a folder to write in.
fn folder(config: &str) -> tempfile::TempDir {
    let folder = folder_with(&[("conformance", built::rust("conformance"))]);
    fs::copy(source(config), folder.path().join("belljar.toml")).unwrap();
    fs::create_dir(folder.path().join("files")).unwrap();
    compile_once(folder.path());
    folder
}

/// So that scripts side by side don't each wait for every plugin to be compiled.
fn compile_once(folder: &Path) {
    static COMPILED: Once = Once::new();
    COMPILED.call_once(|| {
        run(["tools"]).ends_with(0);
        let fixture = folder.join("conformance.wasm");
        run(["inspect".as_ref(), fixture.as_os_str()]).ends_with(0);
    });
}

/// Runs a script against belljar.
#[track_caller]
fn judge(program: &str, script: &str, config: &str) -> String {
    let folder = folder(config);
    run_script(program, script, &[env!("CARGO_BIN_EXE_belljar").as_ref(), folder.path()])
}

/// Runs a script with these arguments to its end, which must be a good one, and gives what it said.
#[track_caller]
pub(super) fn run_script(program: &str, script: &str, arguments: &[&Path]) -> String {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_SECONDS).arg(installed(program)).arg(source(script)).args(arguments);
    settled(&mut command);
    let ran = command.env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (said(&ran.stdout), said(&ran.stderr));
    assert!(ran.status.success(), "{script} ended with {}\n{out}\n{err}", ran.status);
    out
}

#[test]
fn python_clients_of_the_newest_revision_are_served() {
    judge(MODERN, "python_modern.py", "belljar.toml");
}

#[test]
fn python_clients_of_the_handshake_are_served() {
    judge(LEGACY, "python_legacy.py", "belljar.toml");
}

#[test]
fn node_clients_of_the_newest_revision_are_served() {
    judge(NODE, "node_modern.mjs", "belljar.toml");
}

#[test]
fn node_clients_of_the_handshake_are_served() {
    judge(NODE, "node_legacy.mjs", "belljar.toml");
}

#[test]
fn langchain_agents_are_served() {
    judge(LEGACY, "langchain.py", "belljar.toml");
}

#[test]
fn the_inspector_is_served_in_both_eras() {
    installed("npm/node_modules/@modelcontextprotocol/inspector");
    judge(MODERN, "inspector.py", "belljar.toml");
}

#[test]
fn the_http_api_answers_as_it_describes_itself() {
    installed("schemathesis/bin/schemathesis");
    judge(MODERN, "openapi.py", "openapi.toml");
}

#[test]
fn the_conformance_suite_fails_only_what_is_listed() {
    installed("npm/node_modules/@modelcontextprotocol/conformance");
    let said = judge(MODERN, "conformance/suite.py", "conformance/belljar.toml");
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("conformance: ") && last.matches(" 0 failed").count() == 2, "{said}");
}
