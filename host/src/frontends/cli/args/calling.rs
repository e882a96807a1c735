//! The options of the commands that call tools, as they are typed.
//!
//! Reads values and does nothing with them.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{ArgAction, Args};

use super::{GrantArgs, LimitArgs, PluginArgs};
use crate::config::CliApprovals;
use crate::contract::invocation::PermissionLevel;
use crate::frontends::cli::parse::{ArgumentSource, parse_arguments, parse_label};

/// Most calls of a batch at once, as for `engine.concurrency` in the configuration.
const CONCURRENCY_MAX: u64 = 256;

/// Call one tool.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar call codec.hash '{\"algorithm\":\"sha256\",\"text\":\"abc\"}'
  belljar call search.grep '{\"pattern\":\"fn main\",\"path\":\".\"}' --dir .
  belljar call files.write @arguments.json --dir ./out:rw --level READ_ONLY
  belljar call weather.current - --plugin ./weather.wasm --timeout 2s --json < arguments.json

The content of the answer goes to stdout; all else (errors, attachments, what the tool prints) goes
to stderr. With --json, stdout gets the whole result as one line of JSON instead. Nothing is
written to stdout where no call was made: wrong usage, or a plugin that can't be loaded.
Ctrl-C cancels the call, also while it waits for a person; a second one ends belljar at once.
`belljar --help` lists the exit codes.")]
pub(in crate::frontends::cli) struct CallArgs {
    /// The tool, as PLUGIN.TOOL or by its wire name.
    #[arg(value_name = "TOOL")]
    pub(in crate::frontends::cli) tool: String,
    /// The arguments: a JSON object, @FILE for a file that holds it, or - for stdin. None: `{}`.
    #[arg(value_name = "JSON|@FILE|-", value_parser = parse_arguments)]
    pub(in crate::frontends::cli) arguments: Option<ArgumentSource>,
    /// Print the result as one line of JSON.
    #[arg(long)]
    pub(in crate::frontends::cli) json: bool,
    /// Print every event of the call and what it used, on stderr.
    #[arg(long)]
    pub(in crate::frontends::cli) trace: bool,
    /// Write where the tool's code spent its time into this file, as JSON for the Firefox Profiler.
    #[arg(long, value_name = "FILE")]
    pub(in crate::frontends::cli) profile: Option<PathBuf>,
    /// A key of your own for this call. The same call under the same key runs once: a repeat gets
    /// the first one's result.
    #[arg(long, value_name = "KEY", value_parser = parse_label)]
    pub(in crate::frontends::cli) idempotency_key: Option<String>,
    #[command(flatten)]
    pub(in crate::frontends::cli) plugins: PluginArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) caller: CallerArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) grants: GrantArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) limits: LimitArgs,
}

/// Call many tools: JSON lines in, one JSON line of result out for each, in their order.
#[derive(Debug, Args)]
#[command(after_help = "A line is a JSON object:
  toolName         the tool, as PLUGIN.TOOL or by its wire name
  arguments        its arguments, an object; or argumentsJson, the same as text; neither: {}
  callId           names the call in its result; one that is missing or taken is replaced
  timeoutMs        a tighter deadline, in milliseconds
  permissionLevel  a lower level, and allowedTools, a smaller set of tools, than the caller's
  idempotencyKey   the same call under the same key runs once

Examples:
  printf '%s\\n' '{\"toolName\":\"codec.hash\",\"arguments\":{\"algorithm\":\"sha256\",\"text\":\"abc\"}}' |
    belljar batch -
  belljar batch calls.jsonl --dir . --concurrency 4 > results.jsonl

The whole file is read before the first call. Calls that can't get in each other's way run side by
side, the others one after another. Each line that isn't blank has one result, also one that is no
invocation (its outcome is invalid_arguments) and one that Ctrl-C kept from running (cancelled). At
most 10000 lines and 256 MiB are taken, and 17 MiB in a line.

The exit code is the highest of those that the calls would have ended with by themselves: 0 only
where all succeeded. `belljar --help` lists them.")]
pub(in crate::frontends::cli) struct BatchArgs {
    /// The file of the calls, or - for stdin.
    #[arg(value_name = "FILE|-")]
    pub(in crate::frontends::cli) file: PathBuf,
    /// Calls that run at once, 1 to 256. None: what the configuration says.
    #[arg(
        long,
        value_name = "N",
        value_parser = RangedU64ValueParser::<usize>::new()
            .range(1..=CONCURRENCY_MAX)
            .map(|calls| NonZeroUsize::new(calls).unwrap_or(NonZeroUsize::MIN))
    )]
    pub(in crate::frontends::cli) concurrency: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(in crate::frontends::cli) plugins: PluginArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) caller: CallerArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) grants: GrantArgs,
    #[command(flatten)]
    pub(in crate::frontends::cli) limits: LimitArgs,
}

/// Who calls, and who is asked.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Caller and approvals")]
pub(in crate::frontends::cli) struct CallerArgs {
    /// Call as this caller of the configuration, with its level, tools, workspace and users. None:
    /// `cli`.
    #[arg(long = "as", value_name = "NAME")]
    pub(in crate::frontends::cli) name: Option<String>,
    /// Trust the caller no further than this. It can only lower what the configuration says, which
    /// for `cli` is FULL by itself.
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = level())]
    pub(in crate::frontends::cli) level: Option<PermissionLevel>,
    /// The session that the calls belong to: an approval can be for all of it.
    #[arg(long, value_name = "ID", value_parser = parse_label)]
    pub(in crate::frontends::cli) session: Option<String>,
    /// What becomes of a call that needs a person: ask on this terminal (where there is none, the
    /// call is declined at once); wait a little for `belljar approvals`, then end as
    /// approval_pending; or decline it. None: what the configuration says, `prompt` by itself.
    #[arg(
        long,
        value_name = "prompt|queue|deny",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(["prompt", "queue", "deny"])
            .map(|how| match how.as_str() {
                "prompt" => CliApprovals::Prompt,
                "queue" => CliApprovals::Queue,
                _ => CliApprovals::Deny,
            })
    )]
    pub(in crate::frontends::cli) approvals: Option<CliApprovals>,
    /// Say yes where a rule with `yes = true` asks. What any other rule or the level asks is
    /// declined.
    #[arg(long, action = ArgAction::SetTrue, conflicts_with = "approvals")]
    pub(in crate::frontends::cli) yes: bool,
}

/// Reads the name of a level, in whatever case.
pub(in crate::frontends::cli) fn level() -> impl TypedValueParser<Value = PermissionLevel> {
    PossibleValuesParser::new(LEVELS)
        .map(|level| PermissionLevel::parse_or_read_only(Some(&level.to_uppercase())))
}

/// The names of the levels.
pub(in crate::frontends::cli) const LEVELS: [&str; 4] =
    ["READ_ONLY", "READ_WRITE", "SMART", "FULL"];
