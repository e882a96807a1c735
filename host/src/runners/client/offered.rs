//! Makes a tool of what a client says of one.
//!
//! Nothing of it is believed: what it says of itself is a claim, and it belongs to its client's
//! caller alone.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::contract::arguments::canonical;
use crate::contract::client::{OfferedTool, RefusedTool};
use crate::contract::descriptor::{
    Isolation, ParallelRule, PluginIdentity, ToolDescriptor, ToolExecutor, ToolSource,
};
use crate::contract::escape::clipped_line;
use crate::contract::grants::{Grants, ToolGrants};
use crate::contract::ids::{Digest, PluginName, ToolId};
use crate::contract::limits::Limits;
use crate::contract::unfit::unfit;
use crate::engine::ports::FoundTool;
use crate::registry::wire_name;
use crate::runners::said::{DESCRIPTION_MAX_LEN, TITLE_MAX_LEN, effects, fits, tool_name};
use crate::runners::schema::{SchemaCheck, vet};

/// Keeps this digest apart from every other SHA-256 of JSON; changes with the form below.
const PURPOSE: &str = "belljar client tool 1\n";

/// A tool of a client.
pub(super) struct ClientTool {
    pub(super) found: FoundTool,
    /// The client's own name for it.
    pub(super) name: String,
    /// Checks its answers.
    pub(super) output: Option<SchemaCheck>,
    /// Values of its schemas, references followed.
    pub(super) values: usize,
}

/// Whose tools are made.
pub(super) struct Offering<'a> {
    pub(super) client: &'a PluginName,
    pub(super) owner: &'a Arc<str>,
    pub(super) limits: &'a Limits,
}

impl Offering<'_> {
    /// Makes a tool, or says why it can't be one.
    pub(super) fn tool(&self, said: &Value) -> Result<ClientTool, RefusedTool> {
        let name = said.get("name").and_then(Value::as_str).unwrap_or_default();
        self.read(said).map_err(|reason| RefusedTool {
            name: clipped_line(name, TITLE_MAX_LEN),
            reason: clipped_line(&reason, 2 * TITLE_MAX_LEN),
        })
    }

    fn read(&self, said: &Value) -> Result<ClientTool, String> {
        check_objects(said)?;
        let offered: OfferedTool = serde_json::from_value(said.clone())
            .map_err(|error| format!("it can't be read: {}", unfit("", &error.to_string())))?;
        check_words(&offered)?;
        let id = ToolId { plugin: self.client.clone(), tool: tool_name(&offered.name)? };
        let input = vet(offered.input_schema).map_err(|why| format!("its input schema {why}"))?;
        let check = SchemaCheck::new(&input).map_err(|why| format!("its input schema {why}"))?;
        let output = offered.output_schema.map(vet).transpose();
        let output = output.map_err(|why| format!("its output schema {why}"))?;
        let output_check = output.as_ref().map(SchemaCheck::new).transpose();
        let output_check = output_check.map_err(|why| format!("its output schema {why}"))?;
        let values = input.expanded + output.as_ref().map_or(0, |vetted| vetted.expanded);
        let documented = offered.description.is_some();
        let generated = || format!("`{}` of the client `{}`", offered.name, self.client);
        let descriptor = ToolDescriptor {
            wire_name: wire_name(&id),
            title: offered.title,
            description: offered.description.unwrap_or_else(generated),
            documented,
            // A8: the tool of an MCP server behind a client is the server's, and runs there.
            source: if offered.mcp.is_some() { ToolSource::Mcp } else { ToolSource::Plugin },
            executor: ToolExecutor::Desktop,
            isolation: Isolation::None,
            server_id: offered.mcp.as_ref().map(|mcp| mcp.server_id),
            original_name: offered.mcp.map(|mcp| mcp.original_name),
            plugin: PluginIdentity {
                name: self.client.clone(),
                version: None,
                digest: self.digest(said),
            },
            id,
            input_schema: Value::Object(input.schema),
            output_schema: output.map(|vetted| Value::Object(vetted.schema)),
            examples: Vec::new(),
            effects: effects(&offered.annotations),
            needs: Vec::new(),
            parallel: ParallelRule { sequential: false, locks: Vec::new() },
            requires_approval: false,
            asks_a_person: false,
            limits: self.limits.clone(),
        };
        let found = FoundTool {
            descriptor: Arc::new(descriptor),
            check: Arc::new(check),
            grants: ToolGrants::Fixed(Arc::new(Grants::default())),
            owner: Some(Arc::clone(self.owner)),
        };
        Ok(ClientTool { found, name: offered.name, output: output_check, values })
    }

    /// T40: what is said of a tool is all that there is of its build. Said otherwise it is another
    /// tool, and what was approved or remembered of it holds no longer.
    fn digest(&self, said: &Value) -> Digest {
        let build = json!({"client": self.client, "owner": self.owner.as_ref(), "tool": said});
        Digest::of(format!("{PURPOSE}{}", canonical::to_string(&build)).as_bytes())
    }
}

/// serde would read an array by the places of the fields.
fn check_objects(said: &Value) -> Result<(), String> {
    if !said.is_object() {
        return Err("it is no JSON object".to_owned());
    }
    for part in ["annotations", "mcp"] {
        if said.get(part).is_some_and(Value::is_array) {
            return Err(format!("its `{part}` is an array: expected an object"));
        }
    }
    Ok(())
}

fn check_words(offered: &OfferedTool) -> Result<(), String> {
    let original = offered.mcp.as_ref().map(|mcp| &mcp.original_name);
    for (what, text, max) in [
        ("title", offered.title.as_ref(), TITLE_MAX_LEN),
        ("description", offered.description.as_ref(), DESCRIPTION_MAX_LEN),
        ("original name", original, TITLE_MAX_LEN),
    ] {
        text.map_or(Ok(()), |text| fits(what, text, max))?;
    }
    Ok(())
}
