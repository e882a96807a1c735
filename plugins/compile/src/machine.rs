//! What this machine can compile guests with, and which way is taken.
//!
//! Looking ([`Machine::probe`]) and choosing ([`Machine::route`]) are apart, so that the choice is a
//! pure function. It must not change the machine. The script `wasm-toolchain` beside this crate
//! makes what is looked for here; the two agree on places.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{CompileError, TARGET, nested};

/// The environment variable that picks the way: `rustup` or `debian`.
pub const ROUTE_VARIABLE: &str = "WASM_TOOLCHAIN";

/// Where Debian installs its own compiler.
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A way to compile to [`TARGET`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The toolchain brings std for the target: `rustup target add` put it there.
    Rustup,
    /// Debian's compiler builds std from Debian's source, over Debian's wasi-libc.
    Debian,
}

impl Route {
    /// The name it has in `WASM_TOOLCHAIN`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rustup => "rustup",
            Self::Debian => "debian",
        }
    }
}

/// What was found on a machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// What `WASM_TOOLCHAIN` says; empty counts as unset.
    pub asked: Option<String>,
    /// The toolchain's own compiler.
    pub rustc: PathBuf,
    /// Whether the toolchain's sysroot holds std for the target.
    pub has_target: bool,
    /// Debian's compiler, where it is new enough and its std source is there.
    pub debian_rustc: Option<PathBuf>,
    /// The folder of wasi-libc's `libc.a` and crt objects.
    pub wasi_libc: Option<PathBuf>,
    /// The folders of the toolchain's `wasm-component-ld` and `wasm-ld`.
    pub linkers: Option<[PathBuf; 2]>,
}

impl Machine {
    /// Looks at this machine, with `root` deciding the toolchain.
    ///
    /// # Errors
    /// [`CompileError::Start`] where the toolchain's `rustc` can't be run.
    pub fn probe(root: &Path) -> Result<Self, CompileError> {
        let rustc = PathBuf::from(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let libdir = ask(&rustc, root, &["--print", "target-libdir", "--target", TARGET])?;
        let sysroot = ask(&rustc, root, &["--print", "sysroot"])?.map(PathBuf::from);
        let host = ask(&rustc, root, &["-vV"])?.and_then(|text| field(&text, "host"));
        Ok(Self {
            asked: std::env::var_os(ROUTE_VARIABLE)
                .filter(|name| !name.is_empty())
                .map(|name| name.to_string_lossy().into_owned()),
            has_target: libdir.is_some_and(|folder| holds_std(Path::new(&folder))),
            debian_rustc: debian_rustc(root),
            wasi_libc: wasi_libc(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")),
            linkers: sysroot.zip(host).and_then(|(sysroot, host)| linkers(&sysroot, &host)),
            rustc,
        })
    }

    /// The way to take: what `WASM_TOOLCHAIN` says, else the toolchain's own target, else Debian's
    /// pieces.
    ///
    /// # Errors
    /// [`CompileError::UnknownRoute`], or [`CompileError::NoToolchain`] with what is missing.
    pub fn route(&self) -> Result<Route, CompileError> {
        let missing = |missing| CompileError::NoToolchain { missing };
        match self.asked.as_deref() {
            Some("rustup") if self.has_target => Ok(Route::Rustup),
            Some("rustup") => Err(missing(format!(
                "{ROUTE_VARIABLE} is `rustup`, and the toolchain has no std for the target"
            ))),
            Some("debian") => match self.missing_for_debian() {
                None => Ok(Route::Debian),
                Some(piece) => {
                    Err(missing(format!("{ROUTE_VARIABLE} is `debian`, and there is no {piece}")))
                }
            },
            Some(other) => Err(CompileError::UnknownRoute { found: other.to_owned() }),
            None if self.has_target => Ok(Route::Rustup),
            None => match self.missing_for_debian() {
                None => Ok(Route::Debian),
                Some(piece) => Err(missing(format!(
                    "the toolchain has no std for it, and for Debian's way there is no {piece}"
                ))),
            },
        }
    }

    fn missing_for_debian(&self) -> Option<&'static str> {
        if self.debian_rustc.is_none() {
            Some("recent rustc of Debian's with the source of std")
        } else if self.wasi_libc.is_none() {
            Some("wasi-libc")
        } else if self.linkers.is_none() {
            Some("`wasm-component-ld` in the Rust toolchain")
        } else {
            None
        }
    }
}

/// The compiler's name and version, as it prints them.
pub(crate) fn version(rustc: &Path, root: &Path) -> Result<String, CompileError> {
    Ok(ask(rustc, root, &["--version"])?.unwrap_or_default())
}

/// What `rustc` prints when asked, or nothing where it says no.
fn ask(rustc: &Path, root: &Path, question: &[&str]) -> Result<Option<String>, CompileError> {
    let mut command = Command::new(rustc);
    nested::scrub(&mut command);
    let answer = command
        .args(question)
        .current_dir(root)
        .output()
        .map_err(|source| CompileError::Start { program: rustc.to_owned(), source })?;
    let text = String::from_utf8_lossy(&answer.stdout);
    Ok(answer.status.success().then(|| text.trim().to_owned()))
}

/// The value of one `name: value` line of `rustc -vV`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .find_map(|(key, value)| (key == name).then(|| value.to_owned()))
}

