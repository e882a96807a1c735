//! The one place that knows how a guest is compiled to a WebAssembly component.
//!
//! It runs one nested cargo for all the packages it is given and says where their components are,
//! and what made them. It must not install anything (that is `make wasm-toolchain`), and it knows
//! nothing of what a guest exports or of metadata: packing comes after.

mod artefacts;
mod folders;
mod machine;
mod nested;

use std::path::PathBuf;

pub use artefacts::Artefact;
pub use folders::guests_folder;
pub use machine::{Machine, ROUTE_VARIABLE, Route};

/// The target every guest is compiled to.
pub const TARGET: &str = "wasm32-wasip2";

/// The cargo profile guests are compiled with. The workspace of [`GuestBuild::manifest`] defines it.
pub const PROFILE: &str = "plugin";

/// What is to be compiled.
#[derive(Debug, Clone)]
pub struct GuestBuild {
    /// Belljar's own workspace. Paths below it are written into components as `/belljar`, so that a
    /// component's bytes do not depend on where the repository lies; it also picks the toolchain
    /// by its `rust-toolchain.toml`.
    pub root: PathBuf,
    /// The `Cargo.toml` of the workspace that holds the packages; it may be another than `root`'s.
    /// Its lock file must be there and up to date.
    pub manifest: PathBuf,
    /// The names of the packages, each with a `cdylib`; a binary links on the rustup route only, since
    /// Debian's sysroot lacks std's own start object.
    pub packages: Vec<String>,
    /// Where cargo works, by itself: see [`guests_folder`]. Sharing the folder of a cargo that is
    /// running, such as the one that started a build script, would wait for it for ever.
    pub target_dir: PathBuf,
}

/// What [`compile`] made.
#[derive(Debug, Clone)]
pub struct Built {
    /// The way the components were compiled. Two ways give different bytes for the same source.
    pub route: Route,
    /// The compiler, as `rustc --version` prints it.
    pub rustc: String,
    /// Every `cdylib` and binary of the packages, in the order of the packages asked for.
    pub artefacts: Vec<Artefact>,
}

/// Why a guest could not be compiled. Each message is one sentence, but for `Failed`, which brings
/// the end of the compiler's own words.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// `WASM_TOOLCHAIN` names no way.
    #[error("{ROUTE_VARIABLE} is `{found}`, expected `rustup` or `debian`")]
    UnknownRoute {
        /// What it was set to.
        found: String,
    },
    /// Nothing here can compile to [`TARGET`].
    #[error(
        "this machine can't compile to `{TARGET}` yet ({missing}): run `make wasm-toolchain` in belljar's folder"
    )]
    NoToolchain {
        /// What was looked for and not found.
        missing: String,
    },
    /// A program could not be run at all.
    #[error("`{program}` could not be started: {source}")]
    Start {
        /// What was to be run.
        program: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Cargo ended with an error.
    #[error("compiling {packages} to `{TARGET}` failed ({status}):\n{stderr}")]
    Failed {
        /// The packages, each in backticks.
        packages: String,
        /// How cargo ended.
        status: std::process::ExitStatus,
        /// The last lines cargo and rustc wrote.
        stderr: String,
    },
    /// Cargo said something on its standard output that is no message of its protocol.
    #[error("cargo's message `{line}` could not be read: {source}")]
    Message {
        /// The line, cut.
        line: String,
        /// What was wrong with it.
        source: serde_json::Error,
    },
    /// A package compiled but left no component.
    #[error(
        "package `{package}` left no `.wasm` file, expected a library with `crate-type = [\"cdylib\", \"rlib\"]` or a binary"
    )]
    NoComponent {
        /// The package.
        package: String,
    },
}

/// Compiles all the packages in one cargo call, by the way this machine offers.
///
/// # Errors
/// See [`CompileError`].
pub fn compile(build: &GuestBuild) -> Result<Built, CompileError> {
    let machine = Machine::probe(&build.root)?;
    let route = machine.route()?;
    let compiler = nested::compiler(&machine, route);
    let rustc = machine::version(&compiler, &build.root)?;
    let messages = nested::run(build, &machine, route)?;
    let artefacts = artefacts::of_packages(&messages, &build.packages)?;
    Ok(Built { route, rustc, artefacts })
}
