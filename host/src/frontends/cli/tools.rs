//! `belljar tools`: the tools of the builtins and of plugins that are named.

use std::path::PathBuf;

use super::args::ToolsArgs;
use super::error::CliError;
use super::exit::Exit;
use super::show::{print, print_json_pretty};
use super::start::{leave_servers, looking, reach_servers, setup, start};
use super::words;
use crate::contract::descriptor::{ToolDescriptor, ToolSource};
use crate::contract::escape::clipped_line;
use crate::contract::limits::Limits;
use crate::registry::{Catalog, LoadedPlugin};

/// Longest version that is shown, in bytes.
const VERSION_MAX_LEN: usize = 64;

/// Lists the tools.
pub(super) async fn run(args: ToolsArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let limits = Limits::default();
    let app = start(&setup(looking(config)?, args.plugins, args.grants, limits))?;
    reach_servers(&app, None).await;
    let catalog = app.host.catalog();
    let tools = app.host.tools();
    // Those of the catalog are in their plugins' own order.
    let elsewhere: Vec<&ToolDescriptor> = tools
        .iter()
        .map(|tool| tool.descriptor.as_ref())
        .filter(|tool| tool.source == ToolSource::Mcp)
        .collect();
    let printed = if args.json {
        let here = catalog.descriptors().map(AsRef::as_ref);
        let tools: Vec<&ToolDescriptor> = here.chain(elsewhere).collect();
        print_json_pretty(&tools)
    } else {
        let mut listed = list(catalog);
        list_elsewhere(&elsewhere, &mut listed);
        print(&listed)
    };
    leave_servers(&app).await;
    printed?;
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

/// Tools of MCP servers, which come by their ids and so by server.
fn list_elsewhere(tools: &[&ToolDescriptor], out: &mut String) {
    let mut server = None;
    for tool in tools {
        if server != Some(&tool.plugin.name) {
            server = Some(&tool.plugin.name);
            let gap = if out.is_empty() { "" } else { "\n" };
            let source = words::source(tool.source);
            out.push_str(&format!("{gap}{} ({source})\n", tool.plugin.name));
        }
        list_tool(tool, out);
    }
}

fn list_tool(tool: &ToolDescriptor, out: &mut String) {
    out.push_str(&format!("  {}: {}\n", tool.id, words::summary(&tool.description)));
    out.push_str(&format!("      {}\n", words::effects(&tool.effects)));
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
    plugin.tools.iter().for_each(|tool| list_tool(&tool.descriptor, out));
    let unsupported = plugin.unsupported.len();
    if unsupported > 0 {
        let noun = if unsupported == 1 { "function is no tool" } else { "functions are no tools" };
        out.push_str(&format!("  {unsupported} {noun}; `belljar inspect` says why\n"));
    }
}
