//! From options to a running host.
//!
//! The one place of the command line that reads the environment.

use std::path::PathBuf;

use super::args::{GrantArgs, LimitArgs, PluginArgs};
use super::compiling::Compiling;
use super::error::CliError;
use super::show::tell;
use crate::app::{self, App, CompileIn, Setup, audit_folder};
use crate::config::{self, Config, Sources, Surroundings};
use crate::contract::limits::{LimitKind, Limits};
use crate::events::Redactor;

/// The configuration that `option` names, or the user's.
pub(super) fn configuration(option: Option<PathBuf>) -> Result<Config, CliError> {
    let surroundings = Surroundings::read(|name| std::env::var_os(name));
    let builtins = crate::app::builtin_names();
    let sources = Sources { option, surroundings, builtins: &builtins };
    config::load(&sources).map_err(CliError::Config)
}

/// The same for a command that only looks: it makes no call, so it has nothing to record.
pub(super) fn looking(option: Option<PathBuf>) -> Result<Config, CliError> {
    let mut config = configuration(option)?;
    config.audit.enabled = false;
    Ok(config)
}

/// Who tells of secrets that can't be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Warned {
    /// Whoever asks for the redactor.
    Here,
    /// Whoever opens the audit log; where there is none, still whoever asks.
    ByTheLog,
}

/// What hides the declared secrets from what people are shown.
pub(super) fn redactor(config: &Config, warned: Warned) -> Redactor {
    let (redactor, findings) = app::redactor(config);
    if warned == Warned::Here || audit_folder(config).is_none() {
        findings.iter().for_each(|finding| tell(&format!("warning: {}", finding.text)));
    }
    redactor
}

/// What the configuration and the options name, at these limits.
pub(super) fn setup(
    config: Config,
    plugins: PluginArgs,
    grants: GrantArgs,
    limits: Limits,
) -> Setup {
    Setup {
        config,
        plugins: plugins.plugins,
        builtins: true,
        dirs: grants.dirs,
        env: grants.env,
        limits,
        ..plain()
    }
}

/// Nothing but how code is kept and made, which is the same for every command.
pub(super) fn plain() -> Setup {
    Setup {
        code_folder: code_folder(),
        code_key: code_key(),
        compile_in: compile_in(),
        ..Setup::default()
    }
}

/// Starts the host and says which plugins were left out.
pub(super) fn start(setup: &Setup) -> Result<App, CliError> {
    let compiling = Compiling::default();
    let setup = Setup { on_compile: Some(compiling.on_compile()), ..setup.clone() };
    let app = app::start(&setup).map_err(Box::new)?;
    drop(compiling);
    for failed in &app.failed {
        tell(&format!("warning: left out the plugin `{}`: {}", failed.path, failed.error));
    }
    Ok(app)
}

/// Starts the MCP servers and waits until each has answered or failed. Where a tool is named that
/// is there already, none is needed and none is started.
#[cfg(feature = "mcp")]
pub(super) async fn reach_servers(app: &App, tool: Option<&str>) {
    if tool.is_some_and(|name| app.host.tool(name).is_some()) {
        return;
    }
    start_servers(app);
    app.upstream.settled().await;
}

/// Starts the MCP servers and doesn't wait for them.
#[cfg(feature = "mcp")]
pub(super) fn start_servers(app: &App) {
    app.upstream.start();
}

/// Without MCP there is no server to start.
#[cfg(not(feature = "mcp"))]
pub(super) fn start_servers(_app: &App) {}

/// Without MCP there is no server to reach.
#[cfg(not(feature = "mcp"))]
pub(super) async fn reach_servers(_app: &App, _tool: Option<&str>) {}

/// Ends the MCP servers, as far as any runs.
#[cfg(feature = "mcp")]
pub(super) async fn leave_servers(app: &App) {
    app.upstream.end().await;
}

/// Without MCP there is no server to end.
#[cfg(not(feature = "mcp"))]
pub(super) async fn leave_servers(_app: &App) {}

