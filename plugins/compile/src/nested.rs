//! The nested cargo: the environment it must not inherit, and the one it needs.
//!
//! A cargo started by a build script or by a test inherits what the outer cargo set for that
//! script, and most of it would change what is compiled. It must not choose the way: it is told.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{CompileError, GuestBuild, Machine, PROFILE, Route, TARGET};

/// `CARGO*` variables that say where things come from, not what is built.
const KEPT: &[&str] = &["CARGO_HOME", "CARGO_MAKEFLAGS"];
const KEPT_PREFIXES: &[&str] = &["CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_TERM_"];

const CLEARED: &[&str] = &[
    "RUSTFLAGS",
    "LD_LIBRARY_PATH",
    "OUT_DIR",
    "TARGET",
    "HOST",
    "PROFILE",
    "OPT_LEVEL",
    "DEBUG",
    "NUM_JOBS",
];
const CLEARED_PREFIXES: &[&str] = &["CARGO", "RUSTC", "RUSTDOC", "CLIPPY_", "DEP_"];

/// How many of cargo's last lines an error brings.
const STDERR_LINES: usize = 60;

fn is_cleared(name: &str) -> bool {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let kept = KEPT.contains(&name) || starts(KEPT_PREFIXES);
    !kept && (CLEARED.contains(&name) || starts(CLEARED_PREFIXES))
}

/// Takes out of a command's environment what an outer cargo put there.
pub(crate) fn scrub(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_cleared) {
            command.env_remove(name);
        }
    }
}

/// The compiler that a way uses.
pub(crate) fn compiler(machine: &Machine, route: Route) -> PathBuf {
    match (route, &machine.debian_rustc) {
        (Route::Debian, Some(rustc)) => rustc.clone(),
        _ => machine.rustc.clone(),
    }
}

