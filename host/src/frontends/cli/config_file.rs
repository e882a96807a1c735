//! `belljar config`: whether the configuration is sound, and what is in force.
//!
//! Makes no call and records nothing. `check` loads the plugins, as every start does: whether a tool
//! that is named exists shows only then.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::{CliError, shown};
use super::exit::Exit;
use super::show::{indented, print, print_json_pretty, tell};
use super::start::{code_folder, configuration, looking};
use crate::app::{self, Setup, StartError};
use crate::config::{Config, ConfigError, Finding, Origin, Problems};
use crate::contract::escape::clipped_line;
use crate::gate::Pattern;
use crate::registry::Catalog;

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
        Err(error) if args.json => {
            let told = [json!({"text": error.to_string()})];
            print_json_pretty(&json!({"sound": false, "problems": told}))?;
            return Ok(Exit::Usage);
        }
        Err(error) => {
            tell(&format!("error: {}", indented(&error.to_string(), "  ")));
            return Ok(Exit::Usage);
        }
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
fn judged(config: &Config) -> Result<Vec<Finding>, StartError> {
    app::check(config)?;
    let started = app::start(&Setup {
        config: config.clone(),
        builtins: true,
        code_folder: code_folder(),
        ..Setup::default()
    });
    let finding = |text| Finding { line: None, text };
    match started {
        Ok(app) => {
            let left_out = |failed: &app::Failed| {
                finding(format!("the plugin `{}` is left out: {}", failed.path, failed.error))
            };
            let idle = idle_globs(config, app.host.catalog()).into_iter().map(finding);
            Ok(app.failed.iter().map(left_out).chain(idle).collect())
        }
        Err(error) if Exit::of_start(&error) == Exit::HostFault => {
            let text = format!("plugins and the names of their tools weren't checked: {error}");
            Ok(vec![finding(text)])
        }
        Err(error) => Err(error),
    }
}

/// Globs of rules that match no tool of those that are loaded: a slip in a rule that denies would let
/// through what it was to deny. Plugins of the command line aren't known here.
fn idle_globs(config: &Config, catalog: &Catalog) -> Vec<String> {
    let ids: Vec<_> = catalog.descriptors().map(|tool| tool.id.to_string()).collect();
    let matches =
        |glob: &str| Pattern::new(glob).is_ok_and(|glob| ids.iter().any(|id| glob.matches(id)));
    let rules = config.policy.rules.iter().enumerate();
    let globs = rules.flat_map(|(at, rule)| {
        let named = rule.name.as_deref().map(|name| format!("`{}`", clipped_line(name, 100)));
        let named = named.unwrap_or_else(|| (at + 1).to_string());
        let globs = rule.tool.iter().flat_map(|globs| &globs.0);
        globs.filter(|glob| !matches(glob)).map(move |glob| {
            let glob = clipped_line(glob, 100);
            format!("rule {named} names `{glob}`, which no tool that is loaded has for its id")
        })
    });
    globs.collect()
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
