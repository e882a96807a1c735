//! `belljar policy explain`: what the gate would say of a call, stage by stage.
//!
//! Runs, asks and records nothing.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;

use super::args::{CallerArgs, GrantArgs, PluginArgs, level};
use super::arguments::fetch;
use super::caller::Caller;
use super::error::CliError;
use super::exit::Exit;
use super::parse::{ArgumentSource, parse_arguments};
use super::show::{print, print_json_pretty, tell};
use super::start::{looking, reach_servers, setup, start};
use crate::contract::escape::clipped_line;
use crate::contract::ids::CallId;
use crate::contract::invocation::{ApprovalMode, PermissionLevel};
use crate::contract::limits::Limits;
use crate::gate::Explanation;

/// Longest reason in a line, in bytes.
const REASON_MAX_LEN: usize = 400;

/// See what the rules mean for a call.
#[derive(Debug, Args)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    Explain(ExplainArgs),
}

/// Show what each stage of the gate says of a call, and which one decides. Runs nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar policy explain files.write '{\"path\":\"a.txt\",\"content\":\"\"}' --dir .:rw
  belljar policy explain search.grep @arguments.json --as ci --level READ_ONLY --json

Exit code 0 whatever the verdict; a call that would end before the gate is asked (an unknown tool,
bad arguments) ends with the code of that end.")]
struct ExplainArgs {
    /// The tool, as PLUGIN.TOOL or by its wire name.
    #[arg(value_name = "TOOL")]
    tool: String,
    /// The arguments: a JSON object, @FILE for a file that holds it, or - for stdin. None: `{}`.
    #[arg(value_name = "JSON|@FILE|-", value_parser = parse_arguments)]
    arguments: Option<ArgumentSource>,
    /// As which caller of the configuration. None: `cli`.
    #[arg(long = "as", value_name = "NAME")]
    caller: Option<String>,
    /// At which level, where the call asks for less than the caller has.
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = level())]
    level: Option<PermissionLevel>,
    /// Print all of it as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plugins: PluginArgs,
    #[command(flatten)]
    grants: GrantArgs,
}

/// An explanation with what it is of.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    tool: &'a str,
    caller: &'a str,
    permission_level: PermissionLevel,
    #[serde(flatten)]
    explanation: &'a Explanation<'a>,
}

/// Explains.
pub(super) async fn run(args: PolicyArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let PolicyCommand::Explain(args) = args.command;
    let limits = Limits::default();
    let arguments = fetch(args.arguments)?;
    let config = looking(config)?;
    let named = CallerArgs { name: args.caller, level: args.level, ..CallerArgs::default() };
    let caller = Caller::new(&named, &config, ApprovalMode::Deny)?;
    let app = start(&setup(config, args.plugins, args.grants, limits))?;
    reach_servers(&app, Some(&args.tool)).await;
    let named = app.host.tool(&args.tool);
    let tool = named.map_or_else(|| args.tool.clone(), |tool| tool.descriptor.id.to_string());
    let id: CallId = "explain".parse().map_err(|error| CliError::Machine(format!("{error}")))?;
    let call = caller.among(&app.host.tools()).call(id, args.tool, arguments);
    let explanation = match app.host.explain(&call).await {
        Ok(explanation) => explanation,
        Err(ended) => {
            let why = ended.error_message.as_deref().unwrap_or("it would end before the gate");
            tell(&format!("error[{}]: {}", ended.outcome.name(), super::show::indented(why, "  ")));
            return Ok(Exit::of_outcome(ended.outcome));
        }
    };
    let view = View {
        tool: &tool,
        caller: call.caller.as_deref().unwrap_or_default(),
        permission_level: call.permission_level,
        explanation: &explanation,
    };
    if args.json {
        print_json_pretty(&view)?;
    } else {
        print(&table(&view))?;
    }
    Ok(Exit::Success)
}

fn table(view: &View<'_>) -> String {
    let Explanation { stages, winner, verdict, reason, .. } = view.explanation;
    let text = |text: &str| clipped_line(text, REASON_MAX_LEN);
    let (tool, caller) = (text(view.tool), text(view.caller));
    let mut out = format!("{tool} for {caller} at {}\n", word(&view.permission_level));
    for stage in stages {
        let mark = if stage.stage == *winner { '>' } else { ' ' };
        let (name, answer) = (word(&stage.stage), word(&stage.answer));
        out.push_str(&format!("{mark} {name:<12} {answer:<8} {}\n", text(&stage.reason)));
    }
    out.push_str(&format!("verdict: {}, by {}: {}\n", word(verdict), word(winner), text(reason)));
    out
}

/// The name that JSON has for it.
fn word(of: &impl Serialize) -> String {
    match serde_json::to_value(of) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
