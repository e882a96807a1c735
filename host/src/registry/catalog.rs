//! All that is loaded: tools by id and by wire name, in a fixed order.

use std::collections::HashMap;
use std::sync::Arc;

use super::load::{LoadedPlugin, LoadedTool};
use super::names::{NameError, Names};
use crate::contract::descriptor::ToolDescriptor;

/// Near names that a miss is answered with.
const SUGGESTIONS: usize = 3;

/// Why a plugin can't stand beside the others.
pub type CatalogError = NameError;

/// The plugins of a host. Complete when it is handed on; never changes then.
#[derive(Debug, Default)]
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

    /// Ids of tools that somebody who asked for `name` may have meant, nearest first.
    pub fn near(&self, name: &str) -> Vec<String> {
        let asked: String = name.chars().take(80).collect();
        let mut ranked: Vec<(usize, String)> = self
            .descriptors()
            .map(|tool| {
                let id = tool.id.to_string();
                let by_tool = strsim::levenshtein(&asked, tool.id.tool.as_str());
                (strsim::levenshtein(&asked, &id).min(by_tool), id)
            })
            .filter(|(distance, id)| *distance <= id.len() / 3)
            .collect();
        ranked.sort();
        ranked.into_iter().take(SUGGESTIONS).map(|(_, id)| id).collect()
    }
}
