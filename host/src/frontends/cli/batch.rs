//! `belljar batch`: many calls from JSON lines, one line of result for each, in their order.
//!
//! Makes the invocations and prints the results; in which order calls run is the engine's to say.

mod input;
mod line;
mod output;

use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use tokio::sync::oneshot;

use super::args::BatchArgs;
use super::asking::Asking;
use super::attend::Attendant;
use super::caller::Caller;
use super::error::CliError;
use super::exit::Exit;
use super::screen::Screen;
use super::show::tell;
use super::start::{
    Warned, configuration, leave_servers, limits, reach_servers, redactor, setup, start,
};
use super::watch::Watcher;
use crate::Host;
use crate::app::Setup;
use crate::contract::escape::clipped_line;
use crate::contract::invocation::ToolInvocation;
use crate::contract::outcome::Outcome;
use crate::contract::result::ToolResult;
use crate::engine::ports::FoundTool;
use crate::host::{Renamed, unique_ids};
use input::{Line, read_lines};
use line::{Request, read_request};
use output::{Printer, Told};

/// Renamed calls that are told one by one.
const RENAMED_TOLD: usize = 20;
/// Longest id that is repeated, in bytes.
const ID_SHOWN_MAX_LEN: usize = 100;

/// Runs the calls of a file.
pub(super) async fn run(args: BatchArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let limits = limits(&args.limits)?;
    let mut config = configuration(config)?;
    if let Some(concurrency) = args.concurrency {
        config.engine.concurrency = concurrency.get();
    }
    let screen = Arc::new(Screen::default());
    let redactor = redactor(&config, Warned::ByTheLog);
    let asking = Asking::new(&args.caller, &config, &screen, &redactor);
    let caller = Caller::new(&args.caller, &config, asking.mode)?;
    let lines = read_lines(&args.file)?;
    let setup = setup(config, args.plugins, args.grants, limits);
    let app = start(&Setup { approver: asking.approver.clone(), ..setup })?;
    reach_servers(&app, None).await;
    let tools = app.host.tools();
    let planned = plan(lines, &caller.among(&tools), &tools);

    let watcher = planned.watcher().redacting(redactor);
    let mut attendant = Attendant::new(&app.host, watcher, Arc::clone(&screen))?;
    screen.begin(planned.len() as u64);
    let printed = run_all(&app.host, planned, &mut attendant, &screen).await;
    screen.end();
    let Some(printed) = printed.transpose() else { return Ok(Exit::Interrupted) };
    if let Ok(outcomes) = &printed {
        outcomes.iter().find_map(|outcome| asking.remark(*outcome)).into_iter().for_each(tell);
    }
    leave_servers(&app).await;
    attendant.close(&app.host).await;
    printed.map(|outcomes| gravest(&outcomes))
}

/// Runs and prints all of it: the outcomes as they came. `None`: a second Ctrl-C.
async fn run_all(
    host: &Host,
    planned: Planned,
    attendant: &mut Attendant,
    screen: &Arc<Screen>,
) -> Result<Option<Vec<Outcome>>, CliError> {
    let Planned { calls, refused } = planned;
    let (results, to_print) = mpsc::channel();
    let printer = Printer::new(Arc::clone(screen), attendant.cancel());
    let printing = print_beside(move || printer.print_all(&to_print))?;
    for (place, result) in &refused {
        // Nobody prints any more where stdout failed, which is told at the end; here and below.
        results.send(Told::of(*place, result)).ok();
    }
    let (host, cancel) = (host.clone(), attendant.cancel());
    let running = tokio::spawn(async move {
        let (places, calls): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
        let on_result = move |index: usize, result: &ToolResult| {
            if let Some(place) = places.get(index) {
                results.send(Told::of(*place, result)).ok();
            }
        };
        host.batch_with(calls, cancel, on_result).await;
    });
    let Some(ended) = attendant.until(running).await else { return Ok(None) };
    let Some(printed) = attendant.until(printing).await else { return Ok(None) };
    ended.map_err(lost)?;
    printed.map_err(lost)?.map(Some)
}

