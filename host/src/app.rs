//! Builds a host from what an operator said: plugins, grants, limits, where compiled code is kept.
//!
//! The one place that joins all modules.

mod grants;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contract::descriptor::ToolSource;
use crate::contract::escape::clipped_line;
use crate::contract::grants::{DirMode, EnvGrant, GrantError, Grants};
use crate::contract::ids::PluginName;
use crate::contract::limits::Limits;
use crate::engine::Engine;
use crate::events::{EventBus, EventKind, unix_ms};
use crate::host::Host;
use crate::registry::{
    Catalog, CatalogError, CodeStore, DiscoverError, LoadError, Loader, PluginFile, find_plugins,
};
use crate::runners::Router;
use crate::sandbox::{COMPONENT_MAX_LEN, EngineError, Sandbox};

/// A plugin to load.
#[derive(Debug, Clone)]
pub struct PluginSource {
    /// The operator's name for it; not for a folder of several.
    pub name: Option<PluginName>,
    /// A file, or a folder of `.wasm` files.
    pub path: PathBuf,
}

/// A folder to grant, as an operator says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirRequest {
    /// The folder on this machine.
    pub host: PathBuf,
    /// Where the guest sees it; `None`: `/` and the folder's name.
    pub guest: Option<String>,
    /// What the guest may do in it.
    pub mode: DirMode,
}

/// What an operator wants.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Plugins beside the builtins.
    pub plugins: Vec<PluginSource>,
    /// Whether the builtins are loaded.
    pub builtins: bool,
    /// Folders for every plugin. The first is also `.`.
    pub dirs: Vec<DirRequest>,
    /// Environment variables for every plugin.
    pub env: Vec<EnvGrant>,
    /// Limits for every tool.
    pub limits: Limits,
    /// Where compiled code is kept; `None` compiles at each start.
    pub code_folder: Option<PathBuf>,
}

/// Why a host doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The machine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A grant that can't be given.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// A folder that isn't there.
    #[error("the folder `{path}` can't be granted: {reason}")]
    Folder {
        /// The folder as it was named.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No plugin where one was named.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// A plugin that was named and can't be loaded.
    #[error("the plugin `{path}` can't be loaded: {source}")]
    Plugin {
        /// Where it was to come from.
        path: String,
        /// What is wrong with it.
        source: Box<PluginError>,
    },
}

/// Why one plugin isn't loaded.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// Its file.
    #[error("{0}")]
    Read(std::io::Error),
    /// Its content.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its name.
    #[error(transparent)]
    Name(#[from] CatalogError),
}

/// A plugin of a folder that was left out.
#[derive(Debug)]
pub struct Failed {
    /// Where it was to come from.
    pub path: String,
    /// What is wrong with it.
    pub error: PluginError,
}

/// A host with what it was made of.
#[derive(Debug)]
pub struct App {
    /// The handle.
    pub host: Host,
    /// The sandbox behind it.
    pub sandbox: Sandbox,
    /// Plugins of a folder that were left out; one that was named by itself stops the start.
    pub failed: Vec<Failed>,
    /// Why compiled code isn't kept, where it was meant to be.
    pub code_store_problem: Option<String>,
}

/// Starts a host.
///
/// # Errors
/// See [`StartError`]; nothing is left running.
pub fn start(setup: &Setup) -> Result<App, StartError> {
    // Before the grants: whether one of them holds this folder shows only once it is there.
    let (code_store, code_store_problem) = open_code_store(setup.code_folder.as_deref());
    let grants = grants::resolve(setup)?;
    let sandbox = Sandbox::try_new()?;
    let loader = Loader::new(sandbox.clone(), code_store);
    let mut loading = Loading {
        loader,
        catalog: Catalog::default(),
        bus: EventBus::new(unix_ms),
        grants,
        limits: setup.limits.clone(),
        failed: Vec::new(),
    };
    if setup.builtins {
        loading.add_builtins()?;
    }
    for plugin in &setup.plugins {
        loading.add_source(plugin)?;
    }
    let Loading { catalog, bus, failed, .. } = loading;
    let catalog = Arc::new(catalog);
    let router = Arc::new(Router::new(Arc::clone(&catalog), sandbox.clone()));
    let engine = Engine::new(Arc::clone(&router) as _, router, bus.clone());
    Ok(App { host: Host::new(engine, catalog, bus), sandbox, failed, code_store_problem })
}

fn open_code_store(folder: Option<&Path>) -> (Option<CodeStore>, Option<String>) {
    match folder.map(CodeStore::open) {
        None => (None, None),
        Some(Ok(store)) => (Some(store), None),
        Some(Err(error)) => {
            tracing::warn!("{error}");
            (None, Some(error.to_string()))
        }
    }
}

struct Loading {
    loader: Loader,
    catalog: Catalog,
    bus: EventBus,
    grants: Grants,
    limits: Limits,
    failed: Vec<Failed>,
}

impl Loading {
    #[cfg(feature = "builtins")]
    fn add_builtins(&mut self) -> Result<(), StartError> {
        for builtin in belljar_builtin::all() {
            let file = PluginFile {
                bytes: Cow::Borrowed(builtin.wasm),
                stem: builtin.name.to_owned(),
                name: None,
                source: ToolSource::Builtin,
                grants: self.grants.clone(),
                limits: self.limits.clone(),
            };
            self.add(&file).map_err(|source| StartError::Plugin {
                path: format!("builtin {}", builtin.name),
                source: Box::new(source),
            })?;
        }
        Ok(())
    }

    #[cfg(not(feature = "builtins"))]
    #[expect(clippy::unnecessary_wraps, reason = "the same shape as with builtins")]
    #[expect(clippy::unused_self, reason = "the same shape as with builtins")]
    fn add_builtins(&mut self) -> Result<(), StartError> {
        Ok(())
    }

    fn add_source(&mut self, source: &PluginSource) -> Result<(), StartError> {
        let is_folder = source.path.is_dir();
        for path in find_plugins(&source.path)? {
            let name = if is_folder { None } else { source.name.clone() };
            let Err(error) = self.add_file(&path, name) else { continue };
            let path = clipped_line(&path.to_string_lossy(), 300);
            self.bus.publish(None, || EventKind::PluginFailed {
                source: path.clone(),
                reason: error.to_string(),
            });
            if !is_folder {
                return Err(StartError::Plugin { path, source: Box::new(error) });
            }
            self.failed.push(Failed { path, error });
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, name: Option<PluginName>) -> Result<(), PluginError> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = PluginFile {
            bytes: Cow::Owned(read_bounded(path).map_err(PluginError::Read)?),
            stem,
            name,
            source: ToolSource::Plugin,
            grants: self.grants.clone(),
            limits: self.limits.clone(),
        };
        self.add(&file)
    }

    fn add(&mut self, file: &PluginFile) -> Result<(), PluginError> {
        let plugin = self.loader.load(file)?;
        let name = plugin.identity.name.clone();
        self.catalog.add(plugin)?;
        let plugin = self.catalog.plugin(name.as_str());
        self.bus.publish(None, || EventKind::PluginLoaded {
            digest: crate::contract::ids::Digest::of(&file.bytes),
            tools: plugin
                .into_iter()
                .flat_map(|plugin| &plugin.tools)
                .map(|tool| tool.descriptor.id.clone())
                .collect(),
            plugin: name.clone(),
        });
        Ok(())
    }
}

/// Reads a plugin file; one that is too large is read just far enough to be refused as such.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let limit = COMPONENT_MAX_LEN as u64 + 1;
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
