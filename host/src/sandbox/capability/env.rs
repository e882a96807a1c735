//! `wasi:cli/environment`: the granted variables, and a note of those that were asked for in vain.
//!
//! A guest reads all variables at once, so which one it was after is known from its own needs only.

use std::sync::Arc;

use wasmtime::component::HasData;
use wasmtime_wasi::cli::WasiCliCtxView;
use wasmtime_wasi::p2::bindings::cli::environment;

use super::denied::Denials;

/// Names this view to the linker.
pub(crate) struct Environment;

impl HasData for Environment {
    type Data<'a> = EnvironmentView<'a>;
}

/// wasmtime-wasi's view with what the plugin says it needs and wasn't given.
pub(crate) struct EnvironmentView<'a> {
    pub(crate) inner: WasiCliCtxView<'a>,
    pub(crate) missing: Arc<[String]>,
    pub(crate) denials: Denials,
}

impl environment::Host for EnvironmentView<'_> {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        for name in self.missing.iter() {
            let grant = format!("--env {name}=VALUE");
            self.denials.note(
                "env",
                &format!("to read variables, and says that it needs `{name}`"),
                Some(&grant),
            );
        }
        environment::Host::get_environment(&mut self.inner)
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        environment::Host::get_arguments(&mut self.inner)
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        environment::Host::initial_cwd(&mut self.inner)
    }
}