/// Prints on a thread of its own. It lasts as long as the batch: where a user can have few threads, it
/// would be the runtime's only one for what blocks, and calls that need one would wait for its end.
fn print_beside<T: Send + 'static>(
    print: impl FnOnce() -> T + Send + 'static,
) -> Result<oneshot::Receiver<T>, CliError> {
    let (told, printing) = oneshot::channel();
    std::thread::Builder::new()
        .name("belljar-printer".to_owned())
        // Nobody waits any more after a second Ctrl-C.
        .spawn(move || drop(told.send(print())))
        .map_err(|error| CliError::Machine(format!("no thread can be had to print by: {error}")))?;
    Ok(printing)
}

fn lost(error: impl std::fmt::Display) -> CliError {
    CliError::Machine(format!("the batch was lost: {error}"))
}

/// The lines of a batch, each with its place.
struct Planned {
    /// What runs.
    calls: Vec<(usize, ToolInvocation)>,
    /// What is no invocation.
    refused: Vec<(usize, ToolResult)>,
}

impl Planned {
    fn len(&self) -> usize {
        self.calls.len() + self.refused.len()
    }

    /// Tells what each call says by its own name.
    fn watcher(&self) -> Watcher {
        let name = |call: &ToolInvocation| format!("{} {}", call.call_id, call.tool_name);
        Watcher::of_many(self.calls.iter().map(|(_, call)| (call.call_id.clone(), name(call))))
    }
}

fn plan(lines: Vec<Line>, caller: &Caller, tools: &[FoundTool]) -> Planned {
    let numbers: Vec<usize> = lines.iter().map(|line| line.number).collect();
    let requests: Vec<Request> = lines.into_iter().map(read_request).collect();
    let came: Vec<Option<&str>> = requests.iter().map(|it| it.call_id.as_deref()).collect();
    let made = unique_ids(&came);
    tell_renamed(&made.renamed, &numbers);
    let mut planned = Planned { calls: Vec::new(), refused: Vec::new() };
    for (place, (request, id)) in requests.into_iter().zip(made.ids).enumerate() {
        match request.asked {
            Ok(asked) => planned.calls.push((place, asked.call(id, caller, tools))),
            Err(why) => {
                let result = ToolResult::refused(id, Outcome::InvalidArguments, why);
                planned.refused.push((place, result));
            }
        }
    }
    planned
}

/// Tells which calls have another id than they came with. One that came without has its place's.
fn tell_renamed(renamed: &[Renamed], numbers: &[usize]) {
    let mut told = 0;
    let mut untold = 0;
    for Renamed { index, from, to } in renamed {
        let (Some(from), Some(number)) = (from, numbers.get(*index)) else { continue };
        if told == RENAMED_TOLD {
            untold += 1;
            continue;
        }
        told += 1;
        let from = clipped_line(from, ID_SHOWN_MAX_LEN);
        tell(&format!("note: line {number} is the call `{to}`: `{from}` is taken or no call id"));
    }
    if untold > 0 {
        tell(&format!("note: {untold} more calls have another id than they came with"));
    }
}

/// The highest code of all; a batch without a call has done what was asked.
fn gravest(outcomes: &[Outcome]) -> Exit {
    let exits = outcomes.iter().map(|outcome| Exit::of_outcome(*outcome));
    exits.max_by_key(|exit| exit.code()).unwrap_or(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_ends_with_its_gravest_code() {
        assert_eq!(gravest(&[]).code(), 0);
        assert_eq!(gravest(&[Outcome::Success; 3]).code(), 0);
        assert_eq!(gravest(&[Outcome::ToolError, Outcome::Success]).code(), 1);
        assert_eq!(gravest(&[Outcome::Crashed, Outcome::Denied, Outcome::Success]).code(), 5);
        assert_eq!(gravest(&[Outcome::Cancelled, Outcome::HostFault]).code(), 130);
    }
}
