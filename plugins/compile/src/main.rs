//! Compiles guests from the command line, by whichever way this machine offers: for the demo, and
//! for authors whose machine has only Debian's pieces. Packs nothing and installs nothing.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use belljar_compile::{GuestBuild, compile, guests_folder};

const USAGE: &str = "usage: belljar-compile CARGO_TOML OUT_FOLDER PACKAGE…";

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr can't be written, there is nobody left to tell.
            drop(writeln!(std::io::stderr(), "error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Leaves a file `<target>.wasm` in the folder for every library and binary of the packages, and
/// says where it is and what made it.
fn run(args: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let [manifest, out, packages @ ..] = args else { return Err(USAGE.into()) };
    if packages.is_empty() {
        return Err(USAGE.into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let built = compile(&GuestBuild {
        manifest: found(manifest)?,
        packages: packages.iter().map(|name| name.to_string_lossy().into_owned()).collect(),
        target_dir: guests_folder(&std::env::current_exe()?, &root),
        root,
    })?;
    std::fs::create_dir_all(out)?;
    for artefact in &built.artefacts {
        let file = out.join(&artefact.target).with_extension("wasm");
        std::fs::copy(&artefact.wasm, &file)?;
        let (file, rustc, route) = (file.display(), &built.rustc, built.route.name());
        writeln!(std::io::stdout(), "{file}: made by {rustc} (WASM_TOOLCHAIN={route})")?;
    }
    Ok(())
}

/// Cargo is run in another folder, so its paths have to be whole.
fn found(manifest: &Path) -> Result<PathBuf, String> {
    let shown = manifest.display();
    manifest.canonicalize().map_err(|error| format!("`{shown}` can't be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_words_are_told_what_was_expected() {
        for words in [&[][..], &["Cargo.toml"], &["Cargo.toml", "out"]] {
            let words: Vec<_> = words.iter().map(PathBuf::from).collect();
            assert_eq!(run(&words).unwrap_err().to_string(), USAGE);
        }
    }

    #[test]
    fn a_manifest_that_is_not_there_is_named() {
        let error = run(&["no/Cargo.toml", "out", "x"].map(PathBuf::from)).unwrap_err();
        assert!(error.to_string().starts_with("`no/Cargo.toml` can't be read: "), "{error}");
    }
}
