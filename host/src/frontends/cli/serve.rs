//! `belljar serve`: starts a host, lets a frontend for other programs run on it, and ends both.
//!
//! Speaks no protocol itself, and writes nothing to stdout, which belongs to the protocol.

mod asked;
mod narrow;
mod stopping;
#[cfg(feature = "mcp")]
mod streams;
mod way;

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::args::ServeArgs;
use super::error::CliError;
use super::exit::Exit;
use super::show::tell;
use super::start::{configuration, leave_servers, limits, setup, start, start_servers};
use crate::Host;
use crate::app::{App, Setup};
use asked::tell_of_requests;
use narrow::narrowed;
use stopping::Signals;
use way::Way;

/// How long the end of the audit log is waited for, while another process may be writing to it.
const LOG_WAIT: Duration = Duration::from_secs(10);
/// Plugins from this length on don't hold up the others while they are compiled. Smaller ones take
/// less than a second, and a client that lists tools once, at its start, should find them.
const LATER_MIN_LEN: u64 = 1 << 20;
/// What a frontend gets beyond the time of its calls, to tell their ends.
const TELLING: Duration = Duration::from_secs(6);

/// Serves until it is told to end.
pub(super) async fn run(args: ServeArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let limits = limits(&args.limits)?;
    let config = narrowed(configuration(config)?, &args);
    let drain = Duration::from_millis(config.serve.drain_ms);
    // Before the plugins are loaded: that an address is taken shows at once.
    let way = Way::open(&args, &config).await?;
    let setup = setup(config.clone(), args.plugins, args.grants, limits);
    let compile_later = Some(LATER_MIN_LEN);
    let mut app = start(&Setup { own_tools: true, compile_later, ..setup })?;
    let mut signals = Signals::watch()?;
    // Their tools appear as they answer; whoever serves doesn't wait for them.
    start_servers(&app);
    let _telling = tell_of_requests(app.host.approvals());
    let shutdown = CancellationToken::new();
    let serving = way.serve(&app, config, shutdown.clone())?;
    compile_the_rest(&mut app);
    let ended = until_ended(serving, &mut signals, &shutdown, drain).await;
    let closed = match ended {
        Ended::AtOnce => return Ok(Exit::Interrupted),
        Ended::By(result) => {
            let closed = close(&app.host, &mut signals).await;
            leave_servers(&app).await;
            (closed, result)
        }
    };
    match closed {
        (Closed::AtOnce, _) => Ok(Exit::Interrupted),
        (Closed::Done, result) => result.map(|()| Exit::Success),
    }
}

/// Begins to compile what isn't kept; callers are told of its tools as they appear.
fn compile_the_rest(app: &mut App) {
    let Some(later) = app.later.take() else { return };
    let count = later.count();
    let noun = if count == 1 { "1 plugin has" } else { &format!("{count} plugins have") };
    tell(&format!("note: {noun} to be compiled first, and will be there when that is done"));
    if let Err(error) = later.start() {
        // No reason to leave those who are served already.
        tell(&format!("warning: they stay out, since nothing can be compiled: {error}"));
    }
}

/// How serving ended.
enum Ended {
    /// By itself, by the first signal, or because it can't go on.
    By(Result<(), CliError>),
    /// By a second signal.
    AtOnce,
}

/// Whether the log was ended.
#[derive(PartialEq, Eq)]
enum Closed {
    /// It was, or was told of.
    Done,
    /// A signal came first.
    AtOnce,
}

/// Waits until the frontend has ended, telling it to at the first signal.
async fn until_ended(
    serving: tokio::task::JoinHandle<Result<(), String>>,
    signals: &mut Signals,
    shutdown: &CancellationToken,
    drain: Duration,
) -> Ended {
    let mut serving = serving;
    tokio::select! {
        ended = &mut serving => return Ended::By(outcome(ended)),
        () = signals.next() => {}
    }
    tell(&format!(
        "note: ending; calls that run have {drain:?}, and a second signal ends all at once"
    ));
    shutdown.cancel();
    tokio::select! {
        ended = &mut serving => Ended::By(outcome(ended)),
        () = signals.next() => Ended::AtOnce,
        () = tokio::time::sleep(drain.saturating_add(TELLING)) => {
            // What is dropped with it is recorded as interrupted.
            serving.abort();
            Ended::By(Ok(()))
        }
    }
}

fn outcome(ended: Result<Result<(), String>, tokio::task::JoinError>) -> Result<(), CliError> {
    let told = ended.unwrap_or_else(|lost| Err(format!("the frontend was lost: {lost}")));
    told.map_err(CliError::Machine)
}

/// Ends the audit log of this process, so that whoever looks next sees all of it.
async fn close(host: &Host, signals: &mut Signals) -> Closed {
    let problem = tokio::select! {
        closed = tokio::time::timeout(LOG_WAIT, host.close()) => match closed {
            Ok(Ok(())) => return Closed::Done,
            Ok(Err(problem)) => problem,
            Err(_late) => format!("it took longer than {} s", LOG_WAIT.as_secs()),
        },
        () = signals.next() => return Closed::AtOnce,
    };
    tell(&format!(
        "warning: the audit log doesn't hold all of this run yet: {problem}; the next start \
         completes it"
    ));
    Closed::Done
}
