//! MCP servers that nobody here wrote, and belljar itself, as upstreams of the real binary. How each
//! end of a call is told is tested where that is decided.

use std::path::Path;

use super::home::Home;

/// A configuration with one server.
fn upstream(program: &Path, args: &[&Path], more: &str) -> String {
    let args: Vec<_> = args.iter().map(|it| it.display().to_string()).collect();
    let program = program.display().to_string();
    format!("[upstream.far]\ncommand = {program:?}\nargs = {args:?}\n{more}")
}

#[test]
fn belljar_calls_the_tools_of_a_belljar_that_it_starts() {
    let inner = Home::new("[callers.mcp]\nlevel = \"FULL\"\n");
    let config = inner.path("config/belljar.toml");
    let args = ["serve".as_ref(), "--stdio".as_ref(), "--config".as_ref(), config.as_path()];
    // With the key of the code that all share: by another it would compile the builtins anew.
    let cache = super::harness::cache();
    let [cache, state] = [cache.clone(), cache.join("state")].map(|it| it.display().to_string());
    let env = format!("env = {{ XDG_CACHE_HOME = {cache:?}, XDG_STATE_HOME = {state:?} }}\n");
    let belljar = Path::new(env!("CARGO_BIN_EXE_belljar"));
    let outer = Home::new(&upstream(belljar, &args, &env));
    let ran = outer.run(["call", "far.codec-hash", "{\"algorithm\":\"crc32\",\"text\":\"abc\"}"]);
    assert!(ran.stdout.contains("352441c2"), "{ran:?}");
}

#[cfg(feature = "foreign-guests")]
#[test]
fn servers_of_the_python_package_are_called_in_both_eras() {
    use crate::guests::built;
    let script = built::root().join("tests/guests/upstream/package.py");
    for era in ["modern", "legacy"] {
        let python = super::clients::installed(&format!("{era}/bin/python"));
        let home = Home::new(&upstream(&python, &["-B".as_ref(), script.as_path()], ""));
        let ran = home.run(["call", "far.add", "{\"a\":1,\"b\":2}"]).ends_with(0);
        assert!(ran.stdout.contains('3'), "{era}: {ran:?}");
        let ran = home.run(["call", "far.add", "{\"a\":\"x\",\"b\":2}"]);
        assert!(ran.stderr.contains("`/a`"), "{era}: {ran:?}");
        let ran = home.run(["call", "far.fail", "{}"]);
        // Version 2 of the package keeps an exception's own words to itself.
        assert!(ran.stderr.contains("[tool_error]: Error executing tool fail"), "{era}: {ran:?}");
    }
}
