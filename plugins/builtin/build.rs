//! Compiles every builtin in one cargo call, packs each with the words of its WIT package, and
//! leaves them in `OUT_DIR` with the list that `src/lib.rs` includes. How a guest is compiled is
//! `belljar-compile`'s to know.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use belljar_compile::{Artefact, Built, GuestBuild, ROUTE_VARIABLE, compile, guests_folder};
use belljar_metadata::wit::{Identity, read_folder};

/// The folders below `plugins/` that hold a builtin; each one's package is `belljar-plugin-` and
/// the folder's name.
const PLUGINS: &[&str] = &["files", "search", "codec"];

fn main() {
    if let Err(error) = build() {
        // Cargo shows these lines alone, where a failing exit would bury them under the script's
        // whole output.
        for line in error.to_string().lines() {
            println!("cargo::error={line}");
        }
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let plugins = folder("CARGO_MANIFEST_DIR")?.join("..").canonicalize()?;
    let root = plugins.join("..").canonicalize()?;
    let out = folder("OUT_DIR")?;
    watch(&root, &plugins);
    let built = compile(&GuestBuild {
        manifest: root.join("Cargo.toml"),
        packages: PLUGINS.iter().map(|name| package(name)).collect(),
        target_dir: guests_folder(&out, &root),
        root,
    })?;
    let mut list = String::new();
    for name in PLUGINS {
        let artefact = built.artefacts.iter().find(|artefact| artefact.package == package(name));
        let artefact = artefact.ok_or_else(|| format!("`{name}` was not compiled"))?;
        let packed = pack(artefact, &plugins.join(name).join("wit"), &built)?;
        std::fs::write(out.join(format!("{name}.wasm")), packed)?;
        writeln!(list, "Builtin {{ name: {name:?}, wasm: include_bytes!(\"{name}.wasm\") }},")?;
    }
    std::fs::write(out.join("builtins.rs"), format!("&[\n{list}]\n"))?;
    println!("cargo::rustc-env=BELLJAR_BUILTIN_ROUTE={}", built.route.name());
    println!("cargo::rustc-env=BELLJAR_BUILTIN_RUSTC={}", built.rustc);
    Ok(())
}

fn package(name: &str) -> String {
    format!("belljar-plugin-{name}")
}

fn folder(variable: &str) -> Result<PathBuf, String> {
    let value =
        std::env::var_os(variable).ok_or_else(|| format!("cargo did not set `{variable}`"))?;
    Ok(PathBuf::from(value))
}

/// Names everything that decides the components' bytes, so that cargo runs this again for nothing
/// else.
fn watch(root: &Path, plugins: &Path) {
    let below_root = ["wit", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml"];
    let files = below_root.iter().map(|file| root.join(file));
    for path in files.chain(PLUGINS.iter().map(|name| plugins.join(name))) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-env-changed={ROUTE_VARIABLE}");
}

/// The component with its words in it. It is stripped by then, so stripping can't take them out.
fn pack(artefact: &Artefact, wit: &Path, built: &Built) -> Result<Vec<u8>, Box<dyn Error>> {
    let identity = Identity {
        license: Some(env!("CARGO_PKG_LICENSE").to_owned()),
        toolchain: Some(format!("{} ({})", built.rustc, built.route.name())),
        ..Identity::default()
    };
    let (metadata, findings) = read_folder(wit, &identity)?;
    if !findings.is_empty() {
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        return Err(format!("{}: {}", wit.display(), lines.join("\n")).into());
    }
    let wasm = std::fs::read(&artefact.wasm)
        .map_err(|error| format!("`{}` can't be read: {error}", artefact.wasm.display()))?;
    Ok(belljar_metadata::pack(&wasm, &metadata)?)
}