/// The operator's limits.
pub(super) fn limits(args: &LimitArgs) -> Result<Limits, CliError> {
    let mut limits = Limits::default();
    let timeout_ms =
        args.timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    let wishes = [
        ("--fuel", LimitKind::Fuel, args.fuel),
        ("--timeout", LimitKind::AttemptDeadline, timeout_ms),
        ("--memory", LimitKind::Memory, args.memory),
        ("--output", LimitKind::OutputShown, args.output),
    ];
    for (option, kind, wish) in wishes {
        let Some(value) = wish else { continue };
        let set = |limits: &mut Limits, kind| {
            limits
                .set(kind, value)
                .map_err(|error| CliError::Usage(format!("{option} can't be given: {error}")))
        };
        set(&mut limits, kind)?;
        // The wider bound is only moved where it would make the wish void.
        if let Some(wider) = wider_bound(kind)
            && value > limits.get(wider).value
        {
            set(&mut limits, wider)?;
        }
    }
    Ok(limits)
}

/// The bound that a kind can't pass, beside its own ceiling.
fn wider_bound(kind: LimitKind) -> Option<LimitKind> {
    match kind {
        LimitKind::AttemptDeadline => Some(LimitKind::CallDeadline),
        LimitKind::OutputShown => Some(LimitKind::OutputKept),
        _ => None,
    }
}

/// Where compiled code is kept: the user's cache, or nowhere where there is none.
pub(super) fn code_folder() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    // The XDG base directory specification: a relative path is to be ignored.
    let cache = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || folder("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".cache"));
    Some(cache.or_else(home)?.join("belljar/code"))
}

/// Where the key of compiled code is: with the user's state, whatever a configuration says of state,
/// since all configurations of a user share one folder of code.
fn code_key() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || folder("HOME").filter(|path| path.is_absolute());
    Some(state.or_else(|| Some(home()?.join(".local/state")))?.join("belljar/code.key"))
}

/// This very program, also where its file was replaced since it was started.
fn compile_in() -> CompileIn {
    CompileIn::Child("/proc/self/exe".into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::contract::limits::LimitOrigin;

    fn args() -> LimitArgs {
        LimitArgs { fuel: None, timeout: None, memory: None, output: None }
    }

    #[test]
    fn a_short_timeout_leaves_the_calls_own_bound() {
        let args = LimitArgs { timeout: Some(Duration::from_millis(200)), ..args() };
        let limits = limits(&args).unwrap();
        let attempt = limits.get(LimitKind::AttemptDeadline);
        assert_eq!((attempt.value, attempt.origin), (200, LimitOrigin::Operator));
        assert_eq!(limits.get(LimitKind::CallDeadline).origin, LimitOrigin::Default);
    }

    #[test]
    fn a_wish_above_the_wider_bound_moves_it_too() {
        let args =
            LimitArgs { timeout: Some(Duration::from_secs(600)), output: Some(32 << 20), ..args() };
        let limits = limits(&args).unwrap();
        assert_eq!(limits.get(LimitKind::CallDeadline).value, 600_000);
        assert_eq!(limits.get(LimitKind::OutputKept).value, 32 << 20);
    }

    #[test]
    fn what_is_above_a_ceiling_is_wrong_usage_and_named() {
        let cases = [
            (LimitArgs { fuel: Some(u64::MAX), ..args() }, "--fuel"),
            (LimitArgs { timeout: Some(Duration::MAX), ..args() }, "--timeout"),
            (LimitArgs { memory: Some(5 << 30), ..args() }, "--memory"),
            (LimitArgs { output: Some(65 << 20), ..args() }, "--output"),
        ];
        for (args, option) in cases {
            let error = limits(&args).unwrap_err();
            assert_eq!(error.exit().code(), 2);
            let message = error.to_string();
            assert!(message.starts_with(option) && message.contains("ceiling"), "{message}");
        }
    }
}
