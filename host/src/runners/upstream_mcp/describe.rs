//! From what a server says of a tool to a descriptor, or the reason why there is none.
//!
//! Every word of the server is a claim. What is wrong with one tool leaves the others alone.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{Implementation, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::spec::UpstreamServer;
use crate::contract::arguments::{ArgumentCheck, canonical};
use crate::contract::client::Annotations;
use crate::contract::descriptor::{
    Isolation, ParallelRule, PluginIdentity, ToolDescriptor, ToolExecutor, ToolSource,
};
use crate::contract::grants::ToolGrants;
use crate::contract::ids::{Digest, ToolId};
use crate::contract::limits::Limits;
use crate::engine::ports::FoundTool;
use crate::registry::wire_name;
use crate::runners::said::{self, DESCRIPTION_MAX_LEN, TITLE_MAX_LEN};
use crate::runners::schema::{SchemaCheck, vet_tolerantly};

/// Descriptions longer than this are cut by some clients (MC-10).
const DESCRIPTION_WARN_LEN: usize = 1 << 10;

/// A tool with what its runner needs of it.
pub(super) struct Described {
    pub(super) found: FoundTool,
    pub(super) original: String,
    pub(super) output: Option<Arc<SchemaCheck>>,
}

/// Something odd about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Odd {
    /// Its name on the server, unescaped.
    pub(super) tool: String,
    /// In one sentence.
    pub(super) finding: String,
}

/// Describes all tools of a server. `malformed`: what it lists besides, told first.
pub(super) fn describe(
    server: &UpstreamServer,
    says: Option<&Implementation>,
    tools: Vec<Tool>,
    malformed: Vec<Odd>,
) -> (Vec<Described>, Vec<Odd>) {
    let (mut described, mut odd) = (Vec::new(), malformed);
    let identity = json!({
        "server": server.identity(),
        "name": says.map(|it| &it.name),
        "version": says.map(|it| &it.version),
    });
    let mut uses: HashMap<String, usize> = HashMap::new();
    // A malformed one still has its name: nobody knows which of the two the server would call.
    let names = odd.iter().map(|it| it.tool.as_str()).chain(tools.iter().map(|it| &*it.name));
    for name in names {
        *uses.entry(alike(name)).or_default() += 1;
    }
    for tool in tools {
        let name = tool.name.to_string();
        let mut find = |finding: String| odd.push(Odd { tool: name.clone(), finding });
        if uses.get(&alike(&name)).is_some_and(|uses| *uses > 1) {
            find("it is left out: another tool of the server has the same name here".to_owned());
            continue;
        }
        match one(server, &identity, says, tool, &mut find) {
            Ok(tool) => described.push(tool),
            Err(reason) => find(format!("it is left out: {reason}")),
        }
    }
    let has =
        |name: &String| described.iter().any(|it| it.found.descriptor.id.tool.as_str() == name);
    let unknown = server.tools.keys().filter(|name| !has(name)).map(|name| Odd {
        tool: name.clone(),
        finding: "the configuration names it, and the server offers none of that name".to_owned(),
    });
    odd.extend(unknown);
    (described, odd)
}

/// A schema of a server's, ready to be held against values.
fn compiled(schema: &Map<String, Value>) -> Result<SchemaCheck, String> {
    SchemaCheck::new(&vet_tolerantly(schema)?)
}

fn one(
    server: &UpstreamServer,
    identity: &Value,
    says: Option<&Implementation>,
    tool: Tool,
    find: &mut impl FnMut(String),
) -> Result<Described, String> {
    let id = ToolId { plugin: server.name.clone(), tool: said::tool_name(&tool.name)? };
    let words = serde_json::to_value(&tool).map_err(|error| error.to_string())?;
    let digest = canonical::to_string(&json!({ "server": identity, "tool": words }));
    let description = tool.description.as_deref().unwrap_or_default();
    said::fits("description", description, DESCRIPTION_MAX_LEN)?;
    if description.len() > DESCRIPTION_WARN_LEN {
        find(format!("its description has {} bytes, which some clients cut", description.len()));
    }
    if tool.input_schema.get("type") != Some(&json!("object")) {
        return Err("its schema isn't that of an object".to_owned());
    }
    let input = compiled(&tool.input_schema).map_err(|why| format!("its schema {why}"))?;
    let output = match &tool.output_schema {
        None => None,
        Some(schema) => Some(compiled(schema).map_err(|why| format!("its output schema {why}"))?),
    };
    let settings = server.tools.get(id.tool.as_str());
    let title = tool.title.clone().or_else(|| tool.annotations.as_ref()?.title.clone());
    // A title is for show alone: without it the tool is the same.
    let title = title.filter(|title| match said::fits("title", title, TITLE_MAX_LEN) {
        Ok(()) => true,
        Err(why) => {
            find(format!("it has no title here: {why}"));
            false
        }
    });
    let descriptor = ToolDescriptor {
        wire_name: settings.and_then(|it| it.wire_name.clone()).unwrap_or_else(|| wire_name(&id)),
        title,
        documented: !description.is_empty(),
        description: match description {
            "" => format!("The tool `{}` of the MCP server `{}`.", id.tool, server.name),
            said => said.to_owned(),
        },
        source: ToolSource::Mcp,
        executor: ToolExecutor::McpServer,
        isolation: Isolation::None,
        server_id: Some(server.server_id),
        original_name: Some(tool.name.to_string()),
        plugin: PluginIdentity {
            name: server.name.clone(),
            version: says.map(|it| it.version.clone()).filter(|it| it.len() <= TITLE_MAX_LEN),
            digest: Digest::of(digest.as_bytes()),
        },
        id,
        input_schema: Value::Object(tool.input_schema.as_ref().clone()),
        output_schema: tool
            .output_schema
            .as_deref()
            .filter(|it| it.get("type") == Some(&json!("object")))
            .map(|it| Value::Object(it.clone())),
        examples: Vec::new(),
        effects: said::effects(&claims(tool.annotations.as_ref())),
        needs: Vec::new(),
        parallel: ParallelRule { sequential: false, locks: Vec::new() },
        requires_approval: false,
        asks_a_person: false,
        limits: limits(server, settings.map_or(&[], |it| &it.limits))?,
    };
    let found = FoundTool {
        descriptor: Arc::new(descriptor),
        check: Arc::new(input) as Arc<dyn ArgumentCheck>,
        grants: ToolGrants::Fixed(Arc::default()),
        owner: None,
    };
    Ok(Described { found, original: tool.name.into_owned(), output: output.map(Arc::new) })
}

fn limits(
    server: &UpstreamServer,
    own: &[(crate::contract::limits::LimitKind, u64)],
) -> Result<Limits, String> {
    let mut limits = server.limits.clone();
    for (kind, value) in own {
        limits.set(*kind, *value).map_err(|error| error.to_string())?;
    }
    Ok(limits)
}

/// What two names have in common that a model could take for one another.
fn alike(original: &str) -> String {
    match said::tool_name(original) {
        Ok(name) => name.as_str().to_ascii_lowercase(),
        Err(_) => original.to_owned(),
    }
}

/// The same words as a client's.
fn claims(said: Option<&ToolAnnotations>) -> Annotations {
    said.map_or_else(Annotations::default, |said| Annotations {
        read_only_hint: said.read_only_hint,
        destructive_hint: said.destructive_hint,
        idempotent_hint: said.idempotent_hint,
        open_world_hint: said.open_world_hint,
    })
}

#[cfg(test)]
mod tests;
