//! `belljar approvals`: what waits for a person, answers to it, and what was said for good.
//!
//! Works on the store alone: no engine is started and no plugin loaded, so that a broken plugin
//! can't keep anybody from saying no.

mod answer;
mod desk;
mod list;
mod revoke;
mod selection;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};

use super::arguments::fetch;
use super::error::CliError;
use super::exit::Exit;
use super::parse::{ArgumentSource, parse_arguments};
use super::start::configuration;
use super::time::{milliseconds, parse_span};
use crate::contract::approval::{ApprovalDecision, ApprovalState, RememberScope};
use crate::contract::ids::{ApprovalId, ToolId};
use crate::events::unix_ms;
use selection::{Selected, Which, glob, patterns, state};

/// See and answer what waits for a person.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar approvals list
  belljar approvals show abcdefghijkl
  belljar approvals approve abcdefghijkl
  belljar approvals approve abcdefghijkl --match 'path=src/**' --for 7d
  belljar approvals answer abcdefghijkl 'the blue one'
  belljar approvals deny --all --tool files.write --reason 'not today'
  belljar approvals watch

An answer to several requests is given to each by itself; name an id in a command before it to give
that one another answer. The first answer stands.")]
pub(super) struct ApprovalsArgs {
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    List(ListArgs),
    Show(ShowArgs),
    Approve(ApproveArgs),
    Answer(AnswerArgs),
    Deny(DenyArgs),
    Watch(WatchArgs),
    Remembered(RememberedArgs),
    Revoke(RevokeArgs),
}

/// List requests, oldest first.
#[derive(Debug, Args)]
struct ListArgs {
    /// Those that stand so: pending, decided, used, expired or withdrawn.
    #[arg(long, value_name = "STATE", default_value = "pending", value_parser = state)]
    state: ApprovalState,
    /// Those in every state.
    #[arg(long, conflicts_with = "state")]
    all: bool,
    /// Those of one tool.
    #[arg(long, value_name = "TOOL")]
    tool: Option<ToolId>,
    /// So many at most.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u32,
    /// Print them as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Show one request: who asks, for what, what it may use, and its arguments.
#[derive(Debug, Args)]
struct ShowArgs {
    /// The request.
    id: ApprovalId,
    /// Print all of it as one JSON object, arguments of any length among it.
    #[arg(long)]
    json: bool,
}

/// Let calls run, once each unless more is said.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("remember").args(["always", "always_arguments", "matching"]),
    group = ArgGroup::new("how")
        .args(["session", "always", "always_arguments", "matching", "edit", "answer"])
        .multiple(false))]
