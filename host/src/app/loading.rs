//! Loads the plugins of a host, in the order in which names are taken.
//!
//! Knows no grant and no limit itself: `given` says what each gets.

#[cfg(feature = "builtins")]
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::given::Given;
use super::later::LaterFile;
use super::{Failed, PluginError, PluginSource, Setup, StartError};
use crate::config::Builtins;
use crate::contract::descriptor::ToolSource;
use crate::contract::escape::clipped_line;
use crate::contract::ids::PluginName;
use crate::events::{EventBus, EventKind};
use crate::registry::{
    Catalog, LoadedPlugin, Loader, PluginContent, PluginFile, find_plugins, name_to_be,
};

/// What is loaded so far, and what loads it.
pub(super) struct Loading {
    pub(super) loader: Loader,
    pub(super) catalog: Catalog,
    pub(super) bus: EventBus,
    pub(super) given: Arc<Given>,
    /// Plugins of a folder that were left out.
    pub(super) failed: Vec<Failed>,
    /// From which length on a plugin that has to be compiled is left for later.
    pub(super) later_len: Option<u64>,
    /// Those that are.
    pub(super) later: Vec<LaterFile>,
}

impl Loading {
    /// Loads the builtins, then what the configuration names, then what this run does.
    pub(super) fn add_all(&mut self, setup: &Setup) -> Result<(), StartError> {
        if setup.builtins {
            self.add_builtins(&setup.config.builtins)?;
        }
        let configured = setup.config.plugins.iter().filter_map(|plugin| {
            let path = plugin.path.clone()?;
            Some(PluginSource { name: Some(plugin.name.clone()), path })
        });
        for plugin in configured.chain(setup.plugins.iter().cloned()) {
            self.add_source(&plugin)?;
        }
        Ok(())
    }

    #[cfg(feature = "builtins")]
    fn add_builtins(&mut self, which: &Builtins) -> Result<(), StartError> {
        for builtin in belljar_builtin::all().iter().filter(|it| which.includes(it.name)) {
            let file = PluginFile {
                content: PluginContent::Bytes(Cow::Borrowed(builtin.wasm)),
                stem: builtin.name.to_owned(),
                name: None,
                source: ToolSource::Builtin,
            };
            self.add(file, builtin.name.to_owned()).map_err(|source| StartError::Plugin {
                path: format!("builtin {}", builtin.name),
                source: Box::new(source),
            })?;
        }
        Ok(())
    }

    #[cfg(not(feature = "builtins"))]
    #[expect(clippy::unnecessary_wraps, reason = "the same shape as with builtins")]
    #[expect(clippy::unused_self, reason = "the same shape as with builtins")]
    fn add_builtins(&mut self, _which: &Builtins) -> Result<(), StartError> {
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
            content: PluginContent::File(std::fs::File::open(path).map_err(PluginError::Read)?),
            stem,
            name,
            source: ToolSource::Plugin,
        };
        self.add(file, clipped_line(&path.to_string_lossy(), 300))
    }

    fn add(&mut self, file: PluginFile, path: String) -> Result<(), PluginError> {
        let given = Arc::clone(&self.given);
        let plugin = match self.loader.load_kept(&file, |name| given.of(name))? {
            Some(plugin) => plugin,
            None => {
                // What can't even be named is refused now, in the words of its fault.
                if let Some(name) = self.may_be_later(&file).then(|| name_to_be(&file)).flatten() {
                    self.later.push(LaterFile { name, file, path });
                    return Ok(());
                }
                self.loader.load_anew(&file, |name| given.of(name))?
            }
        };
        self.not_promised(&plugin.identity.name)?;
        let told = loaded(&plugin);
        self.catalog.add(plugin)?;
        self.bus.publish(None, || told);
        Ok(())
    }

    fn may_be_later(&self, file: &PluginFile) -> bool {
        let least = self.later_len.filter(|_| file.source == ToolSource::Plugin);
        least.is_some_and(|least| file.content.byte_count().is_ok_and(|len| len >= least))
    }

    /// Whether a name is free beside those of plugins that come later.
    fn not_promised(&self, name: &PluginName) -> Result<(), PluginError> {
        let mut names = self.catalog.names().clone();
        for later in &self.later {
            // One that is taken already is refused when its turn comes.
            _ = names.take_plugin(&later.name);
        }
        Ok(names.take_plugin(name)?)
    }
}

/// What is told of a plugin that was loaded.
pub(super) fn loaded(plugin: &LoadedPlugin) -> EventKind {
    EventKind::PluginLoaded {
        digest: plugin.identity.digest,
        tools: plugin.tools.iter().map(|tool| tool.descriptor.id.clone()).collect(),
        plugin: plugin.identity.name.clone(),
    }
}
