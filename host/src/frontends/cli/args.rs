//! The commands and their options, as they are typed.
//!
//! Reads values and does nothing with them.

mod calling;
mod serving;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ColorChoice, Parser, Subcommand};

use super::approvals::ApprovalsArgs;
use super::audit::AuditArgs;
use super::config_file::ConfigArgs;
use super::exit::Exit;
use super::export::ExportArgs;
use super::parse::{parse_count, parse_dir, parse_duration, parse_env, parse_plugin, parse_size};
use super::policy::PolicyArgs;
use crate::app::{DirRequest, PluginSource};
use crate::contract::grants::EnvGrant;

pub(super) use calling::{BatchArgs, CallArgs, CallerArgs, LEVELS, level};
pub(super) use serving::{ServeArgs, TokenArgs};

/// Runs the tools of AI agents as WebAssembly components, each call in a fresh, bounded sandbox.
#[derive(Debug, Parser)]
#[command(
    name = "belljar",
    version,
    color = ColorChoice::Never,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = Exit::table() + "\nThe variable BELLJAR_LOG sets what is logged on stderr \
                                 (error, warn, info, debug, trace); it is `warn` by itself."
)]
pub(super) struct Cli {
    /// The configuration. None: the file that BELLJAR_CONFIG names, else belljar/belljar.toml in the
    /// user's config folder, if it is there. Never one of the current folder by itself.
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Tools(ToolsArgs),
    Inspect(InspectArgs),
    Call(CallArgs),
    Batch(BatchArgs),
    Serve(ServeArgs),
    Token(TokenArgs),
    Pack(PackArgs),
    Approvals(ApprovalsArgs),
    Audit(AuditArgs),
    Policy(PolicyArgs),
    Config(ConfigArgs),
    Doctor(DoctorArgs),
    Export(ExportArgs),
}

/// List the tools of the builtins and of plugins, with what each can do to the world.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar tools
  belljar tools --plugin ./weather.wasm --dir .:rw
  belljar tools --json")]
pub(super) struct ToolsArgs {
    /// Print the tools' descriptors as one JSON array.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) plugins: PluginArgs,
    #[command(flatten)]
    pub(super) grants: GrantArgs,
}

/// Show one plugin: its tools, schemas, effects, needs, limits, and what its imports need granted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar inspect files
  belljar inspect ./weather.wasm --json
  belljar inspect files --dir .:rw

A name that is both a plugin's and a file's means the plugin; write ./NAME for the file.")]
pub(super) struct InspectArgs {
    /// The name of a builtin or of a plugin given with --plugin, or a component's file.
    #[arg(value_name = "FILE|PLUGIN")]
    pub(super) target: PathBuf,
    /// Print all of it as one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) plugins: PluginArgs,
    #[command(flatten)]
    pub(super) grants: GrantArgs,
}

/// Write what a plugin's WIT says of it into its component.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  belljar pack target/wasm32-wasip2/release/weather.wasm --wit wit -o weather.wasm
  belljar pack weather.wasm --wit wit --in-place --license Apache-2.0 --author 'Ada <a@b.example>'

Every fault in the docs and tags is printed and nothing is written (exit code 3). OUT appears whole
or not at all.",
    group = clap::ArgGroup::new("where").required(true).args(["out", "in_place"])
)]
pub(super) struct PackArgs {
    /// The component.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// The folder of the WIT package that the component was built from.
    #[arg(long, value_name = "DIR")]
    pub(super) wit: PathBuf,
    /// Which world, where the package has several.
    #[arg(long, value_name = "WORLD")]
    pub(super) world: Option<String>,
    /// Where to write the packed component.
    #[arg(short, long, value_name = "OUT")]
    pub(super) out: Option<PathBuf>,
    /// Replace FILE by the packed component.
    #[arg(long)]
    pub(super) in_place: bool,
    #[command(flatten)]
    pub(super) identity: IdentityArgs,
}

/// What the WIT package doesn't say of a plugin.
#[derive(Debug, Args)]
#[command(next_help_heading = "What the plugin says of itself")]
pub(super) struct IdentityArgs {
    /// Its name. None: the WIT package's.
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Its version. None: the WIT package's.
    #[arg(long, value_name = "VERSION")]
    pub(super) plugin_version: Option<String>,
    /// What it is for. None: the docs of the WIT world or package.
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
    /// A person or organisation; may be given again.
    #[arg(long, value_name = "NAME")]
    pub(super) author: Vec<String>,
    /// An SPDX licence expression.
    #[arg(long, value_name = "SPDX")]
    pub(super) license: Option<String>,
    /// Its web page.
    #[arg(long, value_name = "URL")]
    pub(super) homepage: Option<String>,
    /// Where its source code is.
    #[arg(long, value_name = "URL")]
    pub(super) source: Option<String>,
    /// The source's revision, such as a commit id.
    #[arg(long, value_name = "ID")]
    pub(super) revision: Option<String>,
    /// What built it.
    #[arg(long, value_name = "TEXT")]
    pub(super) toolchain: Option<String>,
}

