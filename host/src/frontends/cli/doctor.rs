//! `belljar doctor`: whether belljar works on this machine, and what would make it work better.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::args::DoctorArgs;
use super::config_file::judged;
use super::error::CliError;
use super::exit::Exit;
use super::gaps::{GAPS, Gap, WASMTIME};
use super::show::{print, print_json_pretty};
use super::start::{configuration, plain};
use crate::Host;
use crate::app::{self, App, Setup, StartError};
use crate::config::Config;
use crate::contract::escape::clipped_line;
use crate::contract::ids::CallId;
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::outcome::Outcome;
use crate::registry::KeptCode;

/// Mappings that Linux gives a process unless told otherwise. Each sandbox takes a handful.
const MAP_COUNT_DEFAULT: u64 = 65_530;
/// Open files at which nothing is missed: 128 for each of 64 calls at once, and as many again for
/// belljar itself and what is blocked.
const OPEN_FILES_ENOUGH: u64 = 16_384;
/// The SHA-256 of "abc", from FIPS 180-2, appendix B.1.
const ABC_SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// Timed calls; the middle one is told.
const TIMED_CALLS: usize = 21;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// It works, and could work better.
    Hint,
    Broken,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    version: &'static str,
    wasmtime: &'static str,
    /// Advisories that a later wasmtime mends.
    gaps: &'static [Gap],
    healthy: bool,
    checks: Vec<Check>,
}

/// Checks all there is to check, whatever is broken.
pub(super) async fn run(args: DoctorArgs, config: Option<PathBuf>) -> Result<Exit, CliError> {
    let mut checks = check_all().await;
    checks.extend(check_state(config).await);
    let healthy = checks.iter().all(|check| check.state != State::Broken);
    let version = env!("CARGO_PKG_VERSION");
    let report = Report { version, wasmtime: WASMTIME, gaps: &GAPS, healthy, checks };
    if args.json {
        print_json_pretty(&report)?;
    } else {
        print(&text(&report))?;
    }
    Ok(if healthy { Exit::Success } else { Exit::HostFault })
}

async fn check_all() -> Vec<Check> {
    let setup = |builtins| Setup { builtins, ..plain() };
    let began = Instant::now();
    let mut checks = match app::start(&setup(true)) {
        Ok(app) => {
            let builtins = check_builtins(&app, began.elapsed().as_millis());
            vec![check_engine(&app), check_code_folder(&app), builtins, check_call(&app.host).await]
        }
        Err(error @ StartError::Engine(_)) => {
            vec![check("engine", State::Broken, error.to_string())]
        }
        Err(error) => {
            // The engine may still be well; it is asked without the builtins.
            let mut checks = match app::start(&setup(false)) {
                Ok(app) => vec![check_engine(&app), check_code_folder(&app)],
                Err(alone) => vec![check("engine", State::Broken, alone.to_string())],
            };
            checks.push(check("builtins", State::Broken, error.to_string()));
            checks
        }
    };
    checks.push(check_open_files(getrlimit(Resource::Nofile).current));
    checks.push(check_map_count(std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()));
    checks
}

/// The configuration, and whether approvals and the audit log can be kept where it says.
async fn check_state(option: Option<PathBuf>) -> Vec<Check> {
    let config = match configuration(option) {
        Ok(config) => config,
        Err(error) => return vec![check("configuration", State::Broken, error.to_string())],
    };
    let shown = |path: &Path| clipped_line(&path.to_string_lossy(), 300);
    let file = config.file.as_deref().map_or("none, every default holds".to_owned(), shown);
    let mut checks = vec![check_configuration(&config, file)];
    checks.push(match config.state.clone() {
        None => {
            let found = "nowhere to keep approvals and the audit log: `state` isn't set, and \
                         neither XDG_STATE_HOME nor HOME is an absolute path";
            check("state", State::Hint, found)
        }
        Some(folder) => match kept(config).await {
            Ok(()) => check("state", State::Ok, shown(&folder)),
            Err(why) => check("state", State::Broken, why),
        },
    });
    checks
}

