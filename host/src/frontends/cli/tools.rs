//! `belljar tools`: the tools of the builtins and of plugins that are named.

use std::path::PathBuf;

use super::args::ToolsArgs;
use super::error::CliError;
use super::exit::Exit;
use super::show::{print, print_json_pretty};
use super::start::{looking, setup, start};
use super::words;
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::clipped_line;
use crate::contract::limits::Limits;
use crate::registry::{Catalog, LoadedPlugin};

/// Longest version that is shown, in bytes.
const VERSION_MAX_LEN: usize = 64;

/// Lists the tools.
pub(super) fn run(args: ToolsArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let limits = Limits::default();
    let app = start(&setup(looking(config)?, args.plugins, args.grants, limits))?;
    let catalog = app.host.catalog();
    if args.json {
        let tools: Vec<&ToolDescriptor> = catalog.descriptors().map(AsRef::as_ref).collect();
        print_json_pretty(&tools)?;
    } else {
        print(&list(catalog))?;
    }
    Ok(Exit::Success)
}

fn list(catalog: &Catalog) -> String {
    let mut out = String::new();
    for plugin in catalog.plugins() {
        if !out.is_empty() {
            out.push('\n');
        }
        list_plugin(plugin, &mut out);
    }
    out
}

fn list_plugin(plugin: &LoadedPlugin, out: &mut String) {
    let mut head = vec![plugin.identity.name.to_string()];
    head.extend(plugin.identity.version.as_deref().map(|it| clipped_line(it, VERSION_MAX_LEN)));
    head.push(format!("({})", words::source(plugin.source)));
    out.push_str(&head.join(" "));
    if let Some(description) = &plugin.description {
        out.push_str(&format!(": {}", words::summary(description)));
    }
    out.push('\n');
    for tool in &plugin.tools {
        let tool = &tool.descriptor;
        out.push_str(&format!("  {}: {}\n", tool.id, words::summary(&tool.description)));
        out.push_str(&format!("      {}\n", words::effects(&tool.effects)));
    }
    let unsupported = plugin.unsupported.len();
    if unsupported > 0 {
        let noun = if unsupported == 1 { "function is no tool" } else { "functions are no tools" };
        out.push_str(&format!("  {unsupported} {noun}; `belljar inspect` says why\n"));
    }
}
