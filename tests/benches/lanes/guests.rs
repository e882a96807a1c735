//! The components that are called: the Rust one is compiled here, those of JavaScript and Python
//! are found where their toolchains left them.
//!
//! Loads none of them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use belljar_compile::{GuestBuild, compile, guests_folder};
use belljar_metadata::wit::{Identity, read_folder};

const PACKAGE: &str = "belljar-guest-bench";

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// The components, each made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Guests {
    rust: OnceCell<Vec<u8>>,
}

impl Guests {
    /// `tests/guests/rust/bench`, packed.
    pub(crate) fn rust(&self) -> &[u8] {
        self.rust.get_or_init(build)
    }
}

fn build() -> Vec<u8> {
    let (root, manifest) = (root(), root().join("tests/guests/rust/Cargo.toml"));
    let target_dir = guests_folder(Path::new(env!("CARGO_TARGET_TMPDIR")), &root);
    let packages = vec![PACKAGE.to_owned()];
    let built = compile(&GuestBuild { root: root.clone(), manifest, packages, target_dir });
    let built = built.expect("the guest compiles");
    let wasm = std::fs::read(&built.artefacts[0].wasm).expect("the component");
    let wit = root.join("tests/guests/rust/bench/wit");
    let (metadata, findings) = read_folder(&wit, &Identity::default()).expect("its words");
    assert!(findings.is_empty(), "{findings:?}");
    belljar_metadata::pack(&wasm, &metadata).expect("it can be packed")
}

/// A component of another language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign {
    /// As figures name it.
    pub(crate) language: &'static str,
    /// The name that its plugin has by its package.
    pub(crate) plugin: &'static str,
    file: &'static str,
}

/// StarlingMonkey's, 12 MB.
pub(crate) const JS: Foreign =
    Foreign { language: "JavaScript", plugin: "javascript", file: "js.wasm" };
/// CPython's, 18 MB.
pub(crate) const PYTHON: Foreign =
    Foreign { language: "Python", plugin: "python", file: "python.wasm" };

impl Foreign {
    /// Its file.
    pub(crate) fn path(self) -> PathBuf {
        let path = root().join("target/foreign").join(self.file);
        assert!(path.is_file(), "`{}` isn't built: make foreign-toolchains", path.display());
        path
    }

    /// Its bytes.
    pub(crate) fn wasm(self) -> Vec<u8> {
        std::fs::read(self.path()).expect("the component")
    }
}