/// What `belljar config check` says of it, in one line.
fn check_configuration(config: &Config, file: String) -> Check {
    let name = "configuration";
    match judged(config).map(|more| config.findings.len() + more.len()) {
        Ok(0) => check(name, State::Ok, file),
        Ok(count) => {
            let noun = if count == 1 { "finding" } else { "findings" };
            check(name, State::Hint, format!("{file}: {count} {noun}, see `belljar config check`"))
        }
        Err(error) => check(name, State::Broken, format!("{file}: {error}")),
    }
}

/// Opens what a call would open, and closes it again.
async fn kept(config: Config) -> Result<(), String> {
    // What is wrong with plugins is told of the configuration.
    let config = Config { plugins: Vec::new(), ..config };
    let setup = Setup { config, ..plain() };
    let host = app::start(&setup).map_err(|error| error.to_string())?.host;
    let remembered = host.approvals().remembered_list().map(drop);
    let closed = host.close().await;
    remembered.map_err(|error| error.to_string()).and(closed)
}

fn check(name: &'static str, state: State, found: impl Into<String>) -> Check {
    Check { name, state, found: found.into() }
}

fn check_engine(app: &App) -> Check {
    if app.sandbox.is_pooled() {
        check("engine", State::Ok, "starts, with a memory pool")
    } else {
        let found = "starts without a memory pool, so calls are slower: the address space of this \
                     process is too small for one (`ulimit -v`)";
        check("engine", State::Hint, found)
    }
}

fn check_code_folder(app: &App) -> Check {
    let folder = plain().code_folder.map(|folder| clipped_line(&folder.to_string_lossy(), 300));
    code_folder(app.code_store_problem.as_deref(), folder, app.kept_code)
}

fn code_folder(problem: Option<&str>, folder: Option<String>, kept: Option<KeptCode>) -> Check {
    let name = "code folder";
    let refused = kept.map_or(0, |kept| kept.refused);
    match (problem, folder) {
        (Some(problem), _) => {
            check(name, State::Hint, format!("not used, each start compiles: {problem}"))
        }
        (None, Some(folder)) if refused > 0 => {
            let noun = if refused == 1 { "entry was" } else { "entries were" };
            let found = format!(
                "{folder}; {refused} {noun} damaged, or kept by another key, and compiled anew"
            );
            check(name, State::Hint, found)
        }
        (None, Some(folder)) => check(name, State::Ok, folder),
        (None, None) => check(
            name,
            State::Hint,
            "none, each start compiles: neither XDG_CACHE_HOME nor HOME is an absolute path",
        ),
    }
}

fn check_builtins(app: &App, millis: u128) -> Check {
    let catalog = app.host.catalog();
    let (plugins, tools) = (catalog.plugins().len(), catalog.descriptors().count());
    if plugins == 0 {
        let found = "this belljar was built without them";
        return check("builtins", State::Hint, found);
    }
    let found = format!("{plugins} plugins with {tools} tools, loaded in {millis} ms");
    check("builtins", State::Ok, found)
}

async fn check_call(host: &Host) -> Check {
    if host.catalog().tool("codec.hash").is_none() {
        return check("call", State::Hint, "not tried: there is no builtin to call");
    }
    let mut times = Vec::new();
    for number in 0..TIMED_CALLS {
        let began = Instant::now();
        if let Err(why) = hash_abc(host, number).await {
            return check("call", State::Broken, why);
        }
        times.push(began.elapsed());
    }
    times.sort();
    let median = times.get(TIMED_CALLS / 2).copied().unwrap_or_default();
    let micros = median.as_micros();
    let found = format!("codec.hash answers right, in {micros} µs (median of {TIMED_CALLS})");
    check("call", State::Ok, found)
}

