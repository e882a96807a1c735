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
use crate::sandbox::{COMPONENT_MAX_LEN, Code, Compiled, ComponentError, Sandbox};

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

fn without_room(error: &std::io::Error) -> ComponentError {
    ComponentError::NoRoom(error.to_string())
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

    /// Maps kept code, if there is any. The plugin is hashed then, and not read.
    pub(super) fn kept(&self, file: &PluginFile) -> Result<Option<Made<'static>>, LoadError> {
        let Some(store) = &self.store else { return Ok(None) };
        let len = file.content.byte_count()?;
        if len > COMPONENT_MAX_LEN as u64 {
            return Ok(None);
        }
        let plugin = Address::of(len, |from, piece| file.content.fill(from, piece))?;
        let kept = store
            .read(&plugin, self.sandbox.compatibility())
            .map_err(|error| without_room(&error))?;
        let Some(Kept { code, digest, words }) = kept else { return Ok(None) };
        match self.sandbox.load(code) {
            Ok(compiled) => {
                store.used();
                Ok(Some(Made { compiled, digest, words: Cow::Owned(words) }))
            }
            // Nothing is wrong with what was kept, and compiling takes more.
            Err(error @ (ComponentError::NoRoom(_) | ComponentError::Engine(_))) => {
                Err(error.into())
            }
            Err(error) => {
                store.refuse(&plugin, &error.to_string());
                Ok(None)
            }
        }
    }

    /// Compiles, and keeps the code where any is kept.
    pub(super) fn anew<'f>(&self, file: &'f PluginFile) -> Result<Made<'f>, LoadError> {
        let bytes = file.content.whole()?;
        if let Some(OnCompile(told)) = &self.on_compile {
            told(&file.stem);
        }
        let code = self.sandbox.code_of(&bytes)?;
        // First, so that what can't be linked isn't kept.
        let compiled = self.sandbox.load(Code::Bytes(&code))?;
        let digest = Digest::of(&bytes);
        let mapped = self.keep(&bytes, &code, &digest)?;
        Ok(Made { compiled: mapped.unwrap_or(compiled), digest, words: bytes })
    }

    /// Keeps code and maps it: the file's pages are shared with every other process, and those of
    /// what was just compiled aren't.
    fn keep(
        &self,
        bytes: &[u8],
        code: &[u8],
        digest: &Digest,
    ) -> Result<Option<Compiled>, LoadError> {
        let (Some(store), Some(words)) = (&self.store, excerpt(bytes)) else { return Ok(None) };
        let engine = self.sandbox.compatibility();
        // Of the bytes that were compiled, whatever the file is by now.
        let plugin = Address::of(bytes.len() as u64, |from, piece| copy(bytes, from, piece))?;
        if !store.write(&plugin, engine, code, digest, &words) {
            return Ok(None);
        }
        // Where it can't be mapped, what was just compiled is there.
        let kept = store.read(&plugin, engine).ok().flatten();
        Ok(kept.and_then(|kept| self.sandbox.load(kept.code).ok()))
    }
}
