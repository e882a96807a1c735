//! `belljar audit`: what was let through, refused and run, by whom, and whether the log is whole.
//!
//! No engine is started and no plugin loaded. Beside reading it only takes into the log what
//! processes left that are gone, which a log that isn't sound is spared.

mod check;
mod line;
mod read;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::exit::Exit;
use super::show::tell;
use super::start::configuration;
use super::time::{Since, parse_since};
use crate::app::{audit_folder, recover_audit};
use crate::config::Config;
use crate::contract::escape::clipped_line;
use crate::contract::ids::CallId;
use crate::events::{Filter, Head, unix_ms};

/// Read the record of every call, and check that it is whole.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar audit show --since 1h
  belljar audit show --tool files.write --json
  belljar audit head > kept-elsewhere
  belljar audit verify --head \"$(cat kept-elsewhere)\"
  belljar audit export -o audit.jsonl

The log is a chain of hashes: `verify` finds accidents and careless edits by itself. Who rewrites
all of it is found only by a head that was kept where they can't reach.

Exit code 1 of each of them: the log isn't sound. `show` and `export` still give what can be read.")]
pub(super) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Show(ShowArgs),
    Verify(VerifyArgs),
    Export(ExportArgs),
    Head(HeadArgs),
}

/// Which entries.
#[derive(Debug, Args)]
struct WantedArgs {
    /// Those written since: how long ago (10m, 12h, 7d), or milliseconds since 1970.
    #[arg(long, value_name = "AGO|UNIX_MS", value_parser = parse_since)]
    since: Option<Since>,
    /// Those from this number on.
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// Those of one call.
    #[arg(long, value_name = "ID")]
    call: Option<CallId>,
    /// Those of one tool, by its id or by the name that was asked for.
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
}

/// Show the latest entries, one a line.
#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    wanted: WantedArgs,
    /// So many at most, the latest.
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: usize,
    /// Print them as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Check that the log is one unbroken chain: exit code 0 if so, 1 if not.
#[derive(Debug, Args)]
struct VerifyArgs {
    /// That it also holds this entry, as `belljar audit head` printed it.
    #[arg(long, value_name = "SEQ:HASH", value_parser = head)]
    head: Option<Head>,
    /// Print the finding as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Write entries as lines of JSON, oldest first.
#[derive(Debug, Args)]
struct ExportArgs {
    #[command(flatten)]
    wanted: WantedArgs,
    /// Where to: a file gets each entry to the byte, so that its SHA-256 is the entry's. On stdout
    /// characters that act or hide are written by their numbers.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The form is JSON already; this changes nothing.
    #[arg(long)]
    json: bool,
}

/// Print the number and the hash of the last entry, to be kept elsewhere.
#[derive(Debug, Args)]
struct HeadArgs {
    /// Print it as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs one of them.
pub(super) fn run(args: AuditArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let config = configuration(config)?;
    let folder = audit_folder(&config).ok_or_else(|| {
        let why = if config.audit.enabled {
            "there is no folder for the audit log: set `state` in the configuration, or HOME"
        } else {
            "the audit log is off: `audit.enabled` is `false` in the configuration"
        };
        CliError::Usage(why.to_owned())
    })?;
    match args.command {
        AuditCommand::Show(args) => {
            take_in(&config);
            read::show(&args, &folder)
        }
        AuditCommand::Export(args) => {
            take_in(&config);
            read::export(&args, &folder)
        }
        AuditCommand::Verify(args) => check::verify(&args, &folder, &config),
        AuditCommand::Head(args) => check::head(&args, &folder, &config),
    }
}

/// Brings the log up to date with what processes left that are gone; whether there was anything.
/// Whoever may only read it sees it as it is.
fn take_in(config: &Config) -> bool {
    match recover_audit(config) {
        Ok(recovered) => {
            for lane in recovered.damaged {
                let lane = clipped_line(&lane, 100);
                tell(&format!(
                    "warning: records of the process `{lane}` are damaged and set aside"
                ));
            }
            recovered.lanes > 0
        }
        Err(error) => {
            tell(&format!(
                "note: the log is read as it is, without what processes left that are gone: {error}"
            ));
            false
        }
    }
}

impl WantedArgs {
    fn filter(&self) -> Filter {
        Filter {
            since_unix_ms: self.since.map(|since| since.unix_ms(unix_ms())),
            since_seq: self.from,
            call_id: self.call.as_ref().map(|id| id.as_str().to_owned()),
            tool: self.tool.clone(),
            ..Filter::default()
        }
    }
}

/// `SEQ:HASH`.
fn head(text: &str) -> Result<Head, &'static str> {
    let read = |(seq, hash): (&str, &str)| {
        Some(Head { seq: seq.parse().ok()?, hash: hash.trim_end().parse().ok()? })
    };
    let head = text.split_once(':').and_then(read);
    head.ok_or("expected what `belljar audit head` prints: SEQ:HASH, a number and 64 hex digits")
}
