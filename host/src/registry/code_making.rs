//! Gets a plugin's code: from the store where it is kept, else from the compiler.
//!
//! Reads no name and no word of the plugin.

use std::borrow::Cow;
use std::sync::Arc;

use belljar_metadata::section::excerpt;

use super::code_store::{Address, CodeStore, Kept};
use super::content::copy;
use super::load::{LoadError, PluginFile};
use crate::contract::ids::Digest;
use crate::sandbox::{COMPONENT_MAX_LEN, Code, Compiled, Sandbox};

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

/// A plugin that can be linked, and what is read of it.
pub(super) struct Made<'f> {
    pub(super) compiled: Compiled,
    pub(super) digest: Digest,
    /// The plugin, or an excerpt that says the same of it.
    pub(super) words: Cow<'f, [u8]>,
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

    /// Maps kept code, or compiles and keeps it. Where it is kept, the plugin is hashed and not read.
    pub(super) fn made<'f>(&self, file: &'f PluginFile) -> Result<Made<'f>, LoadError> {
        let Some(store) = &self.store else {
            let bytes = file.content.whole()?;
            self.tell(file);
            let compiled = self.sandbox.compile(&bytes)?;
            return Ok(Made { compiled, digest: Digest::of(&bytes), words: bytes });
        };
        let engine = self.sandbox.compatibility();
        if let Some(made) = self.kept(store, file, engine)? {
            return Ok(made);
        }
        let bytes = file.content.whole()?;
        self.tell(file);
        let code = self.sandbox.code_of(&bytes)?;
        // First, so that what can't be linked isn't kept.
        let mut compiled = self.sandbox.load(Code::Bytes(&code))?;
        let digest = Digest::of(&bytes);
        if let Some(words) = excerpt(&bytes) {
            // Of the bytes that were compiled, whatever the file is by now.
            let plugin = Address::of(bytes.len() as u64, |from, it| copy(&bytes, from, it))?;
            store.write(&plugin, engine, &code, &digest, &words);
            // The file's pages are shared with every other process; what was just compiled is not.
            let mapped = store.read(&plugin, engine).map(|kept| self.sandbox.load(kept.code));
            compiled = mapped.and_then(Result::ok).unwrap_or(compiled);
        }
        Ok(Made { compiled, digest, words: bytes })
    }

    fn kept<'f>(
        &self,
        store: &CodeStore,
        file: &PluginFile,
        engine: &str,
    ) -> Result<Option<Made<'f>>, LoadError> {
        let len = file.content.len()?;
        if len > COMPONENT_MAX_LEN as u64 {
            return Ok(None);
        }
        let plugin = Address::of(len, |from, piece| file.content.fill(from, piece))?;
        let Some(Kept { code, digest, words }) = store.read(&plugin, engine) else {
            return Ok(None);
        };
        match self.sandbox.load(code) {
            Ok(compiled) => {
                store.used();
                Ok(Some(Made { compiled, digest, words: Cow::Owned(words) }))
            }
            Err(error) => {
                store.refuse(&plugin, &error.to_string());
                Ok(None)
            }
        }
    }

    fn tell(&self, file: &PluginFile) {
        if let Some(OnCompile(told)) = &self.on_compile {
            told(&file.stem);
        }
    }
}
