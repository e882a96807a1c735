//! Reads the command line and runs the command it names.
//!
//! The one place where an error becomes words and a code.

use std::ffi::OsString;

use clap::Parser as _;

use super::args::{Cli, Command};
use super::error::CliError;
use super::exit::Exit;
use super::show::{indented, print, tell};
use super::{
    approvals, audit, batch, call, config_file, doctor, export, inspect, pack, policy, serve,
    token, tools,
};

/// Runs the command that `args` (with the program's name first) asks for. Never panics on what it
/// is given; all that goes wrong is told on stderr in one sentence.
pub async fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return show_usage(&error),
    };
    let config = cli.config;
    let ended = match cli.command {
        Command::Tools(args) => tools::run(args, config).await,
        Command::Inspect(args) => inspect::run(args, config),
        Command::Call(args) => call::run(args, config).await,
        Command::Batch(args) => batch::run(args, config).await,
        Command::Serve(args) => serve::run(args, config).await,
        Command::Token(args) => token::run(&args),
        Command::Pack(args) => pack::run(args),
        Command::Approvals(args) => approvals::run(args, config).await,
        Command::Audit(args) => audit::run(args, config),
        Command::Policy(args) => policy::run(args, config).await,
        Command::Config(args) => config_file::run(args, config),
        Command::Doctor(args) => doctor::run(args, config).await,
        Command::Export(args) => export::run(args, config).await,
    };
    ended.unwrap_or_else(|error| report(&error))
}

fn report(error: &CliError) -> Exit {
    tell(&format!("error: {}", indented(&error.to_string(), "  ")));
    error.exit()
}

/// Help that was asked for goes to stdout; what is said of a mistake to stderr.
fn show_usage(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    if error.use_stderr() {
        tell(text.trim_end());
        return Exit::Usage;
    }
    match print(&text) {
        Ok(()) => Exit::Success,
        Err(error) => report(&error),
    }
}
