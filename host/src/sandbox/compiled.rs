//! A plugin's component, checked and compiled once, linked once, its code shared by every call.
//!
//! Nothing of the plugin runs here.

use wasmparser::{Validator, WasmFeatures};
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker};

use super::capability::link::LINKED;
use super::compiling::{CapsError, CompilingError};
use super::engine::{EngineError, SandboxEngine};
use super::permits::PluginPermits;
use super::ready::Shelf;
use super::room::short_of;
use super::state::HostState;
use crate::contract::escape;

/// Largest component, in bytes. componentize-py makes 18 MB.
pub const COMPONENT_MAX_LEN: usize = 64 << 20;
/// Unknown imports that a refusal lists.
const LISTED_IMPORTS: usize = 10;

/// Why bytes are not a plugin.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// Too large to look at.
    #[error("it has {0} bytes; a component may have {COMPONENT_MAX_LEN}")]
    TooLarge(usize),
    /// A core module.
    #[error(
        "it is a core wasm module, not a component; build it for `wasm32-wasip2`, or turn it into \
         one with `wasm-tools component new`"
    )]
    CoreModule,
    /// Not wasm at all.
    #[error("it is no WebAssembly component: its first bytes are not those of one")]
    NotWasm,
    /// Truncated, corrupt, or using what is turned off.
    #[error("it is no valid component: {0}")]
    Invalid(String),
    /// Needs the second engine.
    #[error(
        "it uses component-model async or WASI 0.3, which belljar doesn't run yet; build it for \
         WASI 0.2"
    )]
    Async,
    /// Too much to compile.
    #[error(transparent)]
    Caps(#[from] CapsError),
    /// The compiler.
    #[error(transparent)]
    Compiling(#[from] CompilingError),
    /// It may be a good one, and there is no place for it.
    #[error("the machine has no room for it: {0}")]
    NoRoom(String),
    /// It may be a good one, and there is no engine for its like.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Imports what nobody knows.
    #[error("it imports what belljar doesn't provide: {0}")]
    UnknownImports(String),
}

impl ComponentError {
    /// What wasmtime says of code that is loaded or linked.
    pub(super) fn of_loading(error: &wasmtime::Error) -> Self {
        match short_of(error) {
            Some(why) => Self::NoRoom(why),
            None => Self::Invalid(shown(&format!("{error:#}"))),
        }
    }
}

/// A function a component exports.
#[derive(Debug, Clone)]
pub struct ExportedFunction {
    /// The interface it belongs to, as exported; `None` for a bare export of the world.
    pub interface: Option<String>,
    /// Its name in there.
    pub name: String,
    /// Its type, by reflection.
    pub(crate) ty: ComponentFunc,
    /// Where to find it in an instance.
    pub(crate) index: ComponentExportIndex,
}

/// A component that is ready to be instantiated.
pub struct Compiled {
    pub(crate) pre: InstancePre<HostState>,
    pub(crate) permits: PluginPermits,
    pub(crate) shelf: Shelf,
    imports: Vec<String>,
    /// The file its code is mapped from, whose lock says that it is in use.
    _file: Option<std::fs::File>,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").field("imports", &self.imports).finish_non_exhaustive()
    }
}

/// Compiled code that this process may run. Whoever makes one vouches for it.
#[derive(Debug)]
pub(crate) enum Code<'a> {
    /// A file that was checked, and stays open: it is mapped, and marked as in use as long as what
    /// was loaded from it is there. Behind the code may stand other bytes.
    File(std::fs::File),
    /// What the compiler just made.
    Bytes(&'a [u8]),
}

impl Code<'_> {
    /// The file, where there is one.
    pub(super) fn file(self) -> Option<std::fs::File> {
        match self {
            Self::File(file) => Some(file),
            Self::Bytes(_) => None,
        }
    }
}

/// Whether a component is valid with component-model async and not without.
pub(super) fn needs_async(bytes: &[u8]) -> bool {
    let of_async = WasmFeatures::CM_ASYNC
        | WasmFeatures::CM_ASYNC_STACKFUL
        | WasmFeatures::CM_MORE_ASYNC_BUILTINS
        | WasmFeatures::CM_THREADING
        | WasmFeatures::CM_ERROR_CONTEXT;
    let is_valid = |features| Validator::new_with_features(features).validate_all(bytes).is_ok();
    is_valid(WasmFeatures::all()) && !is_valid(WasmFeatures::all().difference(of_async))
}

pub(super) fn shown(text: &str) -> String {
    escape::clipped_line(text, 300)
}

