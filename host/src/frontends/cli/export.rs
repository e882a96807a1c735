//! `belljar export`: what a model provider is told of the tools.
//!
//! Makes no call and sends nothing anywhere. Every shape is `frontends::export`'s.

mod report;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::args::{CallerArgs, GrantArgs, PluginArgs};
use super::caller::Caller;
use super::error::CliError;
use super::exit::Exit;
use super::show::{print_json_pretty, tell};
use super::start::{leave_servers, looking, reach_servers, setup, start};
use crate::contract::descriptor::ToolDescriptor;
use crate::contract::escape::clipped_line;
use crate::contract::invocation::ApprovalMode;
use crate::contract::limits::Limits;
use crate::engine::ports::FoundTool;
use crate::frontends::export::{FindingKind, Format, Strict, definitions};
use crate::host::Host;

/// Longest name that is repeated, in bytes.
const PART_MAX_LEN: usize = 300;

/// Print the tools' definitions in the shape that a model provider takes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar export --format openai-responses > tools.json
  belljar export --format anthropic --strict search files.read
  belljar export --format gemini --plugin ./weather.wasm --as claude --json

What is printed is the request's `tools`: a JSON array, for gemini of the one tool that holds all
function declarations. What a provider is told less of than the schema says, and each tool that it
would refuse and that is left out for it, are on stderr, the same of many tools in one line; with
--json they are on stdout beside the tools, each by itself, as {tools, report, names}. names are the names the model uses, each with its tool.
--strict asks the provider to hold the model to the schema; a tool whose schema its strict subset
can't say is exported without.

The exit code is 0 also where something is lossy; 3 where a TOOL is unknown, isn't the caller's, or
is left out.")]
pub(super) struct ExportArgs {
    /// Which provider's shape.
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub(super) format: Format,
    /// Ask the provider to hold the model to the schema.
    #[arg(long)]
    pub(super) strict: bool,
    /// Print one object with the tools, the report and the names.
    #[arg(long)]
    pub(super) json: bool,
    /// Only the tools of this caller of the configuration. None: `cli`.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) caller: Option<String>,
    #[command(flatten)]
    pub(super) plugins: PluginArgs,
    /// The tools, as PLUGIN.TOOL or by their wire names, or all of a plugin by its name. None: all.
    #[arg(value_name = "TOOL")]
    pub(super) tools: Vec<String>,
}

fn format() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let known = Format::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or_else(|| format!("`{name}` is no format"))
    })
}

/// Prints the definitions.
pub(super) async fn run(args: ExportArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let config = looking(config)?;
    let caller = CallerArgs { name: args.caller, ..CallerArgs::default() };
    let caller = Caller::new(&caller, &config, ApprovalMode::Deny)?;
    let grants = GrantArgs { dirs: Vec::new(), env: Vec::new() };
    let app = start(&setup(config, args.plugins, grants, Limits::default()))?;
    reach_servers(&app, None).await;
    let tools = app.host.tools();
    // What they offer is known now, and nothing of it is called.
    leave_servers(&app).await;
    let allowed = caller.among(&tools).tools;
    let tools = chosen(&app.host, &tools, &args.tools, allowed.as_deref())?;
    let strict = if args.strict { Strict::On } else { Strict::Off };
    let exported = definitions(tools, args.format, strict);
    if args.json {
        print_json_pretty(&exported)?;
    } else {
        print_json_pretty(&exported.tools)?;
        report::lines(&exported.report).iter().for_each(|line| tell(line));
    }
    let left_out = exported.report.iter().any(|it| it.kind == FindingKind::LeftOut);
    Ok(if left_out && !args.tools.is_empty() { Exit::Refused } else { Exit::Success })
}

/// The tools that are named, or all that the caller may call, by id.
fn chosen<'c>(
    host: &Host,
    tools: &'c [FoundTool],
    names: &[String],
    allowed: Option<&[String]>,
) -> Result<Vec<&'c ToolDescriptor>, CliError> {
    let may = |tool: &ToolDescriptor| allowed.is_none_or(|ids| ids.contains(&tool.id.to_string()));
    let means = |name: &str, tool: &ToolDescriptor| {
        let is_plugin = tool.id.plugin.as_str() == name;
        is_plugin || tool.wire_name == name || tool.id.to_string() == name
    };
    let all = || tools.iter().map(|tool| tool.descriptor.as_ref());
    for name in names {
        if !all().any(|tool| means(name, tool)) {
            return Err(unknown(host, name));
        }
        if !all().any(|tool| means(name, tool) && may(tool)) {
            let name = clipped_line(name, PART_MAX_LEN);
            return Err(CliError::Refused(format!("`{name}` isn't among the caller's tools")));
        }
    }
    let named = |tool: &ToolDescriptor| names.is_empty() || names.iter().any(|it| means(it, tool));
    Ok(all().filter(|tool| may(tool) && named(tool)).collect())
}

fn unknown(host: &Host, name: &str) -> CliError {
    let near: Vec<_> = host.near(name).iter().map(|id| format!("`{id}`")).collect();
    let near = match near.as_slice() {
        [] => "`belljar tools` lists them".to_owned(),
        near => format!("near it are {}", near.join(", ")),
    };
    let name = clipped_line(name, PART_MAX_LEN);
    CliError::Refused(format!("no tool and no plugin is called `{name}`; {near}"))
}
