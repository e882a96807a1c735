//! Belljar's own plugins, as components inside the program.
//!
//! The build script compiles and packs them. Nothing else belongs here: how they are compiled is
//! in `belljar-compile`, and what they do is in their own folders.

/// A plugin that comes with belljar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The plugin's name, kebab-case; the section in the component says the same.
    pub name: &'static str,
    /// The component, with its `belljar:plugin` section.
    pub wasm: &'static [u8],
}

/// The way the builtins were compiled: `rustup` or `debian`. The two give different bytes.
pub const ROUTE: &str = env!("BELLJAR_BUILTIN_ROUTE");

/// The compiler that compiled the builtins, as `rustc --version` prints it.
pub const RUSTC: &str = env!("BELLJAR_BUILTIN_RUSTC");

/// Every builtin, in a fixed order.
#[must_use]
pub fn all() -> &'static [Builtin] {
    include!(concat!(env!("OUT_DIR"), "/builtins.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(wasm: &[u8], text: &str) -> bool {
        wasm.windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[test]
    fn each_component_says_the_name_it_is_listed_under_and_what_made_it() {
        assert!(!all().is_empty());
        for builtin in all() {
            let reading = belljar_metadata::section::read(builtin.wasm).unwrap();
            assert_eq!(reading.findings, [], "{}", builtin.name);
            let metadata = reading.metadata.unwrap();
            assert_eq!(metadata.name.as_deref(), Some(builtin.name));
            let toolchain = metadata.toolchain.unwrap();
            assert!(toolchain.contains(RUSTC) && toolchain.contains(ROUTE), "{toolchain}");
            assert!(metadata.functions.values().all(|function| !function.docs.is_empty()));
        }
    }

    #[test]
    fn paths_of_the_building_machine_are_not_in_the_components() {
        let plugins = env!("CARGO_MANIFEST_DIR").trim_end_matches("builtin");
        for builtin in all() {
            assert!(!holds(builtin.wasm, plugins), "{} names {plugins}", builtin.name);
            // Cargo keeps sources below this folder, wherever its home is.
            assert!(!holds(builtin.wasm, "registry/src/"), "{}", builtin.name);
        }
    }
}
