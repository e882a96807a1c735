//! Plugins and what is set for their single tools.
//!
//! Doesn't know whether a component is there, nor which tools it has.

use super::super::check::near;
use super::super::error::shown;
use super::super::settings::{PluginSettings, ToolSettings};
use super::super::templates::GrantTemplate;
use super::{Build, Reader};
use crate::gate::{Globs, KeySettings};

impl Build<'_> {
    pub(super) fn plugins(
        &mut self,
        root: Reader<'_>,
        every: &GrantTemplate,
        secrets: &[String],
    ) -> Vec<PluginSettings> {
        let mut plugins = Vec::new();
        for (name, line, plugin) in root.each("plugins") {
            let Ok(parsed) = name.parse() else { continue };
            let path = plugin.text("path").map(|text| self.path(&text));
            let named = plugin.table.get("path").is_some() || plugin.table.unknown;
            if path.is_none() && !named {
                self.known_builtin(&format!("plugins.{name}"), name, line);
            } else if path.is_some() && self.known.builtins.contains(&name) && loads(root, name) {
                self.problems.push(
                    line,
                    format!(
                        "`plugins.{name}`: a builtin has that name; give the plugin another, or \
                         leave `{name}` out of `builtins`"
                    ),
                );
            }
            let grants = self.grants(plugin.under("grants"), secrets);
            self.grants_meet(name, every, &grants);
            plugins.push(PluginSettings {
                name: parsed,
                path,
                grants,
                limits: plugin.limits(),
                tools: tools(plugin),
            });
        }
        plugins
    }

    /// A plugin without a file must be one that ships.
    pub(super) fn known_builtin(&mut self, path: &str, name: &str, line: u32) {
        if self.known.builtins.contains(&name) {
            return;
        }
        let names: Vec<_> = self.known.builtins.iter().map(ToString::to_string).collect();
        let meant = match near::nearest(name, &names) {
            Some(near) => format!(", did you mean `{near}`?"),
            None if names.is_empty() => ": this belljar has none".to_owned(),
            None => format!(", expected one of {}", near::listed(&names)),
        };
        let path_too = if path == "builtins" { "" } else { " and it has no `path`" };
        let name = shown(name);
        self.problems.push(line, format!("`{path}`: `{name}` is no builtin{path_too}{meant}"));
    }
}

/// Whether the builtin of this name is loaded too.
pub(super) fn loads(root: Reader<'_>, name: &str) -> bool {
    match root.flag("builtins") {
        Some(all) => all,
        None => root.texts("builtins").unwrap_or_default().iter().any(|it| it == name),
    }
}

pub(super) fn tools(plugin: Reader<'_>) -> Vec<ToolSettings> {
    let tools = plugin.each("tools").into_iter().filter_map(|(name, line, tool)| {
        let (name, wire_name) = (name.parse().ok()?, tool.text("wire_name"));
        Some(ToolSettings { name, limits: tool.limits(), wire_name, line })
    });
    tools.collect()
}

/// Every tool that something is set for, by its id.
fn each_tool(root: Reader<'_>) -> Vec<(String, Reader<'_>)> {
    let plugins = root.each("plugins").into_iter().chain(root.each("upstream"));
    let tools = plugins.flat_map(|(plugin, _, it)| {
        it.each("tools").into_iter().map(move |(tool, _, it)| (format!("{plugin}.{tool}"), it))
    });
    tools.collect()
}

/// The `gate` keys of single tools, as the gate wants them.
pub(super) fn gate_keys(root: Reader<'_>) -> Vec<KeySettings> {
    let keys = each_tool(root).into_iter().map(|(id, tool)| {
        let gate = tool.under("gate");
        let set = |key: &str| gate.flag(key).unwrap_or(false);
        KeySettings {
            tool: Globs(vec![id]),
            deny: set("deny"),
            require_approval: set("require_approval"),
            allow: set("allow"),
        }
    });
    keys.filter(|key| key.deny || key.require_approval || key.allow).collect()
}

/// The ids of tools with `parallel = false`, and of those with `parallel = true`.
pub(super) fn parallel(root: Reader<'_>) -> (Vec<String>, Vec<String>) {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for (id, tool) in each_tool(root) {
        match tool.flag("parallel") {
            Some(false) => alone.push(id),
            Some(true) => beside.push(id),
            None => {}
        }
    }
    (alone, beside)
}
