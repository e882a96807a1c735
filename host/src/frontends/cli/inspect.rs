//! `belljar inspect`: all that is known of one plugin without running it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::args::InspectArgs;
use super::error::{CliError, shown};
use super::exit::Exit;
use super::imports::Import;
use super::portrait::portrait;
use super::show::{print, print_json_pretty};
use super::start::{looking, setup, start};
use crate::app::{PluginSource, Setup};
use crate::contract::descriptor::{Need, PluginIdentity, ToolDescriptor, ToolSource};
use crate::contract::grants::Grants;
use crate::contract::ids::PluginName;
use crate::contract::limits::Limits;
use crate::registry::{Catalog, LoadedPlugin, Unsupported};

/// How the cost of a definition is estimated.
const TOKEN_RULE: &str = "an estimate: bytes of the JSON {name, description, input_schema} / 4";

/// A plugin as `inspect` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View<'a> {
    #[serde(flatten)]
    pub(super) identity: &'a PluginIdentity,
    pub(super) source: ToolSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) toolchain: Option<&'a str>,
    pub(super) needs: &'a [Need],
    pub(super) grants: &'a Grants,
    pub(super) imports: Vec<Import<'a>>,
    /// What `definitionTokens` of a tool means.
    pub(super) token_rule: &'static str,
    pub(super) tools: Vec<ToolView<'a>>,
    pub(super) unsupported: &'a [Unsupported],
    pub(super) findings: &'a [String],
}

/// A tool as `inspect` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolView<'a> {
    #[serde(flatten)]
    pub(super) descriptor: &'a ToolDescriptor,
    /// What a model pays for being told of it.
    pub(super) definition_tokens: usize,
}

/// Shows one plugin.
pub(super) fn run(args: InspectArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let InspectArgs { target, plugins, grants, json } = args;
    let plugin = find(target, setup(looking(config)?, plugins, grants, Limits::default()))?;
    let view = View::of(&plugin);
    if json {
        print_json_pretty(&view)?;
    } else {
        print(&portrait(&view))?;
    }
    Ok(Exit::Success)
}

/// A loaded plugin's name wins over a file's; `./NAME` is always the file.
fn find(target: PathBuf, setup: Setup) -> Result<Arc<LoadedPlugin>, CliError> {
    let Some(name) = target.to_str().filter(|text| text.parse::<PluginName>().is_ok()) else {
        return load_file(target, setup);
    };
    let app = start(&setup)?;
    let catalog = app.host.catalog();
    match catalog.plugin(name) {
        Some(plugin) => Ok(Arc::clone(plugin)),
        None if target.exists() => load_file(target, setup),
        None => Err(CliError::Refused(format!(
            "no plugin and no file is called `{name}`; loaded are {}",
            names(catalog)
        ))),
    }
}

fn names(catalog: &Catalog) -> String {
    let names = catalog.plugins().iter().map(|plugin| format!("`{}`", plugin.identity.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Loads a file by itself, so that its name may be one that a builtin has.
fn load_file(path: PathBuf, setup: Setup) -> Result<Arc<LoadedPlugin>, CliError> {
    if path.is_dir() {
        return Err(CliError::Usage(format!(
            "{} is a folder, and one plugin is shown at a time: name a file in it",
            shown(&path)
        )));
    }
    let plugins = vec![PluginSource { name: None, path }];
    let app = start(&Setup { plugins, builtins: false, ..setup })?;
    let plugin = app.host.catalog().plugins().first().map(Arc::clone);
    plugin.ok_or_else(|| CliError::Machine("the plugin was loaded and is gone".to_owned()))
}

impl<'a> View<'a> {
    fn of(plugin: &'a LoadedPlugin) -> Self {
        let tool =
            |descriptor| ToolView { descriptor, definition_tokens: definition_tokens(descriptor) };
        Self {
            identity: &plugin.identity,
            source: plugin.source,
            description: plugin.description.as_deref(),
            toolchain: plugin.toolchain.as_deref(),
            needs: &plugin.needs,
            grants: plugin.grants.shape(),
            imports: plugin.imports.iter().map(|name| Import::of(name)).collect(),
            token_rule: TOKEN_RULE,
            tools: plugin.tools.iter().map(|it| tool(it.descriptor.as_ref())).collect(),
            unsupported: &plugin.unsupported,
            findings: &plugin.findings,
        }
    }
}

fn definition_tokens(tool: &ToolDescriptor) -> usize {
    let definition = json!({
        "name": tool.wire_name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    });
    definition.to_string().len().div_ceil(4)
}
