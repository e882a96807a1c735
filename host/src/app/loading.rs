//! Loads the plugins of a host, in the order in which names are taken.
//!
//! Knows no grant and no limit itself: `given` says what each gets.

#[cfg(feature = "builtins")]
use std::borrow::Cow;
use std::path::Path;

use super::given::Given;
use super::{Failed, PluginError, PluginSource, Setup, StartError};
use crate::config::Builtins;
use crate::contract::descriptor::ToolSource;
use crate::contract::escape::clipped_line;
use crate::contract::ids::PluginName;
use crate::events::{EventBus, EventKind};
use crate::registry::{Catalog, Loader, PluginContent, PluginFile, find_plugins};

/// What is loaded so far, and what loads it.
pub(super) struct Loading {
    pub(super) loader: Loader,
    pub(super) catalog: Catalog,
    pub(super) bus: EventBus,
    pub(super) given: Given,
    /// Plugins of a folder that were left out.
    pub(super) failed: Vec<Failed>,
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
        self.add(&file)
    }

    fn add(&mut self, file: &PluginFile) -> Result<(), PluginError> {
        let given = &self.given;
        let plugin = self.loader.load(file, |name| given.of(name))?;
        let (name, digest) = (plugin.identity.name.clone(), plugin.identity.digest);
        self.catalog.add(plugin)?;
        let plugin = self.catalog.plugin(name.as_str());
        self.bus.publish(None, || EventKind::PluginLoaded {
            digest,
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
