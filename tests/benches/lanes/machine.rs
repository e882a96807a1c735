//! What a run was made on: versions and the machine, in words.

use std::process::Command;

use serde_json::Value;

use super::bench::target;
use super::guests::root;

/// Name and value, in the order in which they are shown.
pub(crate) fn facts(load_before: &str) -> Vec<(&'static str, String)> {
    let cpu = read("/proc/cpuinfo");
    let model = field(&cpu, "model name").unwrap_or_else(|| unknown("it isn't in cpuinfo"));
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let governor = match governor.trim() {
        "" => unknown("this machine doesn't say"),
        governor => governor.to_owned(),
    };
    let allocator = if cfg!(feature = "cli") { "mimalloc" } else { "the system's" };
    vec![
        ("belljar", commit()),
        ("wasmtime", version("Cargo.lock", "wasmtime")),
        ("extism", extism()),
        ("rustc", output("rustc", &["--version"])),
        ("allocator", allocator.to_owned()),
        ("kernel", read("/proc/sys/kernel/osrelease").trim().to_owned()),
        ("processor", model),
        ("cores", super::bench::cores().to_string()),
        ("governor", governor),
        ("memory", memory),
        ("load before", load_before.to_owned()),
        ("load after", load()),
    ]
}

/// The kernel's averages over 1, 5 and 15 minutes. A busy machine shows here.
pub(crate) fn load() -> String {
    read("/proc/loadavg").split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn unknown(why: &str) -> String {
    format!("unknown: {why}")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(root()).output();
    let text = output.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    text.unwrap_or_default()
}

fn commit() -> String {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    // The page that a run writes is no change of what it measured.
    let changed = output("git", &["status", "--porcelain", "--", ".", ":!docs/benchmarks.md"]);
    match (commit.is_empty(), changed.is_empty()) {
        (true, _) => unknown("there is no git here"),
        (false, true) => commit,
        (false, false) => format!("{commit} and changes"),
    }
}

/// The version of a crate in a lock file.
fn version(lock: &str, name: &str) -> String {
    let lock = std::fs::read_to_string(root().join(lock)).unwrap_or_default();
    let package = format!("name = \"{name}\"\nversion = \"");
    let version = lock.split(&package).nth(1).and_then(|rest| rest.split('"').next());
    version.unwrap_or("unknown").to_owned()
}

/// What its authors say that its library is made of.
fn extism() -> String {
    let parts = std::fs::read(target().join("extism/parts.json")).unwrap_or_default();
    let parts: Value = serde_json::from_slice(&parts).unwrap_or_default();
    let version = |name: &str| {
        let mut parts = parts["components"].as_array()?.iter();
        parts.find(|it| it["name"] == name)?["version"].as_str()
    };
    let versions = (version("extism"), version("wasmtime"));
    let (extism, wasmtime) = (versions.0.unwrap_or("unknown"), versions.1.unwrap_or("unknown"));
    format!("{extism} on wasmtime {wasmtime}")
}