impl Compiled {
    /// Checks the imports and links the component.
    ///
    /// # Errors
    /// Imports that nobody knows, listed; or ones of another type than ours.
    pub(crate) fn link(
        engine: &SandboxEngine,
        linker: &Linker<HostState>,
        component: &Component,
        permits: PluginPermits,
        file: Option<std::fs::File>,
    ) -> Result<Self, ComponentError> {
        let ty = component.component_type();
        let imports: Vec<String> =
            ty.imports(engine.wasmtime()).map(|(name, _)| name.to_owned()).collect();
        refuse_unknown(&imports)?;
        let pre = linker
            .instantiate_pre(component)
            .map_err(|error| ComponentError::of_loading(&error))?;
        // So that the first call doesn't pay for the image of the memory. Without it calls are
        // slower and nothing else.
        if let Err(error) = component.initialize_copy_on_write_image() {
            tracing::debug!("no copy-on-write image: {error:#}");
        }
        Ok(Self { pre, permits, shelf: Shelf::default(), imports, _file: file })
    }

    /// The imports, as the component names them.
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    /// The names of the exported instances: interfaces, also those without a function.
    pub(crate) fn instances(&self) -> Vec<String> {
        let component = self.pre.component();
        let ty = component.component_type();
        let exports = ty.exports(component.engine());
        let instances =
            exports.filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentInstance(_)));
        instances.map(|(name, _)| name.to_owned()).collect()
    }

    /// The functions of every exported interface, and the bare ones, in the component's order.
    pub fn functions(&self) -> Vec<ExportedFunction> {
        let component = self.pre.component();
        let engine = component.engine();
        let mut found = Vec::new();
        for (name, item) in component.component_type().exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(ty) => {
                    if let Some(index) = component.get_export_index(None, name) {
                        let name = name.to_owned();
                        found.push(ExportedFunction { interface: None, name, ty, index });
                    }
                }
                ComponentItem::ComponentInstance(instance) => {
                    let Some(outer) = component.get_export_index(None, name) else { continue };
                    for (function, item) in instance.exports(engine) {
                        let ComponentItem::ComponentFunc(ty) = item.ty else { continue };
                        if let Some(index) = component.get_export_index(Some(&outer), function) {
                            let interface = Some(name.to_owned());
                            let name = function.to_owned();
                            found.push(ExportedFunction { interface, name, ty, index });
                        }
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Whether the component imports the types of rich output.
    pub(crate) fn imports_rich_output(&self) -> bool {
        let component = self.pre.component();
        super::codec::imports_rich_output(&component.component_type(), component.engine())
    }
}

fn refuse_unknown(imports: &[String]) -> Result<(), ComponentError> {
    if imports.iter().any(|name| name.starts_with("wasi:") && name.contains("@0.3.")) {
        return Err(ComponentError::Async);
    }
    let unknown: Vec<_> = imports.iter().filter(|name| !is_linked(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let mut list = unknown
        .iter()
        .take(LISTED_IMPORTS)
        .map(|name| format!("`{}`", shown(name)))
        .collect::<Vec<_>>()
        .join(", ");
    if unknown.len() > LISTED_IMPORTS {
        list.push_str(&format!(" and {} more", unknown.len() - LISTED_IMPORTS));
    }
    Err(ComponentError::UnknownImports(list))
}

fn is_linked(import: &str) -> bool {
    let (name, version) = import.split_once('@').unwrap_or((import, ""));
    let wanted = if name.starts_with("wasi:") { "0.2." } else { "0.1." };
    LINKED.contains(&name) && version.starts_with(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_imports_are_listed_and_the_list_is_bounded() {
        let known = ["wasi:io/poll@0.2.0".to_owned(), "wasi:http/types@0.2.12".to_owned()];
        refuse_unknown(&known).unwrap();
        let many: Vec<String> =
            (0..30).map(|index| format!("acme:x{index}/y\u{1b}@1.0.0")).collect();
        let error = refuse_unknown(&many).unwrap_err().to_string();
        assert!(error.ends_with("and 20 more") && !error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn versions_nobody_wrote_yet_are_unknown() {
        for bad in ["wasi:io/poll", "wasi:io/poll@0.20.0", "wasi:io/poll@1.0.0", "wasi:nn/x@0.2.0"]
        {
            assert!(refuse_unknown(&[bad.to_owned()]).is_err(), "{bad}");
        }
        let error = refuse_unknown(&["wasi:cli/run@0.3.0".to_owned()]).unwrap_err();
        assert!(matches!(error, ComponentError::Async));
    }
}