fn holds_std(libdir: &Path) -> bool {
    std::fs::read_dir(libdir).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

fn debian_rustc(root: &Path) -> Option<PathBuf> {
    let rustc = PathBuf::from(DEBIAN_RUSTC);
    // A compiler that can't be run is one that isn't there.
    let sysroot = ask(&rustc, root, &["--print", "sysroot"]).ok().flatten()?;
    let release = field(&ask(&rustc, root, &["-vV"]).ok().flatten()?, "release")?;
    let source = Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml");
    (source.is_file() && is_recent(&release)).then_some(rustc)
}

/// Whether a compiler's release can compile this workspace, by the `rust-version` all of it shares.
fn is_recent(release: &str) -> bool {
    fn numbers(version: &str) -> Option<(u32, u32)> {
        let mut parts = version.split('.').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    }
    numbers(release) >= numbers(env!("CARGO_PKG_RUST_VERSION")) && numbers(release).is_some()
}

/// The system's own, else the one that `make wasm-toolchain` keeps for this user.
fn wasi_libc(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let set = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set(cache).or_else(|| set(home).map(|home| home.join(".cache")));
    let kept = cache.map(|cache| cache.join("belljar/wasi-libc"));
    [Some(PathBuf::from("/")), kept]
        .into_iter()
        .flatten()
        .map(|prefix| prefix.join("usr/lib").join(TARGET))
        .find(|folder| folder.join("libc.a").is_file() && folder.join("crt1-reactor.o").is_file())
}

fn linkers(sysroot: &Path, host: &str) -> Option<[PathBuf; 2]> {
    let bin = sysroot.join("lib/rustlib").join(host).join("bin");
    let gcc_ld = bin.join("gcc-ld");
    let both = bin.join("wasm-component-ld").is_file() && gcc_ld.join("wasm-ld").is_file();
    both.then_some([bin, gcc_ld])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn debian() -> Machine {
        Machine {
            debian_rustc: Some("/usr/bin/rustc".into()),
            wasi_libc: Some("/libc".into()),
            linkers: Some(["/bin".into(), "/bin/gcc-ld".into()]),
            ..Machine::default()
        }
    }

    fn asked(name: &str, machine: Machine) -> Machine {
        Machine { asked: Some(name.to_owned()), ..machine }
    }

    #[test]
    fn own_target_goes_before_debian() {
        let both = Machine { has_target: true, ..debian() };
        assert_eq!(both.route().unwrap(), Route::Rustup);
        assert_eq!(debian().route().unwrap(), Route::Debian);
    }

    #[test]
    fn variable_goes_before_what_is_there() {
        let both = Machine { has_target: true, ..debian() };
        assert_eq!(asked("debian", both.clone()).route().unwrap(), Route::Debian);
        assert_eq!(asked("rustup", both).route().unwrap(), Route::Rustup);
    }

    #[test]
    fn way_asked_for_is_never_replaced_by_the_other() {
        let no_target = asked("rustup", debian()).route().unwrap_err();
        assert!(no_target.to_string().contains("WASM_TOOLCHAIN is `rustup`"), "{no_target}");
        let only_target = Machine { has_target: true, ..Machine::default() };
        let no_debian = asked("debian", only_target).route().unwrap_err();
        assert!(no_debian.to_string().contains("WASM_TOOLCHAIN is `debian`"), "{no_debian}");
    }

    #[test]
    fn unknown_way_is_refused_with_the_known_ones() {
        let error = asked("Debian", debian()).route().unwrap_err();
        assert_eq!(error.to_string(), "WASM_TOOLCHAIN is `Debian`, expected `rustup` or `debian`");
    }

    #[test]
    fn bare_machine_is_told_the_command_that_mends_it() {
        let error = Machine::default().route().unwrap_err().to_string();
        assert_eq!(
            error,
            "this machine can't compile to `wasm32-wasip2` yet (the toolchain has no std for it, \
             and for Debian's way there is no recent rustc of Debian's with the source of std): \
             run `make wasm-toolchain` in belljar's folder"
        );
    }

    #[test]
    fn each_missing_piece_of_debian_is_named() {
        let no_libc = Machine { wasi_libc: None, ..debian() };
        assert!(no_libc.route().unwrap_err().to_string().contains("wasi-libc"));
        let no_linker = Machine { linkers: None, ..debian() };
        assert!(no_linker.route().unwrap_err().to_string().contains("wasm-component-ld"));
    }

    #[test]
    fn older_compiler_than_the_workspace_needs_is_not_taken() {
        assert!(is_recent(env!("CARGO_PKG_RUST_VERSION")));
        assert!(is_recent("2.0.0"));
        assert!(!is_recent("1.85.0"));
        assert!(!is_recent("unknown"));
    }

    #[test]
    fn kept_wasi_libc_is_found_in_the_users_cache() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".cache/belljar/wasi-libc/usr/lib/wasm32-wasip2");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libc.a"), "").unwrap();
        let found = || wasi_libc(Some("".into()), Some(home.path().into()));
        assert_ne!(found(), Some(folder.clone()), "half of it is not taken");
        std::fs::write(folder.join("crt1-reactor.o"), "").unwrap();
        let system = Path::new("/usr/lib/wasm32-wasip2/libc.a").is_file();
        assert!(system || found() == Some(folder));
    }
}
