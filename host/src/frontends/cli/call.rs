//! `belljar call`: one call, watched to its end; Ctrl-C cancels it.
//!
//! Makes the invocation and shows the result. The host does everything between.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::answer::{answer, usage};
use super::args::CallArgs;
use super::arguments::fetch;
use super::error::CliError;
use super::exit::Exit;
use super::show::{print, print_json, tell};
use super::start::{limits, setup, start};
use super::watch::{Detail, Watcher};
use crate::Host;
use crate::contract::ids::CallId;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::result::ToolResult;
use crate::events::unix_ms;

/// Who calls here, in events.
const CALLER: &str = "cli";

/// Calls one tool.
pub(super) async fn run(args: CallArgs) -> Result<Exit, CliError> {
    let limits = limits(&args.limits)?;
    let arguments = fetch(args.arguments, &limits)?;
    let app = start(&setup(args.plugins, args.grants, limits))?;
    let tool = app.host.catalog().tool(&args.tool);
    let name = tool.map_or_else(|| args.tool.clone(), |tool| tool.descriptor.id.to_string());
    let detail = if args.trace { Detail::Trace } else { Detail::Words };
    let call = invocation(args.tool, arguments, args.level)?;
    let Some(result) = watched(&app.host, call, Watcher::new(&name, detail)).await? else {
        return Ok(Exit::Interrupted);
    };
    if let (Detail::Trace, Some(used)) = (detail, &result.usage) {
        tell(&usage(used));
    }
    if args.json {
        print_json(&result)?;
    } else {
        let answer = answer(&result);
        print(&answer.content)?;
        answer.remarks.iter().for_each(|remark| tell(remark));
    }
    Ok(Exit::of_outcome(result.outcome))
}

/// The invocation of whoever sits at this terminal.
fn invocation(
    tool: String,
    arguments: String,
    level: PermissionLevel,
) -> Result<ToolInvocation, CliError> {
    let id = format!("{CALLER}-{}-{}", unix_ms(), std::process::id());
    let id: CallId = id.parse().map_err(|error| CliError::Machine(format!("{error}")))?;
    let mut call = ToolInvocation::new(id, tool, arguments);
    call.caller = Some(CALLER.to_owned());
    call.permission_level = level;
    Ok(call)
}

/// Runs the call and tells what it says. `None`: a second Ctrl-C, so nobody waits any more.
///
/// The call is a task of its own: a terminal that takes no more lines holds up the lines and not
/// the call's deadline.
async fn watched(
    host: &Host,
    call: ToolInvocation,
    mut watcher: Watcher,
) -> Result<Option<ToolResult>, CliError> {
    let mut interrupts = signal(SignalKind::interrupt())
        .map_err(|error| CliError::Machine(format!("Ctrl-C can't be watched: {error}")))?;
    let mut events = host.events();
    let cancel = CancellationToken::new();
    let (runs, token) = (host.clone(), cancel.clone());
    let mut running = tokio::spawn(async move { runs.call_with(call, token).await });
    let ended = loop {
        tokio::select! {
            ended = &mut running => break ended,
            Some(()) = interrupts.recv() => {
                if cancel.is_cancelled() {
                    return Ok(None);
                }
                cancel.cancel();
            }
            Some(seen) = events.next() => {
                watcher.lines(&seen).into_iter().for_each(|lines| tell(&lines));
            }
        }
    };
    while let Some(seen) = events.try_next() {
        watcher.lines(&seen).into_iter().for_each(|lines| tell(&lines));
    }
    ended.map(Some).map_err(|error| CliError::Machine(format!("the call was lost: {error}")))
}
