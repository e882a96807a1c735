//! `belljar config`: whether the configuration is sound, and what is in force.
//!
//! Starts nothing.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::{CliError, shown};
use super::exit::Exit;
use super::show::{print, print_json_pretty, tell};
use super::start::configuration;
use crate::config::{Config, ConfigError, Origin, Problems};

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

/// Say everything that is wrong in it: exit code 0 where nothing is, 2 where something is.
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
    let config = match configuration(option) {
        Err(CliError::Config(ConfigError::Wrong(problems))) => return wrong(args, &problems),
        other => other?,
    };
    // Rules and settings of batches are judged by the parts that use them.
    if let Err(error) = crate::app::check(&config) {
        if args.json {
            let told = [json!({"text": error.to_string()})];
            print_json_pretty(&json!({"sound": false, "problems": told}))?;
            return Ok(Exit::Usage);
        }
        return Err(Box::new(error).into());
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
