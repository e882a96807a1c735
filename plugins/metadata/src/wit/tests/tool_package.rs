//! The package `belljar:tool` that the host offers plugins.

use super::*;

fn resolve() -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let (package, _) = resolve.push_dir(dir).unwrap();
    (resolve, package)
}

#[test]
fn its_world_imports_every_interface() {
    let (resolve, package) = resolve();
    let package = &resolve.packages[package];
    assert_eq!(package.name.to_string(), "belljar:tool@0.1.0");
    let world = &resolve.worlds[package.worlds["imports"]];
    assert!(world.exports.is_empty());
    let imported: Vec<String> =
        world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
    assert_eq!(imported.len(), package.interfaces.len());
    for name in ["types", "progress", "invocation", "log"] {
        assert!(imported.contains(&format!("belljar:tool/{name}@0.1.0")), "{name}");
    }
}

#[test]
fn its_types_have_no_functions_and_its_functions_state_their_terms() {
    let (resolve, package) = resolve();
    let package = &resolve.packages[package];
    assert!(resolve.interfaces[package.interfaces["types"]].functions.is_empty());
    for id in package.interfaces.values() {
        for function in resolve.interfaces[*id].functions.values() {
            let docs = function.docs.contents.as_deref().unwrap_or_default();
            for term in ["Limits: ", "Denial: ", "Logged: "] {
                assert!(docs.contains(term), "{} lacks `{term}`", function.name);
            }
        }
    }
}
