//! Loads one plugin: bytes → checked, compiled and linked → tools with descriptors.
//!
//! Runs none of its code. What is wrong with one function leaves the others alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use belljar_metadata::PluginMetadata;

use super::code_making::{CodeMaking, Made, OnCompile};
use super::code_store::CodeStore;
use super::content::PluginContent;
use super::names::{NameError, plugin_name};
use super::tools::Making;
use super::words::{lies, need, path_of};
use crate::contract::descriptor::{Need, PluginIdentity, ToolDescriptor, ToolSource};
use crate::contract::escape::clipped_line;
use crate::contract::grants::{Granted, ToolGrants};
use crate::contract::ids::{Digest, PluginName};
use crate::contract::limits::{LimitKind, Limits};
use crate::sandbox::{
    ComponentError, ExportedFunction, OpenError, Sandbox, SandboxedTool, check_component,
};

/// componentize-py exports an instance of this name, which belongs to its runtime.
pub(super) const TOOLCHAIN_INTERFACE: &str = "exports";

/// What is to be loaded, and what it is given.
#[derive(Debug)]
pub struct PluginFile {
    /// The component.
    pub content: PluginContent,
    /// The file's name without its ending: the last resort for a name.
    pub stem: String,
    /// The operator's name for it, which wins.
    pub name: Option<PluginName>,
    /// Builtin or plugin.
    pub source: ToolSource,
}

/// What the operator gives a plugin.
#[derive(Debug, Clone, Default)]
pub struct PluginGiven {
    /// What it may use.
    pub grants: Granted,
    /// The limits of its calls.
    pub limits: Limits,
    /// What the operator says of single tools, by their names.
    pub tools: BTreeMap<String, ToolSettings>,
}

/// What the operator says of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolSettings {
    /// Limits in place of the plugin's.
    pub limits: Vec<(LimitKind, u64)>,
    /// The name that models use for it; `None`: by rule.
    pub wire_name: Option<String>,
}

/// Why a plugin isn't loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its file.
    #[error("it can't be read: {0}")]
    Read(#[from] std::io::Error),
    /// Its bytes.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// Its name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its grants.
    #[error(transparent)]
    Grant(#[from] OpenError),
    /// What was said of a tool that it doesn't have may have been a denial.
    #[error(
        "the configuration names the tool `{tool}` of `{plugin}`, which has none of that name{near}"
    )]
    UnknownTool {
        /// The plugin.
        plugin: PluginName,
        /// The tool, as the operator named it.
        tool: String,
        /// Words for a tool that may have been meant.
        near: String,
    },
}

/// A function that is no tool, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Unsupported {
    /// Interface and function.
    pub function: String,
    /// Why not.
    pub reason: String,
}

/// One tool, ready to be called.
#[derive(Debug, Clone)]
pub struct LoadedTool {
    /// What it is.
    pub descriptor: Arc<ToolDescriptor>,
    /// How it runs; with nothing granted where its grants are a template.
    pub sandboxed: SandboxedTool,
    /// What it may use.
    pub grants: ToolGrants,
}

/// A plugin with its tools.
#[derive(Debug, Clone)]
pub struct LoadedPlugin {
    /// Name, version, digest.
    pub identity: PluginIdentity,
    /// Where it comes from.
    pub source: ToolSource,
    /// What it says it is for. Unescaped.
    pub description: Option<String>,
    /// Which toolchain it says built it.
    pub toolchain: Option<String>,
    /// What it says it wants.
    pub needs: Vec<Need>,
    /// What it was given.
    pub grants: Granted,
    /// What its component imports.
    pub imports: Vec<String>,
    /// Its tools, in the component's order.
    pub tools: Vec<LoadedTool>,
    /// Its functions that are no tools.
    pub unsupported: Vec<Unsupported>,
    /// What is odd about it, in one line each, escaped.
    pub findings: Vec<String>,
}

/// Loads plugins into one sandbox.
#[derive(Debug, Clone)]
pub struct Loader {
    sandbox: Sandbox,
    making: CodeMaking,
}

impl Loader {
    /// `code_store`: where compiled code is kept; `None` compiles at each start. `on_compile` is told
    /// what is compiled.
    pub fn new(
        sandbox: Sandbox,
        code_store: Option<CodeStore>,
        on_compile: Option<OnCompile>,
    ) -> Self {
        Self { making: CodeMaking::new(sandbox.clone(), code_store, on_compile), sandbox }
    }

