//! The program `belljar`: logging, the runtime, and then the command line.
//!
//! Decides nothing else.

use std::process::ExitCode;

use belljar::frontends::cli::{self, EscapedStderr, Exit};
use belljar::sandbox::{BLOCKED_CALLS, CALLS_MAX};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// The variable that says what is logged.
const LOG_VARIABLE: &str = "BELLJAR_LOG";
/// Open files that are asked for: a call may hold 128 and mostly 64 run at once, and the usual 1024
/// would make an honest call fail for what others hold. More than this only costs whoever walks the table.
const OPEN_FILES: u64 = 65_536;

/// A call makes and drops some hundreds of small things, and the system's allocator took a fifth of
/// what it costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The process that compiles a plugin has no runtime, no log and no command line.
    if let Some(exit) = belljar::app::compile_alone(std::env::args_os()) {
        return exit;
    }
    let runtime = match start() {
        Ok(runtime) => runtime,
        Err((exit, error)) => {
            cli::tell(&format!("error: {error:#}"));
            return exit.into();
        }
    };
    let exit = runtime.block_on(cli::run(std::env::args_os()));
    // A thread that a file blocks must not keep the process from ending.
    runtime.shutdown_background();
    exit.into()
}

/// Threads beside the runtime's workers: the ticker, the audit log's two, a batch's printer, and one
/// for what blocks, without which the runtime panics.
const OWN_THREADS: usize = 5;

/// Starts as many threads as the runtime and the compiler will, since both panic where one is
/// refused.
fn probe_threads() -> std::io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let needed = (2 * cores + 2).max(cores + OWN_THREADS);
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let mut threads = Vec::new();
    let mut outcome = Ok(());
    for _ in 0..needed {
        let wait = std::sync::Arc::clone(&wait);
        let idle = move || drop(wait.lock().map(|wait| wait.recv()));
        match std::thread::Builder::new().spawn(idle) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    drop(release);
    threads.into_iter().for_each(|thread| drop(thread.join()));
    outcome
}

/// Two descriptors each. The runtime takes six or seven, and panics where it can't have them; the
/// configuration's file is one.
const OWN_PIPES: usize = 4;

/// Opens as many descriptors as a start will before it can tell in words of its own which it lacks.
fn probe_descriptors() -> std::io::Result<()> {
    (0..OWN_PIPES).map(|_| std::io::pipe()).collect::<Result<Vec<_>, _>>().map(drop)
}

fn start() -> Result<Runtime, (Exit, anyhow::Error)> {
    let filter = EnvFilter::builder()
        .with_env_var(LOG_VARIABLE)
        .with_default_directive(LevelFilter::WARN.into())
        .from_env()
        .map_err(|error| (Exit::Usage, anyhow::anyhow!("{LOG_VARIABLE} can't be read: {error}")))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .without_time()
        .with_writer(EscapedStderr::default)
        // What it would say of a stderr that can't be written goes there too, and panics.
        .log_internal_errors(false)
        .init();
    raise_open_files();
    probe_descriptors().map_err(|error| {
        let text = format!("this process can't have the descriptors that belljar needs: {error}");
        (Exit::HostFault, anyhow::anyhow!(text))
    })?;
    probe_threads().map_err(|error| {
        let text = format!(
            "belljar can't have the threads that it needs, or the memory for them: {error}"
        );
        (Exit::HostFault, anyhow::anyhow!(text))
    })?;
    // A call waits for its file operation, so more threads than calls can be are never needed; they
    // are made when they are. How many calls there can be is only known with the configuration.
    let blocking_max = usize::try_from(CALLS_MAX + BLOCKED_CALLS).unwrap_or(usize::MAX);
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(blocking_max)
        .build()
        .map_err(|error| (Exit::HostFault, anyhow::anyhow!("no runtime: {error}")))
}

/// Raises the soft limit on open files as far as the machine lets it; calls that meet a lower one
/// fail one by one, so that it is no reason not to start.
fn raise_open_files() {
    let now = getrlimit(Resource::Nofile);
    // `None` is no limit.
    let wanted = now.maximum.map_or(OPEN_FILES, |hard| hard.min(OPEN_FILES));
    if now.current.is_none_or(|soft| soft >= wanted) {
        return;
    }
    let raised = Rlimit { current: Some(wanted), maximum: now.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("the limit on open files stays at {:?}: {error}", now.current);
    }
}