/// Check that belljar works on this machine: engine, code folder, builtins, one real call.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar doctor
  belljar doctor --json

Exit code 0 where all is well, also with hints; 6 where something is broken.")]
pub(super) struct DoctorArgs {
    /// Print the findings as one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// Which plugins are loaded beside the builtins.
#[derive(Debug, Args)]
pub(super) struct PluginArgs {
    /// Load a component, or every .wasm file of a folder; may be given again.
    #[arg(long = "plugin", value_name = "[NAME=]FILE", value_parser = parse_plugin)]
    pub(super) plugins: Vec<PluginSource>,
}

/// What every plugin may use. Its heading goes on to what is flattened in after it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Grants")]
pub(super) struct GrantArgs {
    /// Grant a folder, read-only unless rw is said. GUEST is where plugins see it: / and the
    /// folder's name by itself. The first folder is also `.`. May be given again.
    #[arg(long = "dir", value_name = "HOST[:GUEST][:ro|rw]", value_parser = parse_dir)]
    pub(super) dirs: Vec<DirRequest>,
    /// Grant an environment variable. Plugins see its value. May be given again.
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = parse_env)]
    pub(super) env: Vec<EnvGrant>,
}

/// The bounds of a call. A plugin's own tags can only lower them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// Work it may do, such as 2e9; a tight loop burns about 2e9 a second.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(super) fuel: Option<u64>,
    /// Time it may take, such as 200ms, 5s or 2m.
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub(super) timeout: Option<Duration>,
    /// Memory it may use, such as 64MiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) memory: Option<u64>,
    /// Output that is shown, such as 256KiB; more is cut in the middle.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) output: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::invocation::PermissionLevel;
    use crate::frontends::cli::parse::ArgumentSource;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    fn call(line: &str) -> CallArgs {
        match parse(line).unwrap().command {
            Command::Call(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_commands_are_sound() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_level_is_read_whatever_its_letters() {
        assert_eq!(call("belljar call a.b").caller.level, None);
        let levels = [
            ("READ_ONLY", PermissionLevel::ReadOnly),
            ("read_write", PermissionLevel::ReadWrite),
            ("Smart", PermissionLevel::Smart),
            ("full", PermissionLevel::Full),
        ];
        for (text, level) in levels {
            let level_of = call(&format!("belljar call a.b --level {text}")).caller.level;
            assert_eq!(level_of, Some(level));
        }
        assert_eq!(parse("belljar call a.b --level root").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn yes_and_another_way_to_ask_exclude_each_other() {
        for command in ["call a.b", "batch -"] {
            let line = format!("belljar {command} --yes --approvals queue");
            assert_eq!(parse(&line).unwrap_err().exit_code(), 2, "{line}");
        }
        assert!(call("belljar call a.b --yes").caller.yes);
    }

    #[test]
    fn options_may_stand_before_and_after_the_arguments() {
        let args = call("belljar call --dir . a.b - --dir x:rw --env A=1 --plugin p=q.wasm");
        assert_eq!(args.arguments, Some(ArgumentSource::Stdin));
        assert_eq!((args.grants.dirs.len(), args.grants.env.len()), (2, 1));
        assert_eq!(args.plugins.plugins.len(), 1);
    }

    #[test]
    fn packing_says_where_to_exactly_once() {
        for wrong in ["", "-o x --in-place"] {
            let line = format!("belljar pack a.wasm --wit wit {wrong}");
            assert_eq!(parse(&line).unwrap_err().exit_code(), 2, "{line}");
        }
        for right in ["-o x", "--in-place"] {
            parse(&format!("belljar pack a.wasm --wit wit {right}")).unwrap();
        }
    }

    #[test]
    fn wrong_usage_ends_with_2_and_help_with_0() {
        for wrong in [
            "belljar",
            "belljar nonsense",
            "belljar call",
            "belljar batch",
            "belljar batch - --concurrency 0",
            "belljar batch - --concurrency 257",
            "belljar call a.b --fuel 0",
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
        assert_eq!(parse("belljar --help").unwrap_err().exit_code(), 0);
        assert_eq!(parse("belljar call --help").unwrap_err().exit_code(), 0);
    }
}