    /// Loads one plugin; `given` says what the plugin of a name may use. Takes seconds where a large
    /// component has to be compiled.
    ///
    /// # Errors
    /// See [`LoadError`]; nothing is left half-loaded.
    pub fn load<'g>(
        &self,
        file: &PluginFile,
        given: impl FnOnce(&PluginName) -> &'g PluginGiven,
    ) -> Result<LoadedPlugin, LoadError> {
        match self.making.kept(file)? {
            Some(made) => self.join(file, made, given),
            None => self.load_anew(file, given),
        }
    }

    /// Loads one plugin if its code is kept, and compiles nothing.
    ///
    /// # Errors
    /// Like [`Self::load`].
    pub fn load_kept<'g>(
        &self,
        file: &PluginFile,
        given: impl FnOnce(&PluginName) -> &'g PluginGiven,
    ) -> Result<Option<LoadedPlugin>, LoadError> {
        self.making.kept(file)?.map(|made| self.join(file, made, given)).transpose()
    }

    /// Loads one plugin whose code isn't kept.
    ///
    /// # Errors
    /// Like [`Self::load`].
    pub fn load_anew<'g>(
        &self,
        file: &PluginFile,
        given: impl FnOnce(&PluginName) -> &'g PluginGiven,
    ) -> Result<LoadedPlugin, LoadError> {
        self.join(file, self.making.anew(file)?, given)
    }

    fn join<'g>(
        &self,
        file: &PluginFile,
        made: Made<'_>,
        given: impl FnOnce(&PluginName) -> &'g PluginGiven,
    ) -> Result<LoadedPlugin, LoadError> {
        let Made { compiled, digest, words } = made;
        let compiled = Arc::new(compiled);
        let mut findings = Vec::new();
        let metadata = read_metadata(&words, &mut findings);
        let functions = compiled.functions();
        findings.extend(lies(&metadata, &functions));
        let identity = identify(file, &metadata, &compiled.instances(), digest)?;
        let given = given(&identity.name);
        let mut plugin = LoadedPlugin {
            identity,
            source: file.source,
            description: metadata.description.clone(),
            toolchain: metadata.toolchain.clone(),
            needs: all_needs(&metadata),
            grants: given.grants.clone(),
            imports: compiled.imports().to_vec(),
            tools: Vec::new(),
            unsupported: Vec::new(),
            findings,
        };
        Making::new(&self.sandbox, given, &metadata, &compiled)?.add_tools(&mut plugin, functions);
        known_tools(given, &plugin)?;
        if plugin.tools.is_empty() {
            plugin.findings.push("it exports no function that can be a tool".to_owned());
        }
        Ok(plugin)
    }
}

impl LoadedPlugin {
    pub(super) fn refuse(&mut self, function: &ExportedFunction, reason: String) {
        let function = clipped_line(&path_of(function), 200);
        self.unsupported.push(Unsupported { function, reason });
    }
}

/// Whether the plugin has every tool that the operator said something of.
fn known_tools(given: &PluginGiven, plugin: &LoadedPlugin) -> Result<(), LoadError> {
    let names = || plugin.tools.iter().map(|tool| tool.descriptor.id.tool.as_str());
    let Some(unknown) = given.tools.keys().find(|said| !names().any(|name| name == *said)) else {
        return Ok(());
    };
    let nearest = names().min_by_key(|name| strsim::levenshtein(name, unknown));
    Err(LoadError::UnknownTool {
        plugin: plugin.identity.name.clone(),
        tool: clipped_line(unknown, 200),
        near: nearest.map(|name| format!("; the nearest is `{name}`")).unwrap_or_default(),
    })
}

fn read_metadata(bytes: &[u8], findings: &mut Vec<String>) -> PluginMetadata {
    match belljar_metadata::section::read(bytes) {
        Ok(reading) => {
            let odd = reading.findings.iter().map(|odd| clipped_line(&odd.to_string(), 300));
            findings.extend(odd);
            reading.metadata.unwrap_or_default()
        }
        Err(error) => {
            findings.push(clipped_line(&format!("its metadata can't be read: {error}"), 300));
            PluginMetadata::default()
        }
    }
}

fn identify(
    file: &PluginFile,
    metadata: &PluginMetadata,
    instances: &[String],
    digest: Digest,
) -> Result<PluginIdentity, LoadError> {
    let name = match &file.name {
        Some(name) => name.clone(),
        None => own_name(file, metadata, instances)?,
    };
    Ok(PluginIdentity { name, version: metadata.version.clone(), digest })
}

/// The name that a plugin will have once it is loaded, without compiling it. `None`: it can't be
/// told, and mostly it can't be loaded either.
pub fn name_to_be(file: &PluginFile) -> Option<PluginName> {
    if let Some(name) = &file.name {
        return Some(name.clone());
    }
    let bytes = file.content.whole().ok()?;
    // First, so that what is read below is within the bounds of what is compiled.
    check_component(&bytes).ok()?;
    let metadata = belljar_metadata::section::read(&bytes).ok()?.metadata.unwrap_or_default();
    let instances = belljar_metadata::component::instance_names(&bytes).ok()?;
    own_name(file, &metadata, &instances).ok()
}

/// The name of a plugin that the operator gave none. By what is there before it is compiled too: the
/// `instances` that it exports, whatever is in them.
fn own_name(
    file: &PluginFile,
    metadata: &PluginMetadata,
    instances: &[String],
) -> Result<PluginName, NameError> {
    let instances = instances.iter().map(String::as_str);
    let interfaces: Vec<&str> = instances.filter(|name| *name != TOOLCHAIN_INTERFACE).collect();
    plugin_name(metadata.name.as_deref(), &interfaces, &file.stem)
}

/// What the plugin and all its functions say they want, each once.
fn all_needs(metadata: &PluginMetadata) -> Vec<Need> {
    let said = metadata.functions.values().flat_map(|function| &function.needs);
    let mut needs: Vec<Need> = Vec::new();
    for one in metadata.needs.iter().chain(said).map(need) {
        if !needs.contains(&one) {
            needs.push(one);
        }
    }
    needs
}
