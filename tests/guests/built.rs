//! The bytes of the guests: component text assembled, Rust guests compiled once a process and
//! packed with the words of their WIT.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use belljar_compile::{GuestBuild, compile, guests_folder};
use belljar_metadata::wit::{Identity, read_folder};

/// The packages below `tests/guests/rust`.
pub(crate) const RUST: [&str; 5] = ["command", "conformance", "hostile", "stock", "writer"];

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn folder() -> PathBuf {
    root().join("tests/guests")
}

/// The source of `wat/<name>.wat`.
pub(crate) fn wat_text(name: &str) -> String {
    std::fs::read_to_string(folder().join("wat").join(format!("{name}.wat"))).unwrap()
}

/// `wat/<name>.wat` as WebAssembly.
pub(crate) fn wat(name: &str) -> Vec<u8> {
    wat::parse_str(wat_text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The component of the package `belljar-guest-<name>`, packed.
pub(crate) fn rust(name: &str) -> &'static [u8] {
    &all()[name].packed
}

/// The same as the compiler left it, without a word of belljar in it.
pub(crate) fn rust_unpacked(name: &str) -> &'static [u8] {
    &all()[name].plain
}

struct Component {
    plain: Vec<u8>,
    packed: Vec<u8>,
}

fn all() -> &'static HashMap<&'static str, Component> {
    static BUILT: OnceLock<HashMap<&str, Component>> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> HashMap<&'static str, Component> {
    let sources = folder().join("rust");
    let built = compile(&GuestBuild {
        root: root(),
        manifest: sources.join("Cargo.toml"),
        packages: RUST.map(package).to_vec(),
        target_dir: guests_folder(Path::new(env!("CARGO_TARGET_TMPDIR")), &root()),
    });
    let artefacts = built.unwrap_or_else(|error| panic!("{error}")).artefacts;
    let component = |name| {
        let artefact = artefacts.iter().find(|artefact| artefact.package == package(name)).unwrap();
        let wit = sources.join(name).join("wit");
        let plain = std::fs::read(&artefact.wasm).unwrap();
        // A program has no WIT of its own, and so no words to pack.
        if !wit.exists() {
            return (name, Component { packed: plain.clone(), plain });
        }
        let (metadata, findings) = read_folder(&wit, &Identity::default()).unwrap();
        assert!(findings.is_empty(), "{name}: {findings:?}");
        let packed = belljar_metadata::pack(&plain, &metadata).unwrap();
        (name, Component { plain, packed })
    };
    RUST.into_iter().map(component).collect()
}

fn package(name: &str) -> String {
    format!("belljar-guest-{name}")
}
