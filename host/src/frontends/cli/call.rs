//! `belljar call`: one call, watched to its end; Ctrl-C cancels it.
//!
//! Makes the invocation and shows the result. The host does everything between.

use std::path::PathBuf;
use std::sync::Arc;

use super::answer::{answer, usage};
use super::args::CallArgs;
use super::arguments::fetch;
use super::asking::Asking;
use super::attend::Attendant;
use super::caller::Caller;
use super::error::CliError;
use super::exit::Exit;
use super::profile::ProfileFile;
use super::screen::Screen;
use super::show::{print, print_json, tell};
use super::start::{
    Warned, configuration, leave_servers, limits, reach_servers, redactor, setup, start,
};
use super::watch::{Detail, Watcher};
use crate::app::Setup;
use crate::contract::ids::CallId;
use crate::contract::result::ToolResult;
use crate::events::unix_ms;

/// Calls one tool.
pub(super) async fn run(args: CallArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let limits = limits(&args.limits)?;
    let profile = args.profile.as_deref().map(ProfileFile::new).transpose()?;
    let config = configuration(config)?;
    let screen = Arc::new(Screen::default());
    let redactor = redactor(&config, Warned::ByTheLog);
    let asking = Asking::new(&args.caller, &config, &screen, &redactor);
    let caller = Caller::new(&args.caller, &config, asking.mode)?;
    let arguments = fetch(args.arguments)?;
    let setup = setup(config, args.plugins, args.grants, limits);
    let sampled = profile.as_ref().map(ProfileFile::profile);
    let app = start(&Setup { approver: asking.approver.clone(), profile: sampled, ..setup })?;
    reach_servers(&app, Some(&args.tool)).await;
    let tool = app.host.tool(&args.tool);
    let name = tool.map_or_else(|| args.tool.clone(), |tool| tool.descriptor.id.to_string());
    let detail = if args.trace { Detail::Trace } else { Detail::Words };

    let mut call = caller.among(&app.host.tools()).call(fresh_id()?, args.tool, arguments);
    call.idempotency_key = args.idempotency_key;
    let watcher = Watcher::new(&name, detail).redacting(redactor);
    let mut attendant = Attendant::new(&app.host, watcher, screen)?;
    let (host, cancel) = (app.host.clone(), attendant.cancel());
    let running = tokio::spawn(async move { host.call_with(call, cancel).await });
    let Some(ended) = attendant.until(running).await else { return Ok(Exit::Interrupted) };
    let result = ended.map_err(|error| CliError::Machine(format!("the call was lost: {error}")))?;
    let shown = show(&result, args.json, detail, &asking);
    if let Some(profile) = profile {
        profile.write(&name);
    }
    leave_servers(&app).await;
    attendant.close(&app.host).await;
    shown.map(|()| Exit::of_outcome(result.outcome))
}

fn show(result: &ToolResult, json: bool, detail: Detail, asking: &Asking) -> Result<(), CliError> {
    if let (Detail::Trace, Some(used)) = (detail, &result.usage) {
        tell(&usage(used));
    }
    if json {
        print_json(result)?;
    } else {
        let answer = answer(result);
        print(&answer.content)?;
        answer.remarks.iter().for_each(|remark| tell(remark));
    }
    asking.remark(result.outcome).into_iter().for_each(tell);
    Ok(())
}

/// An id that no call of another process has.
fn fresh_id() -> Result<CallId, CliError> {
    let id = format!("cli-{}-{}", unix_ms(), std::process::id());
    id.parse().map_err(|error| CliError::Machine(format!("{error}")))
}
