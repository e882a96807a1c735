//! `belljar config`: whether the configuration is sound, and what is in force.
//!
//! Makes no call and records nothing. `check` loads the plugins, as every start does: whether a tool
//! that is named exists shows only then.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::{CliError, shown};
use super::exit::Exit;
use super::show::{indented, print, print_json_pretty, tell};
use super::start::{configuration, looking, plain};
use crate::app::{self, PluginError, Setup, StartError};
use crate::config::{Config, ConfigError, Finding, Origin, Problems};

/// The widest column that is filled up, in characters.
const COLUMN_MAX: usize = 48;

/// Check the configuration, or show what is in force.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  belljar config check
  belljar --config ci.toml config show")]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Check(CheckArgs),
    Show(ShowArgs),
}

/// Say everything that is wrong in it, plugins that can't be loaded and names of tools that aren't
/// there among it: exit code 0 where nothing is, 2 where something is.
#[derive(Debug, Args)]
struct CheckArgs {
    /// Print the findings as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Show every value in force, with the line or the default it comes from.
#[derive(Debug, Args)]
struct ShowArgs {
    /// Print them as one JSON array.
    #[arg(long)]
    json: bool,
}

/// Runs one of them.
pub(super) fn run(args: ConfigArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    match args.command {
        ConfigCommand::Check(args) => check(&args, config),
        ConfigCommand::Show(args) => show(&args, &configuration(config)?),
    }
}

fn check(args: &CheckArgs, option: Option<PathBuf>) -> Result<Exit, CliError> {
    let mut config = match looking(option) {
        Err(CliError::Config(ConfigError::Wrong(problems))) => return wrong(args, &problems),
        other => other?,
    };
    config.findings.extend(app::redactor(&config).1);
    // Rules, grants and names of tools are judged by the parts that use them.
    match judged(&config) {
        Ok(more) => config.findings.extend(more),
        Err(error) => return refused(args, &config, &error),
    }
    let keys = config.effective.iter().filter(|it| matches!(it.origin, Origin::File { .. }));
    let (keys, file) = (keys.count(), config.file.as_deref());
    if args.json {
        let file = file.map(|file| file.to_string_lossy());
        let findings = &config.findings;
        print_json_pretty(
            &json!({"sound": true, "file": file, "keys": keys, "findings": findings}),
        )?;
        return Ok(Exit::Success);
    }
    let Some(file) = file else {
        print("there is no configuration: everything is as by default\n")?;
        return Ok(Exit::Success);
    };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    for finding in &config.findings {
        let line = finding.line.map(|line| format!("{line}:")).unwrap_or_default();
        tell(&format!("warning: {name}:{line} {}", finding.text));
    }
    let noun =
        if keys == 1 { "1 key, sound".to_owned() } else { format!("{keys} keys, all sound") };
    print(&format!("{}: {noun}\n", shown(file)))?;
    Ok(Exit::Success)
}

/// What a start says of it that makes no call. What is wrong with the machine is no fault of the
/// configuration, and only leaves a part unchecked.
pub(super) fn judged(config: &Config) -> Result<Vec<Finding>, StartError> {
    app::check(config)?;
    let started = app::start(&Setup { config: config.clone(), builtins: true, ..plain() });
    match started {
        Ok(app) => {
            let left_out = |failed: &app::Failed| Finding {
                line: tool_line(config, &failed.error),
                text: format!("the plugin `{}` is left out: {}", failed.path, failed.error),
            };
            let tools = app.host.catalog().descriptors().map(AsRef::as_ref);
            Ok(app.failed.iter().map(left_out).chain(config.idle(tools)).collect())
        }
        Err(error) if Exit::of_start(&error) == Exit::HostFault => {
            let text = format!("plugins and the names of their tools weren't checked: {error}");
            Ok(vec![Finding { line: None, text }])
        }
        Err(error) => Err(error),
    }
}

/// The line of a tool that the configuration names and its plugin doesn't have.
fn tool_line(config: &Config, error: &PluginError) -> Option<u32> {
    let (plugin, tool) = error.unknown_tool()?;
    Some(config.tool(plugin, &tool.parse().ok()?)?.line)
}

/// Tells of what the parts that use the configuration refuse.
fn refused(args: &CheckArgs, config: &Config, error: &StartError) -> Result<Exit, CliError> {
    let line = match error {
        StartError::Plugin { source, .. } => tool_line(config, source),
        _ => None,
    };
    let text = error.to_string();
    if args.json {
        let problem = match line {
            Some(line) => json!({"line": line, "text": text}),
            None => json!({"text": text}),
        };
        print_json_pretty(&json!({"sound": false, "problems": [problem]}))?;
        return Ok(Exit::Usage);
    }
    let name = config.file.as_deref().and_then(Path::file_name).unwrap_or_default();
    let place = match line {
        Some(line) => format!("{}:{line}: ", name.to_string_lossy()),
        None => String::new(),
    };
    tell(&format!("error: {place}{}", indented(&text, "  ")));
    Ok(Exit::Usage)
}

fn wrong(args: &CheckArgs, problems: &Problems) -> Result<Exit, CliError> {
    let Problems { file, told, more } = problems;
    if args.json {
        let found = json!({"sound": false, "file": file, "problems": told, "more": more});
        print_json_pretty(&found)?;
        return Ok(Exit::Usage);
    }
    for problem in told {
        tell(&format!("error: {file}:{}: {}", problem.line, problem.text));
    }
    if *more > 0 {
        tell(&format!("error: and {more} more"));
    }
    Ok(Exit::Usage)
}

fn show(args: &ShowArgs, config: &Config) -> Result<Exit, CliError> {
    let values = &config.effective;
    if args.json {
        print_json_pretty(values)?;
        return Ok(Exit::Success);
    }
    let widest = |lens: &mut dyn Iterator<Item = usize>| lens.max().unwrap_or(0).min(COLUMN_MAX);
    let key = widest(&mut values.iter().map(|it| it.key.chars().count()));
    let value = widest(&mut values.iter().map(|it| it.value.chars().count()));
    let row = |it: &crate::config::Effective| {
        format!("{:<key$}  {:<value$}  {}\n", it.key, it.value, it.origin)
    };
    print(&values.iter().map(row).collect::<String>())?;
    Ok(Exit::Success)
}