/// One call whose answer is known.
async fn hash_abc(host: &Host, number: usize) -> Result<(), String> {
    let id: CallId = format!("doctor-{number}").parse().map_err(|error| format!("{error}"))?;
    let arguments = json!({ "algorithm": "sha256", "text": "abc" }).to_string();
    let mut call = ToolInvocation::new(id, "codec.hash", arguments);
    call.permission_level = PermissionLevel::Full;
    let result = host.call(call).await;
    if result.outcome != Outcome::Success {
        let why = result.error_message.as_deref().unwrap_or("no reason given");
        let why = clipped_line(why, 300);
        return Err(format!("codec.hash ended as {}: {why}", result.outcome.name()));
    }
    let hex = result.structured.as_ref().and_then(|value| value.get("hex")).and_then(Value::as_str);
    if hex == Some(ABC_SHA256) {
        Ok(())
    } else {
        let content = clipped_line(&result.content, 200);
        Err(format!("codec.hash gives a wrong SHA-256 of \"abc\": {content}"))
    }
}

/// `None` is no limit.
fn check_open_files(limit: Option<u64>) -> Check {
    let name = "open files";
    match limit {
        None => check(name, State::Ok, "as many as there may be"),
        Some(count) if count >= OPEN_FILES_ENOUGH => check(name, State::Ok, count.to_string()),
        Some(count) => {
            let found = format!(
                "{count} is little for many calls at once; raise the hard limit (`ulimit -Hn \
                 {OPEN_FILES_ENOUGH}`), belljar then takes it"
            );
            check(name, State::Hint, found)
        }
    }
}

fn check_map_count(read: Option<String>) -> Check {
    let name = "vm.max_map_count";
    match read.and_then(|text| text.trim().parse::<u64>().ok()) {
        Some(count) if count >= MAP_COUNT_DEFAULT => check(name, State::Ok, count.to_string()),
        Some(count) => {
            let found = format!(
                "{count} is little for many calls at once; `sysctl -w {name}={MAP_COUNT_DEFAULT}` \
                 gives the usual number"
            );
            check(name, State::Hint, found)
        }
        None => check(name, State::Hint, "can't be read here"),
    }
}

fn text(report: &Report) -> String {
    let mut out = format!("belljar {}, wasmtime {}\n", report.version, report.wasmtime);
    for check in &report.checks {
        let mark = match check.state {
            State::Ok => "ok",
            State::Hint => "hint",
            State::Broken => "BROKEN",
        };
        out.push_str(&format!("{mark:<8}{}: {}\n", check.name, check.found));
    }
    out.push_str("\nKnown gaps of this wasmtime, mended in 48.0.9:\n");
    for gap in report.gaps {
        let unmet = gap.unmet.unwrap_or("take it for open");
        out.push_str(&format!("  {}: {}; {unmet}\n", gap.advisory, gap.fault));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_open_files_are_a_hint_and_not_a_fault() {
        assert_eq!(check_open_files(Some(1024)).state, State::Hint);
        assert_eq!(check_open_files(Some(OPEN_FILES_ENOUGH)).state, State::Ok);
        assert_eq!(check_open_files(None).state, State::Ok);
    }

    #[test]
    fn kept_code_that_was_refused_is_a_hint_and_counted() {
        let folder = || Some("/code".to_owned());
        let seen = |refused| Some(KeptCode { used: 1, refused });
        assert_eq!(code_folder(None, folder(), seen(0)).state, State::Ok);
        let refused = code_folder(None, folder(), seen(2));
        assert_eq!(refused.state, State::Hint);
        assert!(refused.found.contains("2 entries were damaged"), "{}", refused.found);
        assert_eq!(code_folder(Some("its key"), folder(), None).state, State::Hint);
        assert_eq!(code_folder(None, None, None).state, State::Hint);
    }

    #[test]
    fn too_few_mappings_are_a_hint_and_not_a_fault() {
        let state = |text: Option<&str>| check_map_count(text.map(str::to_owned)).state;
        assert_eq!(state(Some("65530\n")), State::Ok);
        assert_eq!(state(Some("1024\n")), State::Hint);
        assert_eq!(state(Some("x")), State::Hint);
        assert_eq!(state(None), State::Hint);
    }
}
