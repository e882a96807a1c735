//! All that is loaded: tools by id and by wire name, in a fixed order.

use std::collections::HashMap;
use std::sync::Arc;

use super::load::{LoadedPlugin, LoadedTool};
use super::names::{NameError, Names};
use crate::contract::descriptor::ToolDescriptor;

/// Why a plugin can't stand beside the others.
pub type CatalogError = NameError;

/// The plugins of a host. Never changes once it is handed on; a plugin that comes later makes another.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    plugins: Vec<Arc<LoadedPlugin>>,
    tools: Vec<LoadedTool>,
    by_name: HashMap<String, usize>,
    names: Names,
}

impl Catalog {
    /// Adds a plugin with all its tools.
    ///
    /// # Errors
    /// A name that is reserved, taken or confusable; then nothing of it is added.
    pub fn add(&mut self, plugin: LoadedPlugin) -> Result<(), CatalogError> {
        let mut names = self.names.clone();
        names.take_plugin(&plugin.identity.name)?;
        for tool in &plugin.tools {
            names.take_wire(&tool.descriptor.wire_name, &tool.descriptor.id)?;
        }
        self.names = names;
        for tool in &plugin.tools {
            let index = self.tools.len();
            self.by_name.insert(tool.descriptor.id.to_string(), index);
            self.by_name.insert(tool.descriptor.wire_name.clone(), index);
            self.tools.push(tool.clone());
        }
        self.plugins.push(Arc::new(plugin));
        Ok(())
    }

    /// The names in use.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The plugins, in the order they were added.
    pub fn plugins(&self) -> &[Arc<LoadedPlugin>] {
        &self.plugins
    }

    /// A plugin by its name.
    pub fn plugin(&self, name: &str) -> Option<&Arc<LoadedPlugin>> {
        self.plugins.iter().find(|plugin| plugin.identity.name.as_str() == name)
    }

    /// The tools, in the order of their plugins.
    pub fn descriptors(&self) -> impl Iterator<Item = &Arc<ToolDescriptor>> {
        self.tools.iter().map(|tool| &tool.descriptor)
    }

    /// A tool by its id or its wire name, exactly.
    pub fn tool(&self, name: &str) -> Option<&LoadedTool> {
        self.by_name.get(name).and_then(|index| self.tools.get(*index))
    }

    /// The tools with what runs them, in the order of their plugins.
    pub fn tools(&self) -> impl Iterator<Item = &LoadedTool> {
        self.tools.iter()
    }
}
