//! Whole hosts, as lane D and its like call them: gate, limits, events, and the audit log on the
//! disk.
//!
//! Measures nothing but one call.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belljar::Host;
use belljar::app::{App, CompileIn, PluginSource, Setup, start};
use belljar::config::{Config, Sources, from_text};
use belljar::contract::invocation::ToolInvocation;
use belljar::contract::outcome::Outcome;
use belljar::contract::result::ToolResult;
use belljar::registry::CodeStore;

use super::bench::{Bench, target};

/// The binary of this build, where it is built with one.
pub(crate) const BELLJAR: Option<&str> =
    if cfg!(feature = "cli") { option_env!("CARGO_BIN_EXE_belljar") } else { None };
/// Why lanes that start it aren't there.
pub(crate) const NO_BELLJAR: &str =
    "this build has no `belljar`: its features `cli` and `mcp` are off";

/// What a host is started with.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) plugins: Vec<PluginSource>,
    pub(crate) builtins: bool,
    pub(crate) config: Config,
    has_own_sandbox: bool,
}

impl Plan {
    /// The Rust guest, and nothing else.
    pub(crate) fn rust(bench: &Bench) -> Self {
        Self::of([("bench", bench.rust_file())])
    }

    /// Plugins by their names.
    pub(crate) fn of<'a>(plugins: impl IntoIterator<Item = (&'a str, PathBuf)>) -> Self {
        let source = |(name, path): (&str, PathBuf)| {
            let name = Some(name.parse().expect("a plugin's name"));
            PluginSource { name, path }
        };
        Self { plugins: plugins.into_iter().map(source).collect(), ..Self::default() }
    }

    /// The same with keys of `[sandbox]`; an error says that this build doesn't know them.
    pub(crate) fn with_sandbox(mut self, keys: &[(&str, u32)]) -> Result<Self, String> {
        self.config = sandbox_config(keys)?;
        self.has_own_sandbox = true;
        Ok(self)
    }

    /// Starts it, with a state of its own by this name.
    pub(crate) fn start(self, bench: &Bench, name: &str) -> App {
        self.start_in(&bench.folder(name))
    }

    /// Starts it with this folder for its state.
    pub(crate) fn start_in(mut self, state: &Path) -> App {
        if !self.has_own_sandbox {
            // Each call is to make its own instance, as C′ does; `ready` measures the other way.
            self.config.sandbox.ready_instances = 0;
        }
        self.config.audit.path = None;
        self.config.state = Some(state.to_owned());
        let setup = Setup {
            config: self.config,
            plugins: self.plugins,
            builtins: self.builtins,
            code_folder: Some(cache().join("belljar/code")),
            code_key: Some(code_key()),
            compile_in: BELLJAR.map_or(CompileIn::ThisProcess, |it| CompileIn::Child(it.into())),
            ..Setup::default()
        };
        start(&setup).expect("a host")
    }
}

/// The cache folder that all hosts share, also those of other processes and of the next run: so that
/// each component is compiled once.
pub(crate) fn cache() -> PathBuf {
    target().join("benches/cache")
}

/// The key of the code that is kept there; made where it isn't there.
pub(crate) fn code_key() -> PathBuf {
    let key = target().join("benches/code.key");
    CodeStore::open(&cache().join("belljar/code"), &key).expect("a store of code");
    key
}

/// A configuration with these keys of `[sandbox]`; the reason where this build doesn't know them.
pub(crate) fn sandbox_config(keys: &[(&str, u32)]) -> Result<Config, String> {
    let text: String = keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let text = format!("[sandbox]\n{text}");
    from_text(&text, Path::new("/belljar.toml"), &Sources::default()).map_err(|_unknown| {
        let keys: Vec<_> = keys.iter().map(|(key, value)| format!("`{key} = {value}`")).collect();
        format!("this build doesn't take {} under `[sandbox]`", keys.join(" and "))
    })
}

/// A call that is to be made.
pub(crate) fn invocation(number: usize, tool: &str, arguments: &str) -> ToolInvocation {
    let id = format!("bench-{number}").parse().expect("a call id");
    ToolInvocation::new(id, tool, arguments)
}

/// One call to its end, from the invocation to the result.
pub(crate) async fn call(
    host: &Host,
    number: usize,
    (tool, arguments): (&str, &str),
    is_right: impl FnOnce(&ToolResult) -> bool,
) -> Duration {
    let call = invocation(number, tool, arguments);
    let began = Instant::now();
    let result = host.call(call).await;
    let took = began.elapsed();
    assert!(result.outcome == Outcome::Success && is_right(&result), "{result:?}");
    took
}

/// The smallest call there is.
pub(crate) async fn nop(host: &Host, number: usize) -> Duration {
    call(host, number, ("bench.nop", "{}"), |_| true).await
}