struct ApproveArgs {
    #[command(flatten)]
    which: Which,
    /// Also later calls of the tool in the same session.
    #[arg(long)]
    session: bool,
    /// Also later calls of the tool by the same caller.
    #[arg(long)]
    always: bool,
    /// Also later calls with exactly these arguments.
    #[arg(long)]
    always_arguments: bool,
    /// Also later calls whose argument matches; may be given again, and then all must match. `*`
    /// and `?` stop at a `/`, `**` doesn't.
    #[arg(long = "match", value_name = "NAME=GLOB", value_parser = glob)]
    matching: Vec<(String, String)>,
    /// How long later calls are let through, such as 12h or 7d. None: until it is revoked.
    #[arg(long = "for", value_name = "DUR", value_parser = parse_span, requires = "remember")]
    lasting: Option<Duration>,
    /// Run it with these arguments instead; for one request.
    #[arg(long, value_name = "JSON|@FILE", value_parser = parse_arguments)]
    edit: Option<ArgumentSource>,
    /// Don't run it: this text is its result; for one request.
    #[arg(long, value_name = "TEXT")]
    answer: Option<String>,
    /// Print what became of each as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Answer a question, or a call in its tool's place: nothing runs, and this is the result.
#[derive(Debug, Args)]
struct AnswerArgs {
    /// The request.
    id: ApprovalId,
    /// The answer. To several questions: a JSON list of one answer each, or one text for all.
    text: String,
    /// Print what became of it as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Refuse calls.
#[derive(Debug, Args)]
struct DenyArgs {
    #[command(flatten)]
    which: Which,
    /// Also every later call of the tool by the same caller.
    #[arg(long)]
    always: bool,
    /// Also later calls with exactly these arguments.
    #[arg(long, conflicts_with = "always")]
    always_arguments: bool,
    /// Why; the caller is told.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print what became of each as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Print requests as they come and how they end, until Ctrl-C.
#[derive(Debug, Args)]
struct WatchArgs {
    /// Print each as one line of JSON.
    #[arg(long)]
    json: bool,
}

/// List the answers that stand for later calls.
#[derive(Debug, Args)]
struct RememberedArgs {
    /// Print them as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Take back answers that stand for later calls.
#[derive(Debug, Args)]
struct RevokeArgs {
    /// The ids that `remembered` shows.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<ApprovalId>,
    /// Print what became of each as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Runs one of them.
pub(super) async fn run(args: ApprovalsArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let config = configuration(config)?;
    match args.command {
        ApprovalsCommand::List(args) => list::list(&args, &config),
        ApprovalsCommand::Show(args) => list::show(&args, &config),
        ApprovalsCommand::Remembered(args) => list::remembered(&args, &config),
        ApprovalsCommand::Approve(args) => {
            let json = args.json;
            let (selected, decision) = args.decision()?;
            answer::answer(&config, selected, decision, json).await
        }
        ApprovalsCommand::Answer(AnswerArgs { id, text, json }) => {
            let (one, decision) =
                (Selected::Ids(vec![id]), ApprovalDecision::Answer { content: text });
            answer::answer(&config, one, decision, json).await
        }
        ApprovalsCommand::Deny(args) => {
            let json = args.json;
            let (selected, decision) = args.decision();
            answer::answer(&config, selected, decision, json).await
        }
        ApprovalsCommand::Watch(args) => watch::watch(&args, &config).await,
        ApprovalsCommand::Revoke(args) => revoke::revoke(args, &config).await,
    }
}

impl ApproveArgs {
    fn decision(self) -> Result<(Selected, ApprovalDecision), CliError> {
        let selected = self.which.selected();
        if (self.edit.is_some() || self.answer.is_some()) && !selected.is_one() {
            let why = "--edit and --answer go with the id of one request";
            return Err(CliError::Usage(why.to_owned()));
        }
        let scope = if self.always {
            Some(RememberScope::Tool)
        } else if self.always_arguments {
            Some(RememberScope::Arguments)
        } else if self.matching.is_empty() {
            None
        } else {
            Some(RememberScope::Pattern(patterns(self.matching)?))
        };
        let until = |span| unix_ms().saturating_add(milliseconds(span));
        let decision = match scope {
            Some(scope) => {
                ApprovalDecision::Always { scope, expires_unix_ms: self.lasting.map(until) }
            }
            None if self.session => ApprovalDecision::Session,
            None => match (self.edit, self.answer) {
                (Some(edit), _) => edited(edit)?,
                (None, Some(content)) => ApprovalDecision::Answer { content },
                (None, None) => ApprovalDecision::Once,
            },
        };
        Ok((selected, decision))
    }
}

impl DenyArgs {
    fn decision(self) -> (Selected, ApprovalDecision) {
        let reason = self.reason;
        let decision = match (self.always, self.always_arguments) {
            (true, _) => ApprovalDecision::DenyAlways { scope: RememberScope::Tool, reason },
            (_, true) => ApprovalDecision::DenyAlways { scope: RememberScope::Arguments, reason },
            _ => ApprovalDecision::Deny { reason },
        };
        (self.which.selected(), decision)
    }
}

/// What isn't even an object is a slip at the keyboard, and no answer to put on record.
fn edited(source: ArgumentSource) -> Result<ApprovalDecision, CliError> {
    let arguments_json = fetch(Some(source))?;
    match serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&arguments_json) {
        Ok(_object) => Ok(ApprovalDecision::Edit { arguments_json }),
        Err(error) => Err(CliError::Usage(format!("--edit is no JSON object: {error}"))),
    }
}