/// Runs cargo and returns the messages on its standard output, one JSON object a line.
pub(crate) fn run(
    build: &GuestBuild,
    machine: &Machine,
    route: Route,
) -> Result<String, CompileError> {
    // The outer cargo says which one it is; a test run without one takes the path's.
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    scrub(&mut command);
    command
        .current_dir(&build.root)
        .env("RUSTC", compiler(machine, route))
        // Even an empty one from an outer cargo would win over every other way to give flags.
        .env("CARGO_ENCODED_RUSTFLAGS", flags(build, machine, route).join("\u{1f}"))
        .args(["build", "--locked", "--message-format", "json-render-diagnostics"])
        .args(["--profile", PROFILE, "--target", TARGET])
        .arg("--manifest-path")
        .arg(&build.manifest)
        .arg("--target-dir")
        .arg(&build.target_dir);
    for package in &build.packages {
        command.args(["--package", package]);
    }
    if route == Route::Debian {
        // The bootstrap variable is what lets a released compiler and cargo build std. Its other
        // default feature, `backtrace`, is a tenth of what is compiled, and wasm has no backtraces.
        command.env("RUSTC_BOOTSTRAP", "1");
        command.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=panic-unwind"]);
        command.env("CARGO_TARGET_WASM32_WASIP2_LINKER", "wasm-component-ld");
        command.env("PATH", path_with(machine.linkers.as_ref()));
    }
    let output =
        command.output().map_err(|source| CompileError::Start { program: cargo.into(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CompileError::Failed {
        packages: build
            .packages
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
        status: output.status,
        stderr: last_lines(&String::from_utf8_lossy(&output.stderr), STDERR_LINES),
    })
}

/// The search path with the toolchain's linkers first.
fn path_with(linkers: Option<&[PathBuf; 2]>) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = linkers.into_iter().flatten().cloned().chain(env::split_paths(&path));
    // A folder with the separator in its name can't be on a path; then the path stays as it is.
    env::join_paths(folders).unwrap_or(path)
}

fn flags(build: &GuestBuild, machine: &Machine, route: Route) -> Vec<String> {
    let mut flags = Vec::new();
    if let (Route::Debian, Some(libc)) = (route, &machine.wasi_libc) {
        flags.push(format!("-Lnative={}", libc.display()));
        flags.push("-Clink-self-contained=no".to_owned());
    }
    let sources = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
        .map(|home| home.join("registry/src"));
    flags.extend(remaps(&build.root, &build.target_dir, sources.as_deref()));
    flags
}

/// Paths of this machine would end up in panic messages, and so in the component's bytes.
///
/// rustc takes the last one that fits, so inner folders come after outer ones. Below the registry
/// sources each registry has a folder named after its host; a mirror's differs.
fn remaps(root: &Path, target_dir: &Path, sources: Option<&Path>) -> Vec<String> {
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![remap(root, "/belljar"), remap(target_dir, "/guests")];
    if let Some(sources) = sources {
        flags.push(remap(sources, "/registry"));
        let entries = std::fs::read_dir(sources).into_iter().flatten().flatten();
        let mut registries: Vec<_> = entries.map(|entry| entry.path()).collect();
        registries.sort();
        flags.extend(registries.iter().map(|folder| remap(folder, "/registry")));
    }
    flags
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(count);
    lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_outer_cargo_sets_is_cleared() {
        for name in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MANIFEST_DIR",
            "CARGO_PROFILE_PLUGIN_LTO",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_CFG_TARGET_OS",
            "CARGO_INCREMENTAL",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTC_BOOTSTRAP",
            "RUSTDOCFLAGS",
            "RUSTFLAGS",
            "CLIPPY_ARGS",
            "DEP_Z_ROOT",
            "LD_LIBRARY_PATH",
            "OUT_DIR",
            "TARGET",
            "HOST",
            "PROFILE",
            "OPT_LEVEL",
            "DEBUG",
            "NUM_JOBS",
        ] {
            assert!(is_cleared(name), "{name}");
        }
    }

    #[test]
    fn where_crates_come_from_and_the_users_own_variables_stay() {
        for name in [
            "CARGO_HOME",
            "CARGO_MAKEFLAGS",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_CAINFO",
            "CARGO_REGISTRIES_MIRROR_INDEX",
            "CARGO_REGISTRY_DEFAULT",
            "CARGO_TERM_COLOR",
            "PATH",
            "HOME",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "RUSTUP_AUTO_INSTALL",
            "WASM_TOOLCHAIN",
            "XDG_CACHE_HOME",
            "HOSTNAME",
            "HTTPS_PROXY",
        ] {
            assert!(!is_cleared(name), "{name}");
        }
    }

    #[test]
    fn inner_folders_are_remapped_after_outer_ones() {
        let sources = tempfile::tempdir().unwrap();
        std::fs::create_dir(sources.path().join("mirror-1")).unwrap();
        let flags = remaps(Path::new("/w"), Path::new("/w/target/guests"), Some(sources.path()));
        let shown = sources.path().display();
        assert_eq!(
            flags,
            [
                "--remap-path-prefix=/w=/belljar".to_owned(),
                "--remap-path-prefix=/w/target/guests=/guests".to_owned(),
                format!("--remap-path-prefix={shown}=/registry"),
                format!("--remap-path-prefix={shown}/mirror-1=/registry"),
            ]
        );
    }

    #[test]
    fn only_debian_gets_the_libc_and_its_compiler() {
        let build = GuestBuild {
            root: "/w".into(),
            manifest: "/w/Cargo.toml".into(),
            packages: Vec::new(),
            target_dir: "/t".into(),
        };
        let machine = Machine {
            rustc: "own".into(),
            debian_rustc: Some("debians".into()),
            wasi_libc: Some("/libc".into()),
            ..Machine::default()
        };
        let of = |route| flags(&build, &machine, route).join(" ");
        assert!(of(Route::Debian).starts_with("-Lnative=/libc -Clink-self-contained=no "));
        assert!(!of(Route::Rustup).contains("libc"));
        assert_eq!(compiler(&machine, Route::Debian), Path::new("debians"));
        assert_eq!(compiler(&machine, Route::Rustup), Path::new("own"));
    }

    #[test]
    fn long_compiler_output_is_cut_to_its_end() {
        let text = (1..=100).map(|n| format!("line {n}\n")).collect::<String>();
        let kept = last_lines(&text, 2);
        assert_eq!(kept, "line 99\nline 100");
        assert_eq!(last_lines("one\n", 2), "one");
    }
}
