//! Runs the binary and starts hosts for the suites, with compiled code kept in one folder so that
//! each component is compiled once. Judges nothing.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use belljar::app::{App, CompileIn, DirRequest, PluginSource, Setup};
use belljar::contract::grants::DirMode;
use belljar::contract::invocation::{PermissionLevel, ToolInvocation};
use belljar::contract::result::ToolResult;
use serde_json::Value;

/// Longer than any command may take here; `timeout` then ends with 124.
const PATIENCE_SECONDS: &str = "600";

/// The cache folder that the suites' hosts share.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites")
}

/// Where such a cache folder has the compiled code.
pub(crate) fn code_in(cache: &Path) -> PathBuf {
    cache.join("belljar/code")
}

/// The key that the suites' hosts check that code by.
pub(crate) fn key_of_code() -> PathBuf {
    cache().join("state/belljar/code.key")
}

/// Gives a command a state folder of its own, with the key of the shared code: by another one it
/// would compile each component anew, and then all others would.
pub(crate) fn own_state(command: &mut Command, state: &Path) {
    belljar::registry::CodeStore::open(&code_in(&cache()), &key_of_code()).unwrap();
    command.env("XDG_STATE_HOME", state);
    let folder = state.join("belljar");
    // Where a test put something else in its place, belljar is to meet that.
    if state.exists() && !state.is_dir() {
        return;
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    let key = folder.join("code.key");
    if !key.exists() {
        // A command that runs already must not meet half of it. A copy has the mode of what it is of.
        let part = tempfile::NamedTempFile::new_in(&folder).unwrap();
        std::fs::copy(key_of_code(), part.path()).unwrap();
        part.persist(key).unwrap();
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Takes an output that must be text.
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Stdout as the one JSON value that it must be.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks the code, and gives itself back.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Checks that it is refused with this code, without a panic and in one sentence that holds
    /// all `words`.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, words: &[&str]) -> Self {
        let ran = self.ends_with(code);
        assert!(ran.stdout.is_empty(), "{ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        for word in words {
            assert!(ran.stderr.contains(word), "`{word}` isn't said: {ran:?}");
        }
        ran
    }
}

/// The binary, with nothing on stdin and killed when it takes far too long.
pub(crate) fn belljar() -> Command {
    let mut command = Command::new("timeout");
    command.args([PATIENCE_SECONDS, env!("CARGO_BIN_EXE_belljar")]);
    settled(&mut command);
    command
}

/// The surroundings in which every command runs.
pub(crate) fn settled(command: &mut Command) {
    command
        .env("XDG_CACHE_HOME", cache())
        // A place without a configuration, and one where what is recorded harms nobody.
        .env("XDG_CONFIG_HOME", cache().join("config"))
        .env("XDG_STATE_HOME", cache().join("state"))
        .env_remove("BELLJAR_CONFIG")
        .env_remove("BELLJAR_LOG")
        .stdin(Stdio::null());
}

/// Runs the binary to its end.
pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    Ran::of(belljar().args(args).output().unwrap())
}

/// A new folder with `<name>.wasm` in it for each plugin.
pub(crate) fn folder_with(plugins: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in plugins {
        std::fs::write(folder.path().join(format!("{name}.wasm")), bytes).unwrap();
    }
    folder
}

/// A folder, granted by its own name.
pub(crate) fn dir(host: &Path, mode: DirMode) -> DirRequest {
    DirRequest { host: host.to_owned(), guest: None, mode }
}

/// A host's set-up with nothing in it but the builtins.
pub(crate) fn builtins() -> Setup {
    Setup {
        builtins: true,
        code_folder: Some(code_in(&cache())),
        code_key: Some(key_of_code()),
        compile_in: CompileIn::Child(env!("CARGO_BIN_EXE_belljar").into()),
        ..Setup::default()
    }
}

/// A set-up with these plugins and nothing else.
pub(crate) fn plugins(folder: &tempfile::TempDir) -> Setup {
    let source = PluginSource { name: None, path: folder.path().to_owned() };
    Setup { plugins: vec![source], builtins: false, ..builtins() }
}

/// Starts a host that must start, with all of its plugins.
pub(crate) fn start(setup: &Setup) -> App {
    let app = belljar::app::start(setup).unwrap();
    assert!(app.failed.is_empty(), "{:?}", app.failed);
    assert_eq!(app.code_store_problem, None);
    app
}

/// Calls a tool as the operator would.
pub(crate) async fn call(app: &App, tool: &str, arguments: Value) -> ToolResult {
    let mut call = ToolInvocation::new("a-call".parse().unwrap(), tool, arguments.to_string());
    call.permission_level = PermissionLevel::Full;
    app.host.call(call).await
}

/// A component with one more custom section at its end.
pub(crate) fn with_section(component: &[u8], name: &str, content: &[u8]) -> Vec<u8> {
    let mut body = leb128(name.len());
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(content);
    let mut bytes = component.to_vec();
    // Custom sections have id 0 (WebAssembly core specification, binary format).
    bytes.push(0);
    bytes.extend(leb128(body.len()));
    bytes.extend(body);
    bytes
}

/// Unsigned LEB128, the form of every length in WebAssembly.
fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}
