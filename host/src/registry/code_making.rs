//! Gets a plugin's code: from the store where it is kept, else from the compiler.
//!
//! Reads no name and no word of the plugin.

use std::sync::Arc;

use super::code_store::CodeStore;
use super::load::PluginFile;
use crate::contract::ids::Digest;
use crate::sandbox::{Code, Compiled, ComponentError, Sandbox};

/// Is told of each plugin that has to be compiled, before it is: by its file's name without the
/// ending, unescaped.
#[derive(Clone)]
pub struct OnCompile(Arc<dyn Fn(&str) + Send + Sync>);

impl OnCompile {
    /// Tells `told`.
    pub fn new(told: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl std::fmt::Debug for OnCompile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnCompile")
    }
}

/// Where code comes from.
#[derive(Debug, Clone)]
pub(super) struct CodeMaking {
    sandbox: Sandbox,
    store: Option<CodeStore>,
    on_compile: Option<OnCompile>,
}

impl CodeMaking {
    pub(super) fn new(
        sandbox: Sandbox,
        store: Option<CodeStore>,
        on_compile: Option<OnCompile>,
    ) -> Self {
        Self { sandbox, store, on_compile }
    }

    /// Maps kept code, or compiles and keeps it.
    pub(super) fn compiled(
        &self,
        file: &PluginFile,
        digest: &Digest,
    ) -> Result<Compiled, ComponentError> {
        let Some(store) = &self.store else {
            self.tell(file);
            return self.sandbox.compile(&file.bytes);
        };
        let engine = self.sandbox.compatibility();
        if let Some(code) = store.read(digest, engine) {
            match self.sandbox.load(code) {
                Ok(compiled) => {
                    store.used();
                    return Ok(compiled);
                }
                Err(error) => store.refuse(digest, &error.to_string()),
            }
        }
        self.tell(file);
        let code = self.sandbox.code_of(&file.bytes)?;
        // First, so that what can't be linked isn't kept.
        let compiled = self.sandbox.load(Code::Bytes(&code))?;
        store.write(digest, engine, &code);
        drop(code);
        // The file's pages are shared with every other process; what was just compiled is not.
        let mapped = store.read(digest, engine).map(|code| self.sandbox.load(code));
        Ok(mapped.and_then(Result::ok).unwrap_or(compiled))
    }

    fn tell(&self, file: &PluginFile) {
        if let Some(OnCompile(told)) = &self.on_compile {
            told(&file.stem);
        }
    }
}
